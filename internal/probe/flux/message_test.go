package flux

import (
	kind "github.com/furrow-dev/furrow/internal/core/delivery/flux"

	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestStable(t *testing.T) {
	revision := "main@sha1:b1ea49f09b3cb4de8a0efe41082572050236a169"
	tests := map[string]struct{ message, want string }{
		"the time that a health check took goes": {
			"health check failed after 30.09s: timeout waiting for: [Deployment/default/never-b status: 'InProgress']",
			"health check failed: timeout waiting for: [Deployment/default/never-b status: 'InProgress']",
		},
		"minutes go too": {"health check failed after 4m30.010025378s: timeout waiting for: [A/b status: 'x']", "health check failed: timeout waiting for: [A/b status: 'x']"},
		"whole seconds go too": {
			"health check failed after 30s: timeout waiting for: [A/b status: 'x']", "health check failed: timeout waiting for: [A/b status: 'x']",
		},
		"milliseconds and the next run go": {"Reconciliation finished in 291.924569ms, next run in 10m0s", "Reconciliation finished"},
		"a passed check has no time":       {"Health check passed in 13.9ms", "Health check passed"},
		"what is configured stays": {
			"Running health checks for revision " + revision + " with a timeout of 4m30s", "Running health checks for revision " + revision + " with a timeout of 4m30s",
		},
		"the retry interval of a dependency is configured": {
			"Dependencies do not meet ready condition, retrying in 30s", "Dependencies do not meet ready condition, retrying in 30s",
		},
		"objects that are waited for are in order": {
			"timeout waiting for: [Deployment/b/y status: 'InProgress', can't determine status for Job/b/z, ConfigMap/a/x status: 'NotFound': a, b]",
			"timeout waiting for: [ConfigMap/a/x status: 'NotFound': a, b, Deployment/b/y status: 'InProgress', can't determine status for Job/b/z]",
		},
		"one that failed comes first": {
			"timeout waiting for: [Deployment/a/x status: 'InProgress', Widget/b/w status: 'Failed', ConfigMap/b/c status: 'NotFound']",
			"timeout waiting for: [Widget/b/w status: 'Failed', ConfigMap/b/c status: 'NotFound', Deployment/a/x status: 'InProgress']",
		},
		"stalled objects too": {
			"failed early due to stalled resources: [Widget/default/w2 status: 'Failed', Widget/default/w1 status: 'Failed']",
			"failed early due to stalled resources: [Widget/default/w1 status: 'Failed', Widget/default/w2 status: 'Failed']",
		},
		"the folder of a build goes": {
			"kustomization path not found: stat /tmp/kustomization-2541923/apps/b: no such file or directory",
			"kustomization path not found: stat apps/b: no such file or directory",
		},
		"so it does in quotes": {
			"kustomize build failed: must build at directory: '/tmp/kustomization-77/clusters/edge-1': file is not directory",
			"kustomize build failed: must build at directory: 'clusters/edge-1': file is not directory",
		},
		"our own port goes": {
			`Get "https://10.0.0.1:6443/api": read tcp 10.0.0.7:51234->10.0.0.1:6443: read: connection reset by peer`,
			`Get "https://10.0.0.1:6443/api": read tcp 10.0.0.1:6443: read: connection reset by peer`,
		},
		"a token in a URL goes":         {"cannot clone https://user:secret@forge/x.git", "cannot clone https://forge/x.git"},
		"what moves a cursor goes":      {"a\x1b[2Jb\u009bc", "a[2Jbc"},
		"lines become one":              {"a\n\tb  c", "a b c"},
		"what is not UTF-8 is replaced": {"a\xffb", "a\uFFFDb"},
		"names that resemble times stay": {
			"Deployment/default/in-5s status: 'after'", "Deployment/default/in-5s status: 'after'",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := stable(tc.message)
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if again := stable(got); again != got {
				t.Errorf("a second time it is %s", again)
			}
		})
	}
}

func TestStableIsBounded(t *testing.T) {
	for _, tail := range []string{"", kind.OutOfTime, kind.OutOfTime + strings.Repeat("ü", maxMessage)} {
		for n := range 40 {
			message := stable(strings.Repeat("x", n) + strings.Repeat("ü€", maxMessage/2) + tail)
			if len(message) > maxMessage || !utf8.ValidString(message) {
				t.Fatalf("%d bytes, valid: %t", len(message), utf8.ValidString(message))
			}
			if !strings.HasSuffix(message, "…") || strings.Contains(message, kind.OutOfTime) != (tail != "") {
				t.Fatalf("got %s", message)
			}
		}
	}
	for n := maxMessage - 60; n < maxMessage+10; n++ {
		if got := stable(strings.Repeat("x", n) + kind.OutOfTime + strings.Repeat("y", 80)); !strings.Contains(got, kind.OutOfTime) || len(got) > maxMessage {
			t.Fatalf("at %d: %s", n, got)
		}
	}
}

func TestAnObjectThatFailedIsSeenInALongMessage(t *testing.T) {
	var waiting []string
	for i := range 40 {
		waiting = append(waiting, fmt.Sprintf("Deployment/default/backend-%d status: 'InProgress'", i))
	}
	waiting = append(waiting, "Widget/default/w status: 'Failed'")
	message := stable("health check failed after 5m0.01s: timeout waiting for: [" + strings.Join(waiting, ", ") + "]")
	if len(message) > maxMessage || !strings.Contains(message, kind.OutOfTime) || !strings.Contains(message, kind.ObjectFailed) {
		t.Errorf("got %s", message)
	}
}
