package flux

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/furrow-dev/furrow/internal/probe"
)

// secretsOf reads Secrets from a map as it is at the time of the call, with an error instead of
// a map for those that cannot be read.
type secretsOf struct {
	content atomic.Pointer[map[string]any]
}

func (s *secretsOf) set(content map[string]any) { s.content.Store(&content) }

func (s *secretsOf) read(_ context.Context, name string) (map[string][]byte, error) {
	switch found := (*s.content.Load())[name].(type) {
	case error:
		return nil, found
	case []byte:
		return map[string][]byte{"value": found}, nil
	case map[string][]byte:
		return found, nil
	}
	return nil, fmt.Errorf("no such Secret: %w", fs.ErrNotExist)
}

func TestTheWaysToACluster(t *testing.T) {
	config := kubeConfig("", "token: "+secretToken)
	file := t.TempDir()
	if err := os.WriteFile(filepath.Join(file, "edge"), kubeConfig("", "token: other"), 0o600); err != nil {
		t.Fatal(err)
	}
	secret := map[string]any{"edge-kubeconfig": config}
	own := &rest.Config{Host: "https://10.0.0.1:443"}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "edge-kubeconfig", errors.New("no"))
	tests := map[string]struct {
		options    Options
		secrets    map[string]any // nil: Secrets are not read
		wantSource kubeConfigSource
		wantOrigin string
		wantErr    []string
	}{
		"a file counts before all":               {Options{Directory: file, Own: "edge", OwnConfig: own}, secret, byFile, "file " + filepath.Join(file, "edge"), nil},
		"then a Secret":                          {Options{Directory: t.TempDir(), Own: "edge", OwnConfig: own}, secret, bySecret, "Secret furrow-system/edge-kubeconfig", nil},
		"which may have the other key":           {Options{}, map[string]any{"edge-kubeconfig": map[string][]byte{"value.yaml": config}}, bySecret, "Secret furrow-system/edge-kubeconfig", nil},
		"then that it is its own":                {Options{Own: "edge", OwnConfig: own}, map[string]any{"other-kubeconfig": config}, inCluster, ownOrigin, nil},
		"which another cluster is not":           {Options{Own: "mgmt", OwnConfig: own}, map[string]any{}, 0, "", []string{"there is no kubeconfig", "Put one into the Secret furrow-system/edge-kubeconfig under the key \"value\""}},
		"the Secret and the directory are named": {Options{Directory: t.TempDir()}, map[string]any{}, 0, "", []string{"under the key \"value\", or into the directory of kubeconfigs, named edge"}},
		"and how to say that it is its own":      {Options{OwnConfig: own}, map[string]any{}, 0, "", []string{"If it is the cluster that Furrow runs in, start Furrow with --cluster edge"}},
		"without Secrets, only a file":           {Options{}, nil, 0, "", []string{"Put one into the directory of kubeconfigs, named edge"}},
		"a Secret that cannot be read hides what comes after it": {
			Options{Own: "edge", OwnConfig: own}, map[string]any{"edge-kubeconfig": errors.New("it went wrong")},
			0, "", []string{"the Secret furrow-system/edge-kubeconfig cannot be read: it went wrong"}},
		"one that may not be read too": {
			Options{Own: "edge", OwnConfig: own}, map[string]any{"edge-kubeconfig": fmt.Errorf("get: %w", forbidden)},
			0, "", []string{"forbidden", "Let Furrow get Secrets of that namespace"}},
		"one without the key too": {
			Options{Own: "edge", OwnConfig: own}, map[string]any{"edge-kubeconfig": map[string][]byte{"kubeconfig": config}},
			0, "", []string{"the Secret furrow-system/edge-kubeconfig has no key \"value\""}},
		"one that is not a kubeconfig too": {
			Options{Own: "edge", OwnConfig: own}, map[string]any{"edge-kubeconfig": []byte("{" + secretToken)},
			0, "", []string{"the kubeconfig in Secret furrow-system/edge-kubeconfig cannot be used"}},
		"one that runs a program too": {
			Options{Own: "edge", OwnConfig: own}, map[string]any{"edge-kubeconfig": kubeConfig("", "exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, interactiveMode: Never}")},
			0, "", []string{"the kubeconfig in Secret furrow-system/edge-kubeconfig is refused: it has an exec plugin. Use "}},
		"one that reads a file too": {
			Options{Own: "edge", OwnConfig: own}, map[string]any{"edge-kubeconfig": kubeConfig("", "tokenFile: /var/run/token")},
			0, "", []string{"is refused: tokenFile names a file"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.secrets != nil {
				secrets := &secretsOf{}
				secrets.set(tc.secrets)
				tc.options.Secret, tc.options.SecretsIn = secrets.read, "furrow-system"
			}
			ch := New(tc.options)
			defer ch.Close()
			a, err := newCluster(ch, "edge").access(t.Context())
			if (err != nil) != (tc.wantErr != nil) {
				t.Fatalf("got %v", err)
			}
			for _, want := range tc.wantErr {
				if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secretToken) {
					t.Errorf("got %v, want %s", err, want)
				}
			}
			if err == nil && (a.source != tc.wantSource || a.origin != tc.wantOrigin) {
				t.Errorf("got %s from source %d", a.origin, a.source)
			}
		})
	}
}

func TestNoSecretForWhatIsNotAName(t *testing.T) {
	ch := New(Options{Secret: func(_ context.Context, name string) (map[string][]byte, error) {
		t.Errorf("Secret %q was asked for", name)
		return nil, fs.ErrNotExist
	}})
	defer ch.Close()
	for _, name := range []string{"", "..", "a/b", ".a"} {
		if a, err := newCluster(ch, name).bySecret(t.Context()); a != nil || err != nil {
			t.Errorf("%q: got %v, %v", name, a, err)
		}
	}
}

// TestWhatEndsASession says what of a kubeconfig, and of another one, ends a session.
func TestWhatEndsASession(t *testing.T) {
	one, other := kubeConfig("", "token: one"), kubeConfig("", "token: other")
	broken := errors.New("it went wrong")
	tests := map[string]struct {
		before, now map[string]any // Secrets
		file        bool           // a file appears
		own         bool
		want        string // empty: the session goes on
	}{
		"the same Secret":                      {before: map[string]any{"edge-kubeconfig": one}, now: map[string]any{"edge-kubeconfig": one}},
		"another one":                          {before: map[string]any{"edge-kubeconfig": one}, now: map[string]any{"edge-kubeconfig": other}, want: errChanged.Error()},
		"one that cannot be read now":          {before: map[string]any{"edge-kubeconfig": one}, now: map[string]any{"edge-kubeconfig": broken}},
		"one that is gone":                     {before: map[string]any{"edge-kubeconfig": one}, now: map[string]any{}, want: "there is no kubeconfig"},
		"one that is gone, where it is own":    {before: map[string]any{"edge-kubeconfig": one}, now: map[string]any{}, own: true, want: errChanged.Error()},
		"one that is broken now":               {before: map[string]any{"edge-kubeconfig": one}, now: map[string]any{"edge-kubeconfig": []byte("{")}, want: "cannot be used"},
		"a file beside it":                     {before: map[string]any{"edge-kubeconfig": one}, now: map[string]any{"edge-kubeconfig": one}, file: true, want: errChanged.Error()},
		"its own":                              {own: true},
		"its own, and a Secret appears":        {own: true, now: map[string]any{"edge-kubeconfig": one}, want: errChanged.Error()},
		"its own, and Secrets cannot be read":  {own: true, now: map[string]any{"edge-kubeconfig": broken}},
		"its own, and a file appears":          {own: true, file: true, want: errChanged.Error()},
		"its own, and a Secret that is broken": {own: true, now: map[string]any{"edge-kubeconfig": map[string][]byte{}}, want: "has no key"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			dir, secrets := t.TempDir(), &secretsOf{}
			secrets.set(tc.before)
			options := Options{Directory: dir, Secret: secrets.read}
			if tc.own {
				options.Own, options.OwnConfig = "edge", &rest.Config{Host: "https://10.0.0.1"}
			}
			ch := New(options)
			defer ch.Close()
			ch.pace.secret = time.Hour
			c := newCluster(ch, "edge")
			a, err := c.access(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			secrets.set(tc.now)
			readAt := ch.clock.Now()
			if err := c.unchanged(t.Context(), a, &readAt); err != nil {
				t.Errorf("it was read again too early: %v", err)
			}
			if tc.file {
				put(t, dir, "edge", other)
			}
			readAt = readAt.Add(-2 * time.Hour)
			err = c.unchanged(t.Context(), a, &readAt)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestAFileGoesAndNobodyKnowsOfASecret is about a session whose kubeconfig is known to be gone.
func TestAFileGoesAndNobodyKnowsOfASecret(t *testing.T) {
	dir, secrets := t.TempDir(), &secretsOf{}
	secrets.set(map[string]any{"edge-kubeconfig": errors.New("it went wrong")})
	put(t, dir, "edge", kubeConfig("", "token: one"))
	ch := New(Options{Directory: dir, Secret: secrets.read})
	defer ch.Close()
	c := newCluster(ch, "edge")
	a, err := c.access(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "edge")); err != nil {
		t.Fatal(err)
	}
	readAt := ch.clock.Now()
	if err := c.unchanged(t.Context(), a, &readAt); err == nil || !strings.Contains(err.Error(), "cannot be read: it went wrong") {
		t.Errorf("got %v", err)
	}
}

// guarded is ready and has the tier n/k, for requests with the token: client-go sends none of a
// kubeconfig's without TLS.
func guarded(t *testing.T, token *atomic.Value) (url string) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Header.Get("Authorization") != "Bearer "+token.Load().(string):
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/readyz":
			_, _ = w.Write([]byte("ok"))
		case r.URL.Query().Get("watch") != "":
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			_, _ = w.Write([]byte(`{"kind":"KustomizationList","apiVersion":"kustomize.toolkit.fluxcd.io/v1","metadata":{"resourceVersion":"7"},"items":[
				{"apiVersion":"kustomize.toolkit.fluxcd.io/v1","kind":"Kustomization","metadata":{"namespace":"n","name":"k","generation":1},
				 "status":{"conditions":[{"type":"Ready","status":"True","reason":"ReconciliationSucceeded"}]}}]}`))
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestASecretAppearsAndChanges(t *testing.T) {
	var token atomic.Value
	token.Store("one")
	url, secrets := guarded(t, &token), &secretsOf{}
	secrets.set(nil)
	with := func(token string) map[string]any {
		return map[string]any{"edge-kubeconfig": []byte(strings.Replace(string(kubeConfig(", insecure-skip-tls-verify: true", "token: "+token)), "https://127.0.0.1:1", url, 1))}
	}
	ch := New(Options{Secret: secrets.read, SecretsIn: "furrow-system"})
	defer ch.Close()
	ch.pace.secret = 100 * time.Millisecond
	key := probe.ReconcilerKey{Cluster: "edge", Namespace: "n", Name: "k"}
	reports := func(what string) func() bool {
		return func() bool {
			got := reconciler(t, ch, key)
			return !got.Known && strings.HasPrefix(got.Message, "cluster edge cannot be asked: ") && strings.Contains(got.Message, what)
		}
	}
	ready := func() bool { return reconciler(t, ch, key).Ready == "True" }

	eventually(t, 5*time.Second, "the message says where to put one", reports("Put one into the Secret furrow-system/edge-kubeconfig"))
	secrets.set(map[string]any{"edge-kubeconfig": context.DeadlineExceeded})
	eventually(t, 8*time.Second, "the message says why that cannot be read", reports("the Secret furrow-system/edge-kubeconfig cannot be read: no answer in time"))
	secrets.set(with("one"))
	eventually(t, 8*time.Second, "it is ready", ready)
	drain(ch)
	secrets.set(with("other"))
	eventually(t, 8*time.Second, "the credentials are refused", reports("refuses the credentials in Secret furrow-system/edge-kubeconfig. Renew them"))
	if !signalled(ch) {
		t.Error("that is not signalled")
	}
	token.Store("other")
	eventually(t, 8*time.Second, "it is ready again", ready)
	secrets.set(nil)
	eventually(t, 8*time.Second, "it is unknown without the Secret", reports("there is no kubeconfig"))
}

// TestItsOwnCluster lets the token in the file be renewed, and the one before be refused.
func TestItsOwnCluster(t *testing.T) {
	var token atomic.Value
	token.Store("one")
	dir := t.TempDir()
	put(t, dir, "token", []byte("one"))
	config := &rest.Config{
		Host: guarded(t, &token), BearerToken: "one", BearerTokenFile: filepath.Join(dir, "token"), UserAgent: "somebody", QPS: 1, Burst: 1,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	}
	before := rest.CopyConfig(config)
	ch := New(Options{Own: "mgmt", OwnConfig: config})
	defer ch.Close()
	key := probe.ReconcilerKey{Cluster: "mgmt", Namespace: "n", Name: "k"}
	ready := func() bool { return reconciler(t, ch, key).Ready == "True" }
	eventually(t, 8*time.Second, "it is ready", ready)
	if got := reconciler(t, ch, probe.ReconcilerKey{Cluster: "edge", Namespace: "n", Name: "k"}); got.Known {
		t.Errorf("another cluster is asked instead: %+v", got)
	}
	ch.mu.Lock()
	c := ch.clusters["mgmt"]
	ch.mu.Unlock()
	c.mu.Lock()
	s := c.session
	c.mu.Unlock()
	token.Store("two")
	s.recheck()
	eventually(t, 8*time.Second, "the old token is refused", func() bool {
		return strings.Contains(reconciler(t, ch, key).Message, "refuses the credentials in "+ownOrigin)
	})
	put(t, dir, "token", []byte("two"))
	eventually(t, 8*time.Second, "the new one is taken from the file", ready)
	if config.UserAgent != before.UserAgent || config.QPS != before.QPS || config.Burst != before.Burst {
		t.Errorf("the configuration that was given has changed: %s", config)
	}
}
