package manifest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/test/golden"
)

// TestNamesAreCheckedByTheRuleOfTheirKind compares with what Kubernetes 1.36 takes.
func TestNamesAreCheckedByTheRuleOfTheirKind(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	tests := []struct {
		apiVersion, kind, name, rest, want string
	}{
		{"v1", "Namespace", long(63), "", ""},
		{"v1", "Namespace", long(64), "", "InvalidName"},
		{"v1", "Namespace", "a.b", "", "InvalidName"},
		{"v1", "Namespace", "Ünïcode", "", "InvalidName"},
		{"v1", "Service", long(64), "", "InvalidName"},
		{"v1", "Service", "1web", "", ""},
		{"v1", "Service", "web_1", "", "InvalidName"},
		{"v1", "ConfigMap", "CON", "", "InvalidName"},
		{"v1", "ConfigMap", "a.b-c.1", "", ""},
		{"v1", "ConfigMap", "-a", "", "InvalidName"},
		{"v1", "ConfigMap", "a..b", "", "InvalidName"},
		{"v1", "ConfigMap", long(253), "", ""},
		{"v1", "ConfigMap", long(254), "", "InvalidName"},
		{"v1", "ConfigMap", "a b", "", "InvalidName"},
		{"v1", "Secret", "a_b", "", "InvalidName"},
		{"v1", "ServiceAccount", "system:a", "", "InvalidName"},
		{"apps/v1", "Deployment", long(64), "", ""},
		{"apps/v1", "StatefulSet", long(64), "", "InvalidName"},
		{"apps/v1", "StatefulSet", "a.b", "", "InvalidName"},
		{"batch/v1", "CronJob", long(52), "", ""},
		{"batch/v1", "CronJob", long(53), "", "InvalidName"},
		{"batch/v1", "Job", long(63), "", ""},
		{"batch/v1", "Job", long(64), "", "InvalidName"},
		{"batch/v1", "Job", long(64), "spec: {manualSelector: true}", ""},
		{"rbac.authorization.k8s.io/v1", "ClusterRole", "system:Ünïcode @all `x`|y", "", ""},
		{"rbac.authorization.k8s.io/v1", "RoleBinding", "a/b", "", "InvalidName"},
		{"rbac.authorization.k8s.io/v1", "Role", "a%2fb", "", "InvalidName"},
		{"rbac.authorization.k8s.io/v1", "Role", "..", "", "InvalidName"},
		{"apiregistration.k8s.io/v1", "APIService", "v1.", "spec: {version: v1}", ""},
		{"apiregistration.k8s.io/v1", "APIService", "v1.example.org", "spec: {version: v1, group: example.org}", ""},
		{"apiregistration.k8s.io/v1", "APIService", "example", "spec: {version: v1, group: example.org}", "InvalidName"},
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition", "widgets.example.org", "spec: {group: example.org, names: {plural: widgets}}", ""},
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition", "widget", "spec: {group: example.org, names: {plural: widgets}}", "InvalidName"},
		{"certificates.k8s.io/v1", "CertificateSigningRequest", "a:b", "", ""},
		{"networking.k8s.io/v1", "IPAddress", "2001:db8::1", "", ""},
		{"networking.k8s.io/v1", "Ingress", "a:b", "", "InvalidName"},
		{"example.org/v1", "Widget", "a.b", "", ""},
		{"example.org/v1", "Widget", "Web", "", "InvalidName"},
		{"user.openshift.io/v1", "User", "kube:admin", "", ""},
	}
	texts := golden.Of(t)
	for _, tc := range tests {
		t.Run(tc.kind+" "+tc.name, func(t *testing.T) {
			_, err := Parse("f", []byte(fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata:\n  name: %q\n%s\n", tc.apiVersion, tc.kind, tc.name, tc.rest)))
			texts.Add(tc.kind+" "+tc.name, text(err))
			var p Problem
			if err != nil {
				p = ProblemOf(err)
			}
			if string(p.Reason) != tc.want {
				t.Fatalf("got %v, want %q", err, tc.want)
			}
			if want := (Source{"f", 4}); err != nil && (p.Source != want || p.Field != "metadata.name" || !strings.HasPrefix(p.Object, tc.kind)) {
				t.Errorf("it is about %s", golden.Fields(p))
			}
		})
	}
}

func TestLabelsAndAnnotationsAreChecked(t *testing.T) {
	tests := map[string]struct{ metadata, want string }{
		"what there is":                 {"labels: {a: '', app.kubernetes.io/name: A_b.c-1}, annotations: {Example.org/x: 'any ü\n'}", ""},
		"a key with a space":            {"labels: {a b: c}", `f:3: Pod "a": InvalidLabel field=metadata.labels.a b`},
		"a key with two slashes":        {"annotations: {a/b/c: d}", `f:3: Pod "a": InvalidLabel field=metadata.annotations.a/b/c`},
		"a name of 64":                  {"annotations: {" + strings.Repeat("x", 64) + ": d}", `f:3: Pod "a": InvalidLabel field=metadata.annotations.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx`},
		"a prefix that is not a domain": {"labels: {a_b/c: d}", `f:3: Pod "a": InvalidLabel field=metadata.labels.a_b/c`},
		"a value with a space":          {"labels: {a: b c}", `f:3: Pod "a": InvalidLabel field=metadata.labels.a`},
		"a value of 64":                 {"labels: {a: " + strings.Repeat("x", 64) + "}", `f:3: Pod "a": InvalidLabel field=metadata.labels.a`},
		"a value with a line break":     {"labels: {a: \"b\\n\"}", `f:3: Pod "a": InvalidLabel field=metadata.labels.a`},
		"a value that SOPS encrypted":   {"labels: {a: '" + enc + "'}", ""},
	}
	texts := golden.Of(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("f", []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: a, "+tc.metadata+"}\n"))
			texts.Add(name, text(err))
			if got := strings.Join(fields(err), "\n"); got != tc.want {
				t.Errorf("got %s, want %s: %v", got, tc.want, err)
			}
		})
	}
}
