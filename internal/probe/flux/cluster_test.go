package flux

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/probe"
)

func TestPatience(t *testing.T) {
	ch := New(Options{})
	defer ch.Close()
	c := newCluster(ch, "edge")
	for silent, want := range map[int64]time.Duration{0: retryMost, 10: retryMost, 99: 100 * perSilent, 5000: retryLongest} {
		ch.silent.Store(silent)
		if got := c.longestRest(); got != want {
			t.Errorf("beside %d silent clusters: got %s, want %s", silent, got, want)
		}
	}
	ch.clusters["edge"] = c
	ch.expect("edge")
	ch.expect("unknown")
	if got := c.longestRest(); got != retryExpected || len(c.wake) != 1 {
		t.Errorf("an expected one: got %s, %d wishes", got, len(c.wake))
	}
	c.expected = c.expected.Add(-expectedFor)
	ch.silent.Store(5000)
	if got := c.longestRest(); got != retryLongest {
		t.Errorf("one that was expected long ago: got %s", got)
	}
}

// newborn is a cluster that cluster edge creates: the key of its creator, and what
// edge and the new cluster, below /newborn, answer.
type newborn struct {
	key probe.CreatorKey
	// current is what the creator says, written that its Secret is there, away that the new cluster does not answer.
	current, written, away atomic.Bool
	// unborn reports whether the creator is not there.
	unborn atomic.Bool
	// asked is how often the Secret was asked for.
	asked atomic.Int64
}

func createsNewborn() *newborn {
	return &newborn{key: probe.CreatorKey{
		Cluster: "edge", Object: manifest.ID{Group: "cluster.x-k8s.io", Kind: "Cluster", Namespace: "n", Name: "newborn"}, Creates: "newborn",
		KubeConfig: probe.SecretKey{Cluster: "edge", Namespace: "n", Name: "newborn"},
	}}
}

func (n *newborn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/readyz", "/newborn/readyz":
		if r.URL.Path == "/newborn/readyz" && n.away.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok"))
	case "/apis":
		_, _ = w.Write([]byte(`{"kind":"APIGroupList","groups":[{"name":"cluster.x-k8s.io","versions":[{"groupVersion":"cluster.x-k8s.io/v1beta2","version":"v1beta2"}]}]}`))
	case "/apis/cluster.x-k8s.io/v1beta2":
		_, _ = w.Write([]byte(`{"kind":"APIResourceList","resources":[{"name":"clusters","kind":"Cluster","namespaced":true}]}`))
	case "/apis/cluster.x-k8s.io/v1beta2/namespaces/n/clusters/newborn":
		if n.unborn.Load() {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","details":{"name":"newborn","kind":"clusters"},"code":404}`))
			return
		}
		_, _ = fmt.Fprintf(w, `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster","metadata":{"namespace":"n","name":"newborn"},
			"status":{"initialization":{"controlPlaneInitialized":%t}}}`, n.current.Load())
	case "/api/v1/namespaces/n/secrets/newborn":
		n.asked.Add(1)
		if !n.written.Load() {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","details":{"name":"newborn","kind":"secrets"},"code":404}`))
			return
		}
		data := strings.Replace(string(kubeConfig("", "token: "+secretToken)), "https://127.0.0.1:1", "http://"+r.Host+"/newborn", 1)
		_, _ = fmt.Fprintf(w, `{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"n","name":"newborn"},"data":{"value":%q}}`, base64.StdEncoding.EncodeToString([]byte(data)))
	default:
		http.NotFound(w, r)
	}
}

// TestAnExpectedClusterIsAskedAtOnce lets a creator become current, and then its
// Secret appear, while very many clusters are silent.
func TestAnExpectedClusterIsAskedAtOnce(t *testing.T) {
	n := createsNewborn()
	dir, _ := fakeServer(t, n.ServeHTTP)
	ch := New(Options{Directory: dir})
	defer ch.Close()
	ch.silent.Store(1000)
	eventually(t, 10*time.Second, "the creator is found", func() bool { return creator(t, ch, n.key).Found })
	eventually(t, 20*time.Second, "the Secret was asked for some times", func() bool { return n.asked.Load() >= 4 })
	before := n.asked.Load()
	<-time.After(2 * retryMost) //nolint:forbidigo // time is what this is about
	if more := n.asked.Load() - before; more > 1 {
		t.Errorf("the Secret is asked for as often as ever: %d times", more)
	}
	n.current.Store(true)
	eventually(t, 10*time.Second, "the creator is current", func() bool { return creator(t, ch, n.key).Current })
	eventually(t, 2*time.Second, "the Secret is asked for at once", func() bool { return n.asked.Load() > before+1 })
	n.written.Store(true)
	took := eventually(t, 4*time.Second, "the new cluster answers", func() bool { return creator(t, ch, n.key).Answers })
	t.Logf("after %s", took)
}

// What a new cluster answered before its creator became current does not count.
func TestANewClusterIsAskedAgainWhenItsCreatorIsCurrent(t *testing.T) {
	n := createsNewborn()
	n.written.Store(true)
	dir, _ := fakeServer(t, n.ServeHTTP)
	ch := New(Options{Directory: dir})
	defer ch.Close()
	eventually(t, 20*time.Second, "the new cluster answers, and is not current", func() bool {
		got := creator(t, ch, n.key)
		return got.Found && got.Answers && !got.Current
	})
	n.away.Store(true)
	n.current.Store(true)
	eventually(t, 10*time.Second, "the creator is current, and the new cluster silent", func() bool {
		got := creator(t, ch, n.key)
		if got.Current && got.Answers {
			t.Fatalf("what it answered before counts: %+v", got)
		}
		return got.Current && got.Message != "" && !strings.Contains(got.Message, "asked again")
	})
	n.away.Store(false)
	eventually(t, 10*time.Second, "the new cluster answers", func() bool { return creator(t, ch, n.key).Answers })
}

// A seed names any namespace for a creator, and any Secret in it, before anybody has reviewed that.
func TestNoSecretIsReadBeforeItsCreatorIsThere(t *testing.T) {
	n := createsNewborn()
	n.written.Store(true)
	n.unborn.Store(true)
	dir, _ := fakeServer(t, n.ServeHTTP)
	ch := New(Options{Directory: dir})
	defer ch.Close()
	eventually(t, 10*time.Second, "the creator is known to be missing", func() bool {
		got := creator(t, ch, n.key)
		return got.Known && !got.Found
	})
	eventually(t, 10*time.Second, "the cluster waits for its creator", func() bool {
		ch.mu.Lock()
		c := ch.clusters["newborn"]
		ch.mu.Unlock()
		c.mu.Lock()
		defer c.mu.Unlock()
		return strings.Contains(c.why.text, "the creator Cluster n/newborn on cluster edge is not there yet")
	})
	if asked := n.asked.Load(); asked != 0 {
		t.Errorf("the Secret was read %d times", asked)
	}
	n.unborn.Store(false)
	eventually(t, 20*time.Second, "the Secret is read", func() bool { creator(t, ch, n.key); return n.asked.Load() > 0 })
}

// TestAProgramThatHangsIsGivenUp is about a program for credentials that a file names.
func TestAProgramThatHangsIsGivenUp(t *testing.T) {
	dir := t.TempDir()
	write := func(user string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "edge"), kubeConfig("", user), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: sleep, args: ["40"]}`)
	ch := New(Options{Directory: dir})
	defer ch.Close()
	key := probe.ReconcilerKey{Cluster: "edge"}
	eventually(t, 15*time.Second, "it is reported", func() bool {
		return strings.Contains(reconciler(t, ch, key).Message, "the program that its kubeconfig names for credentials does not return")
	})
	write("token: " + secretToken)
	eventually(t, 20*time.Second, "another kubeconfig is used", func() bool {
		return strings.Contains(reconciler(t, ch, key).Message, "connection refused")
	})
}

func TestCloseDoesNotWaitForAProgram(t *testing.T) {
	dir := t.TempDir()
	user := `exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: sleep, args: ["25"]}`
	if err := os.WriteFile(filepath.Join(dir, "edge"), kubeConfig("", user), 0o600); err != nil {
		t.Fatal(err)
	}
	ch := New(Options{Directory: dir})
	reconciler(t, ch, probe.ReconcilerKey{Cluster: "edge"})
	began := time.Now()
	ch.Close()
	if took := time.Since(began); took > closeMost {
		t.Errorf("it took %s", took)
	}
}
