package manifest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/test/golden"
)

func TestComplete(t *testing.T) {
	const crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: as.x.io}\nspec: {group: x.io, names: {kind: A}, scope: Namespaced}\n---\n"
	thing := func(kind, metadata string) string {
		return "apiVersion: x.io/v1\nkind: " + kind + "\nmetadata: {" + metadata + "}\n---\n"
	}
	hook := func(name, hooks string) string {
		return pod(name, "  namespace: ns\n  annotations: {helm.sh/hook: \""+hooks+"\"}\n---\n")
	}
	binding := func(kind, namespace string) string {
		return "apiVersion: rbac.authorization.k8s.io/v1\nkind: " + kind + "\nmetadata: {name: a}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}\nsubjects: [{kind: ServiceAccount, name: s" + namespace + "}]\n"
	}
	tests := map[string]struct {
		text         string
		opts         Options
		want         []string
		wantWarnings []string
		wantProblems []string
	}{
		"a namespace is filled in": {
			text: pod("a"), opts: Options{Namespace: "ns"}, want: []string{"core/Pod/ns/a@f:1"},
		},
		"what only API servers write is removed": {
			text: pod("a", "  namespace: b\n  uid: x\n  resourceVersion: \"1\"\n  generation: 3\n  managedFields: []\n  ownerReferences: [{kind: A, name: a}]\n"), want: []string{"core/Pod/b/a@f:1"},
			wantWarnings: []string{`f:1: Pod "a": ExportedObject`},
		},
		"an owner by its uid is removed": {
			text: pod("a", "  namespace: b\n  ownerReferences: [{kind: A, name: a, uid: x}]\n"), want: []string{"core/Pod/b/a@f:1"},
			wantWarnings: []string{`f:1: Pod "a": ExportedObject`},
		},
		"a namespace of its own stays": {
			text: pod("a", "  namespace: own\n"), opts: Options{Namespace: "ns"}, want: []string{"core/Pod/own/a@f:1"},
		},
		"no namespace to fill in is a problem": {
			text:         pod("a"),
			wantProblems: []string{`f:1: Pod "a": MissingNamespace`},
		},
		"several objects without one are one problem": {
			text:         "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: b}\n",
			wantProblems: []string{`f:1: 2 objects: MissingNamespace`},
		},
		"a malformed namespace to fill in is a problem": {
			text: pod("a"), opts: Options{Namespace: "N"},
			wantProblems: []string{"InvalidName field=Seed.spec.namespace"},
		},
		"a ServiceAccount without a namespace in a ClusterRoleBinding is a problem": {
			text:         binding("ClusterRoleBinding", ""),
			wantProblems: []string{`f:1: ClusterRoleBinding "a": MissingNamespace`},
		},
		"a ServiceAccount without a namespace in a RoleBinding is in that of the binding": {
			text: binding("RoleBinding", ""), opts: Options{Namespace: "ns"}, want: []string{"rbac.authorization.k8s.io/RoleBinding/ns/a@f:1"},
		},
		"cluster-scoped objects get none": {
			text: "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n", opts: Options{Namespace: "ns"}, want: []string{"core/Namespace/a@f:1"},
		},
		"cluster-scoped objects lose theirs": {
			text: "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, namespace: b}\n", want: []string{"core/Namespace/a@f:1"},
			wantWarnings: []string{`f:1: Namespace "a": NamespaceRemoved`},
		},
		"a definition among the objects gives the scope": {
			text: thing("A", "name: a") + crd, opts: Options{Namespace: "ns", Scopes: map[GroupKind]Scope{{"x.io", "A"}: ClusterScoped}},
			want: []string{"x.io/A/ns/a@f:1", "apiextensions.k8s.io/CustomResourceDefinition/as.x.io@f:5"},
		},
		"a definition from elsewhere gives the scope": {
			text: thing("A", "name: a, namespace: b"), opts: Options{Scopes: map[GroupKind]Scope{{"x.io", "A"}: ClusterScoped}},
			want:         []string{"x.io/A/a@f:1"},
			wantWarnings: []string{`f:1: A "a": NamespaceRemoved`},
		},
		"an unknown kind gets the namespace that the seed names": {
			text: thing("B", "name: a") + thing("B", "name: a, namespace: b"), opts: Options{Namespace: "ns"},
			want: []string{"x.io/B/ns/a@f:1", "x.io/B/b/a@f:5"},
			wantWarnings: []string{
				`f:1: B "a": UnknownScope`,
				`f:5: B "a": UnknownScope`,
			},
		},
		"an unknown kind that is known to have none gets none": {
			text: thing("B", "name: a"), opts: Options{Namespace: "ns", Scopes: map[GroupKind]Scope{{"x.io", "B"}: ClusterScoped}},
			want: []string{"x.io/B/a@f:1"},
		},
		"an unknown kind is accepted unchanged where the seed names no namespace": {
			text: thing("B", "name: a") + thing("B", "name: a, namespace: b"),
			want: []string{"x.io/B/a@f:1", "x.io/B/b/a@f:5"},
			wantWarnings: []string{
				`f:1: B "a": UnknownScope`,
				`f:5: B "a": UnknownScope`,
			},
		},
		"a kind that Kubernetes does not have, which only the core group refuses whatever the clusters are": {
			text:         "apiVersion: apps/v1\nkind: deployment\nmetadata: {name: a, namespace: b}\n---\napiVersion: v1\nkind: Deployment\nmetadata: {name: a, namespace: b}\n---\napiVersion: batch/v1\nkind: Cleanup\nmetadata: {name: a}\n",
			want:         []string{"apps/deployment/b/a@f:1", "batch/Cleanup/a@f:9"},
			wantProblems: []string{`f:5: Deployment "a": UnknownKind`},
		},
		"the core group has no other kinds": {
			text: "apiVersion: v1\nkind: secret\nmetadata: {name: a, namespace: b}\n---\napiVersion: v1\nkind: Secrets\nmetadata: {name: a, namespace: b}\n---\napiVersion: v2\nkind: PodGang\nmetadata: {name: a}\n",
			wantProblems: []string{
				`f:1: secret "a": UnknownKind`,
				`f:5: Secrets "a": UnknownKind`,
				`f:9: PodGang "a": UnknownKind`,
			},
		},
		"many objects of one unknown kind are one problem": {
			text:         "apiVersion: v1\nkind: Servce\nmetadata: {name: a, namespace: b}\n---\napiVersion: v1\nkind: Servce\nmetadata: {name: b, namespace: b}\n",
			wantProblems: []string{`f:1: 2 objects: UnknownKind`},
		},
		"hooks that no install runs are left out": {
			text: hook("a", "test-success, pre-delete") + hook("b", "pre-install,test") + hook("c", "post-rollback") + hook("d", "crd-install"),
			want: []string{"core/Pod/ns/b@f:8", "core/Pod/ns/d@f:22"},
			wantWarnings: []string{
				`f:1: Pod "a": LeftOut`,
				`f:8: Pod "b": AnnotationIgnored`,
				`f:15: Pod "c": LeftOut`,
			},
		},
		"hooks of Argo CD that no sync runs are left out": {
			text: "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: ns, annotations: {argocd.argoproj.io/hook: \"SyncFail, PostDelete\"}}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: b, namespace: ns, annotations: {argocd.argoproj.io/hook: Skip}}\n",
			wantWarnings: []string{
				`f:1: Pod "a": LeftOut`,
				`f:5: Pod "b": LeftOut`,
			},
		},
		"a hook of Argo CD is not run again, and waves order objects elsewhere": {
			text: thing("A", "name: a, namespace: b, annotations: {argocd.argoproj.io/hook: PreSync, argocd.argoproj.io/sync-wave: \"-1\"}") +
				thing("A", "name: c, namespace: b, annotations: {argocd.argoproj.io/sync-wave: \"0\"}") + thing("A", "name: d, namespace: b, annotations: {argocd.argoproj.io/sync-wave: \"5\"}") + crd,
			want: []string{"x.io/A/b/a@f:1", "x.io/A/b/c@f:5", "x.io/A/b/d@f:9", "apiextensions.k8s.io/CustomResourceDefinition/as.x.io@f:13"},
			wantWarnings: []string{
				`f:1: A "a": AnnotationIgnored`,
			},
		},
		"local configuration is left out": {
			text:         thing("A", "name: a, annotations: {config.kubernetes.io/local-config: \"\"}") + crd + thing("A", "name: b, namespace: c, annotations: {config.kubernetes.io/local-config: \"false\"}"),
			want:         []string{"apiextensions.k8s.io/CustomResourceDefinition/as.x.io@f:5", "x.io/A/c/b@f:10"},
			wantWarnings: []string{`f:1: A "a": LeftOut`},
		},
		"an object that is defined twice once its namespace is filled in": {
			text: pod("a") + "---\n" + pod("a", "  namespace: ns\n"), opts: Options{Namespace: "ns"}, want: []string{"core/Pod/ns/a@f:1"},
			wantProblems: []string{`f:6: Pod "a": DuplicateObject other=f:1`},
		},
		"a sops document is never changed": {
			text: pod("a", "sops: {}\n") + "---\n" + pod("b", "  namespace: x\nsops: {}\n") + "---\napiVersion: v1\nkind: Node\nmetadata: {name: c, namespace: d}\nsops: {}\n", opts: Options{Namespace: "ns"},
			want: []string{"core/Pod/x/b@f:7"},
			wantProblems: []string{
				`f:1: Pod "a": MissingNamespace`,
				`f:14: Node "c": InvalidEncryption`,
			},
		},
	}
	texts := golden.Of(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			objects, err := Parse("f", []byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			got, err := Complete(objects, tt.opts)
			texts.Add(name, text(err))
			texts.Add(name+": warnings", text(warnings(got)))
			if diff := cmp.Diff(tt.wantProblems, fields(err)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, where(got.Objects)); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.wantWarnings, fields(warnings(got))); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			for _, o := range got.Objects {
				checkRoundTrip(t, o)
			}
		})
	}
}

func TestAServiceAccountOfAClusterRoleBindingGetsTheNamespace(t *testing.T) {
	for sentence, c := range map[string]struct {
		kind string
		want any
	}{
		"in a ClusterRoleBinding it is filled in": {"ClusterRoleBinding", "ns"},
		"in a RoleBinding it need not be":         {"RoleBinding", nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			objects, err := Parse("f", []byte("apiVersion: rbac.authorization.k8s.io/v1\nkind: "+c.kind+"\nmetadata: {name: a, namespace: own}\nsubjects: [{kind: User, name: u}, {kind: ServiceAccount, name: s}, {kind: ServiceAccount, name: s, namespace: other}]\n"))
			if err != nil {
				t.Fatal(err)
			}
			got, err := Complete(objects, Options{Namespace: "ns"})
			if err != nil {
				t.Fatal(err)
			}
			var namespaces []any
			for _, subject := range got.Objects[0].Slice("subjects") {
				namespaces = append(namespaces, subject.(map[string]any)["namespace"])
			}
			if diff := cmp.Diff([]any{nil, c.want, "other"}, namespaces); diff != "" {
				t.Errorf("namespaces of subjects (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBuiltinScopes(t *testing.T) {
	for kind, want := range map[GroupKind]Scope{
		{"", "Namespace"}: ClusterScoped, {"", "Secret"}: Namespaced, {"apps", "Deployment"}: Namespaced,
		{"cluster.x-k8s.io", "Cluster"}: Namespaced, {"infrastructure.cluster.x-k8s.io", "DevClusterTemplate"}: Namespaced,
		{"infrastructure.cluster.x-k8s.io", "VSphereFailureDomain"}: ClusterScoped, {"runtime.cluster.x-k8s.io", "ExtensionConfig"}: ClusterScoped,
		{"cert-manager.io", "ClusterIssuer"}: ClusterScoped,
	} {
		if got, ok := BuiltinScope(kind); !ok || got != want {
			t.Errorf("%s is %q, want %q", kind, got, want)
		}
	}
	for _, kind := range []GroupKind{{"x.io", "A"}, {"mycluster.x-k8s.io", "A"}, {"x-k8s.io", "A"}, {"", "A"}} {
		if scope, ok := BuiltinScope(kind); ok {
			t.Errorf("%s is unknown, and has the scope %q", kind, scope)
		}
	}
	if _, err := readScopes([]byte("core: {A: Global}")); err == nil {
		t.Error("a scope that is none was taken")
	}
}

func TestFileNames(t *testing.T) {
	long := strings.Repeat("x", 250)
	tests := map[string]struct {
		ids  []ID
		want []string
	}{
		"kind and name":                        {[]ID{{"cluster.x-k8s.io", "Cluster", "edge", "edge-1"}}, []string{"cluster.edge-1.yaml"}},
		"a character that files do not have":   {[]ID{{"rbac.authorization.k8s.io", "ClusterRole", "", "system:foo"}}, []string{"clusterrole.system-foo-6ba834ae.yaml"}},
		"upper case":                           {[]ID{{"", "Pod", "", "Foo"}}, []string{"pod.foo-988098e9.yaml"}},
		"one name in two namespaces":           {[]ID{{"", "Pod", "a", "x"}, {"", "Pod", "b", "x"}, {"", "Pod", "b", "y"}}, []string{"pod.x-d974f932.yaml", "pod.x-275ac910.yaml", "pod.y.yaml"}},
		"one kind of two groups":               {[]ID{{"a.io", "Kit", "", "x"}, {"b.io", "Kit", "", "x"}}, []string{"kit.x-18e48fa2.yaml", "kit.x-ca91448f.yaml"}},
		"a long name":                          {[]ID{{"", "Pod", "", long}}, []string{"pod." + long[:182] + "-a7b03717.yaml"}},
		"a name that resembles kustomization":  {[]ID{{"", "Kustomization", "", "yaml"}}, []string{"kustomization.yaml.yaml"}},
		"a name that ends like another's file": {[]ID{{"", "Pod", "", "Foo"}, {"", "Pod", "", "foo-988098e9"}}, []string{"pod.foo-988098e9ff58a1b1.yaml", "pod.foo-988098e9-95a9a6b1.yaml"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var objects []Object
			for _, id := range tt.ids {
				objects = append(objects, Object{ID: id})
			}
			names := FileNames(objects)
			slices.Reverse(objects)
			if diff := cmp.Diff(names, FileNames(objects)); diff != "" {
				t.Errorf("the order makes a difference:\n%s", diff)
			}
			var got []string
			for _, id := range tt.ids {
				got = append(got, names[id])
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// warnings are those of a result as an error; nil of none.
func warnings(r Result) error {
	if len(r.Warnings) == 0 {
		return nil
	}
	return Problems(r.Warnings)
}

func TestExportedFieldsAreRemovedAndNothingElse(t *testing.T) {
	objects, err := Parse("f", []byte(pod("a", "  namespace: b\n  uid: x\n  deletionTimestamp: \"2024-01-01T00:00:00Z\"\n  labels: {a: b}\n")))
	if err != nil {
		t.Fatal(err)
	}
	result, err := Complete(objects, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"name": "a", "namespace": "b", "labels": map[string]any{"a": "b"}}
	if diff := cmp.Diff(want, result.Objects[0].Map("metadata")); diff != "" {
		t.Error(diff)
	}
	if objects[0].Text("metadata", "uid") != "x" {
		t.Error("the object that was read is changed")
	}
}
