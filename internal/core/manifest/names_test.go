package manifest

import (
	"fmt"
	"strings"
	"testing"
)

// TestNamesAreCheckedByTheRuleOfTheirKind compares with what Kubernetes 1.36 takes.
func TestNamesAreCheckedByTheRuleOfTheirKind(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	tests := []struct {
		apiVersion, kind, name, rest, want string
	}{
		{"v1", "Namespace", long(63), "", ""},
		{"v1", "Namespace", long(64), "", "has 64 characters, and a DNS label has at most 63"},
		{"v1", "Namespace", "a.b", "", "is not a valid DNS label"},
		{"v1", "Namespace", "Ünïcode", "", "is not a valid DNS label"},
		{"v1", "Service", long(64), "", "has 64 characters, and a DNS label has at most 63"},
		{"v1", "Service", "1web", "", ""},
		{"v1", "Service", "web_1", "", "is not a valid DNS label"},
		{"v1", "ConfigMap", "CON", "", "is not a valid DNS subdomain"},
		{"v1", "ConfigMap", "a.b-c.1", "", ""},
		{"v1", "ConfigMap", "-a", "", "is not a valid DNS subdomain"},
		{"v1", "ConfigMap", "a..b", "", "is not a valid DNS subdomain"},
		{"v1", "ConfigMap", long(253), "", ""},
		{"v1", "ConfigMap", long(254), "", "has 254 bytes, more than 253"},
		{"v1", "ConfigMap", "a b", "", "is not a valid DNS subdomain"},
		{"v1", "Secret", "a_b", "", "is not a valid DNS subdomain"},
		{"v1", "ServiceAccount", "system:a", "", "is not a valid DNS subdomain"},
		{"apps/v1", "Deployment", long(64), "", ""},
		{"apps/v1", "StatefulSet", long(64), "", "has 64 characters"},
		{"apps/v1", "StatefulSet", "a.b", "", "is not a valid DNS label"},
		{"batch/v1", "CronJob", long(52), "", ""},
		{"batch/v1", "CronJob", long(53), "", "has 53 characters, and the name of this kind has at most 52"},
		{"batch/v1", "Job", long(63), "", ""},
		{"batch/v1", "Job", long(64), "", "has 64 characters, and the name of this kind has at most 63"},
		{"batch/v1", "Job", long(64), "spec: {manualSelector: true}", ""},
		{"rbac.authorization.k8s.io/v1", "ClusterRole", "system:Ünïcode @all `x`|y", "", ""},
		{"rbac.authorization.k8s.io/v1", "RoleBinding", "a/b", "", "has a character that names cannot have"},
		{"rbac.authorization.k8s.io/v1", "Role", "a%2fb", "", "has a character that names cannot have"},
		{"rbac.authorization.k8s.io/v1", "Role", "..", "", "is a path and not a name"},
		{"apiregistration.k8s.io/v1", "APIService", "v1.", "spec: {version: v1}", ""},
		{"apiregistration.k8s.io/v1", "APIService", "v1.example.org", "spec: {version: v1, group: example.org}", ""},
		{"apiregistration.k8s.io/v1", "APIService", "example", "spec: {version: v1, group: example.org}", `is not "v1.example.org", which its spec makes it`},
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition", "widgets.example.org", "spec: {group: example.org, names: {plural: widgets}}", ""},
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition", "widget", "spec: {group: example.org, names: {plural: widgets}}", `is not "widgets.example.org", which its spec makes it`},
		{"certificates.k8s.io/v1", "CertificateSigningRequest", "a:b", "", ""},
		{"networking.k8s.io/v1", "IPAddress", "2001:db8::1", "", ""},
		{"networking.k8s.io/v1", "Ingress", "a:b", "", "is not a valid DNS subdomain"},
		{"example.org/v1", "Widget", "a.b", "", ""},
		{"example.org/v1", "Widget", "Web", "", "is not a valid DNS subdomain"},
		{"user.openshift.io/v1", "User", "kube:admin", "", ""},
	}
	for _, tc := range tests {
		t.Run(tc.kind+" "+tc.name, func(t *testing.T) {
			_, err := Parse("f", []byte(fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata:\n  name: %q\n%s\n", tc.apiVersion, tc.kind, tc.name, tc.rest)))
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("it is refused: %v", err)
			case tc.want != "" && (err == nil || !strings.HasPrefix(err.Error(), "f:4: ") || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("%v, want one at f:4 with %q", err, tc.want)
			}
		})
	}
}

func TestLabelsAndAnnotationsAreChecked(t *testing.T) {
	tests := map[string]struct{ metadata, want string }{
		"what there is":                 {"labels: {a: '', app.kubernetes.io/name: A_b.c-1}, annotations: {Example.org/x: 'any ü\n'}", ""},
		"a key with a space":            {"labels: {a b: c}", `metadata.labels: "a b" is not a valid key`},
		"a key with two slashes":        {"annotations: {a/b/c: d}", `metadata.annotations: "a/b/c" is not a valid key`},
		"a name of 64":                  {"annotations: {" + strings.Repeat("x", 64) + ": d}", "is not a valid key"},
		"a prefix that is not a domain": {"labels: {a_b/c: d}", "is not a valid key"},
		"a value with a space":          {"labels: {a: b c}", `the value of "a" is not a valid label value`},
		"a value of 64":                 {"labels: {a: " + strings.Repeat("x", 64) + "}", "is not a valid label value"},
		"a value with a line break":     {"labels: {a: \"b\\n\"}", "is not a valid label value"},
		"a value that SOPS encrypted":   {"labels: {a: '" + enc + "'}", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("f", []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: a, "+tc.metadata+"}\n"))
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("it is refused: %v", err)
			case tc.want != "" && (err == nil || !strings.HasPrefix(err.Error(), `f:3: Pod "a": metadata.`) || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("%v, want one at f:3 with %q", err, tc.want)
			}
		})
	}
}
