package flux

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/probe"
)

const secretToken = "s3cret-t0ken"

// kubeConfig is one with the lines given for the cluster and for the user.
func kubeConfig(cluster, user string) []byte {
	return []byte(`apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"` + cluster + `}}]
users: [{name: u, user: {` + user + `}}]
`)
}

func TestKubeConfigsFromSecrets(t *testing.T) {
	key := probe.SecretKey{Cluster: "hub", Namespace: "edge", Name: "edge-1-kubeconfig"}
	data := base64.StdEncoding.EncodeToString([]byte("x"))
	tests := map[string]struct {
		cluster, user string
		refused       string // what the refusal names; empty where there is none
	}{
		"a token is fine":                                      {"", "token: " + secretToken, ""},
		"certificates in the kubeconfig are fine":              {", certificate-authority-data: " + data, "client-certificate-data: " + data + ", client-key-data: " + data, ""},
		"an exec plugin is not":                                {"", "exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, interactiveMode: Never}", "exec plugin"},
		"an auth provider is not":                              {"", "auth-provider: {name: gcp}", "auth-provider"},
		"a file with a token is not":                           {"", "tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token", "tokenFile"},
		"a file with a certificate is not":                     {"", "client-certificate: /etc/a.crt, client-key-data: " + data, "client-certificate"},
		"a file with a key is not":                             {"", "client-certificate-data: " + data + ", client-key: /etc/a.key", "client-key"},
		"a file with an authority is not":                      {", certificate-authority: /etc/ca.crt", "token: " + secretToken, "certificate-authority"},
		"a server without verification is the author's affair": {", insecure-skip-tls-verify: true", "token: " + secretToken, ""},
		"so is a proxy":                                        {", proxy-url: \"http://proxy:3128\"", "token: " + secretToken, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := fromSecret(secretName(key), kubeConfig(tc.cluster, tc.user))
			if tc.refused == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.refused) || !strings.Contains(err.Error(), "Secret edge/edge-1-kubeconfig on cluster hub") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestKubeConfigsRevealNoSecrets covers kubeconfigs that are broken in many
// ways.
func TestKubeConfigsRevealNoSecrets(t *testing.T) {
	for _, data := range []string{
		secretToken, "{", "token: " + secretToken, "kind: Config\nusers: " + secretToken,
		strings.Replace(string(kubeConfig("", "token: "+secretToken)), "current-context: a", "current-context: b", 1),
		strings.Replace(string(kubeConfig("", "token: "+secretToken)), "cluster: c", "cluster: d", 1),
		string(kubeConfig("", "token: "+secretToken+", exec: {command: "+secretToken+"}")),
		string(kubeConfig(", certificate-authority-data: "+secretToken, "")),
	} {
		a, err := fromSecret("Secret s", []byte(data))
		if err == nil {
			_, err = connect(a)
		}
		if err == nil || strings.Contains(err.Error(), secretToken) {
			t.Errorf("%q: got %v", data, err)
		}
	}
}

func TestKubeConfigFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("outside.yaml", kubeConfig("", "token: first"))
	inner := filepath.Join(dir, "inner")
	if err := os.MkdirAll(filepath.Join(inner, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b.yaml", "c.yml", "d.kubeconfig", "e.conf", "folder.yaml", ".hidden"} {
		write(filepath.Join("inner", name), kubeConfig("", "tokenFile: token"))
	}
	write("inner/token", []byte(secretToken))
	for _, cluster := range []string{"a", "b", "c", "d", "e", "folder"} {
		name, data, ok, err := readFile(inner, cluster)
		if err != nil || !ok {
			t.Errorf("%s: found %t, %v", cluster, ok, err)
			continue
		}
		a, err := fromFile(name, data)
		if err != nil || a.config.BearerTokenFile != filepath.Join(inner, "token") {
			t.Errorf("%s: a file beside the kubeconfig was taken from elsewhere: %v", cluster, err)
		}
	}
	for _, cluster := range []string{"", "f", ".hidden", "../outside", "..", "folder/x", `..\outside`} {
		if name, _, ok, err := readFile(inner, cluster); ok || err != nil {
			t.Errorf("%q: found %s, %v", cluster, name, err)
		}
	}
	if err := os.Remove(filepath.Join(inner, "token")); err != nil {
		t.Fatal(err)
	}
	if _, err := fromFile(filepath.Join(inner, "a"), kubeConfig("", "tokenFile: token")); err == nil || !strings.Contains(err.Error(), filepath.Join(inner, "token")) {
		t.Errorf("a token that is not there: %v", err)
	}
	if _, _, ok, _ := readFile("", "a"); ok {
		t.Error("a file without a directory")
	}
}

func TestKubeConfigOfSecret(t *testing.T) {
	origin := secretName(probe.SecretKey{Cluster: "hub", Namespace: "edge", Name: "k"})
	config := base64.StdEncoding.EncodeToString([]byte("config"))
	for _, name := range secretKeys {
		if got, err := kubeConfigOf(origin, encoded(map[string]any{name: config})); err != nil || string(got) != "config" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if got, err := kubeConfigOf(origin, decoded(map[string][]byte{name: []byte("config")})); err != nil || string(got) != "config" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, data := range []map[string]any{nil, {"kubeconfig": config}, {"value": "***"}} {
		if _, err := kubeConfigOf(origin, encoded(data)); err == nil || !strings.Contains(err.Error(), "edge/k") {
			t.Errorf("%v: %v", data, err)
		}
	}
	for _, data := range []map[string][]byte{nil, {"kubeconfig": []byte("config")}, {"value": nil}, {"value": make([]byte, maxKubeConfig+1)}} {
		if _, err := kubeConfigOf(origin, decoded(data)); err == nil || !strings.Contains(err.Error(), "edge/k") {
			t.Errorf("%d: %v", len(data), err)
		}
	}
}

func TestDiffers(t *testing.T) {
	a, err := fromFile("a", kubeConfig("", "token: first"))
	if err != nil {
		t.Fatal(err)
	}
	b, _ := fromFile("a", kubeConfig("", "token: second"))
	gone := errors.New("gone")
	if differs(a, a, nil) != nil || !errors.Is(differs(a, b, nil), errChanged) || !errors.Is(differs(a, nil, gone), gone) {
		t.Error("a change is not detected")
	}
}
