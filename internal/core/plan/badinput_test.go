package plan_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestBadInputs is what people get to read for what they commit. Each row
// replaces files of a control plane that is in order; want is what seed web is
// told. Mishaps in repositories are in the engine's tests.
func TestBadInputs(t *testing.T) {
	const (
		namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n"
		web       = namespace + "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: web}\nspec: {}\n"
	)
	tests := map[string]struct {
		files map[string]string
		want  string
	}{
		"a circle": {
			files: map[string]string{"seeds/web.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default, annotations: {furrow.dev/depends-on: core/ConfigMap/default/b}}\n---\n" +
				"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: default, annotations: {furrow.dev/depends-on: core/ConfigMap/default/a}}\n"},
			want: `seed "web": the objects wait for each other in a circle:
  core/ConfigMap/default/a on edge waits for core/ConfigMap/default/b on edge (declared: furrow.dev/depends-on: core/ConfigMap/default/b)
  core/ConfigMap/default/b on edge waits for core/ConfigMap/default/a on edge (declared: furrow.dev/depends-on: core/ConfigMap/default/a)
Remove one of these dependencies, or switch its rule off with spec.disabledRules of the Seed`,
		},
		"an unknown cluster": {
			files: map[string]string{"seeds/web.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: web, annotations: {furrow.dev/cluster: egde}}\n"},
			want:  `seeds/web.yaml:1: Namespace "web": annotation furrow.dev/cluster: there is no cluster "egde". Use one of: edge, mgmt; or declare it.`,
		},
		"no matching cluster": {
			files: map[string]string{"seeds/web.yaml": web + "---\napiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web}\nspec: {clusterSelector: {matchLabels: {region: mars}}}\n"},
			want:  `seeds/web.yaml:5: Deployment "web": no workload cluster matches the seed's clusterSelector "region=mars". Label one of: edge; or change the selector.`,
		},
		"two seeds with one object": {
			files: map[string]string{"seeds/other.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: web}\n"},
			want:  `seeds/web.yaml:5: Deployment "web": seed "other" (seeds/other.yaml:1) has the same object for cluster edge. Keep it in one of the two seeds, or place them on different clusters.`,
		},
		"an object that is too large": {
			files: map[string]string{"seeds/web.yaml": namespace + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: big, namespace: web}\ndata: {big: " + strings.Repeat("x", 3<<20) + "}\n"},
			want:  `seeds/web.yaml:5: ConfigMap "big": `,
		},
		"a Secret in plain text": {
			files: map[string]string{"seeds/web.yaml": web + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: key, namespace: web}\nstringData: {password: hunter2}\n"},
			want:  `seeds/web.yaml:10: Secret "key": stringData.password is not encrypted, and everyone with access to the GitOps repository could read it. Encrypt it with SOPS; or set spec.plainSecrets: Allow in the Seed.`,
		},
		"a name that leaves its directory": {
			files: map[string]string{"seeds/web.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ../../etc/passwd, namespace: default}\n"},
			want:  `seeds/web.yaml:3: ConfigMap: metadata.name "../../etc/passwd" has a character that names cannot have: / or %. Choose another name.`,
		},
		"a control character in a name": {
			files: map[string]string{"seeds/web.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"a\\u0007b\", namespace: default}\n"},
			want:  `seeds/web.yaml:3: ConfigMap: metadata.name "a\ab" has a character that cannot be printed: U+0007. Choose another name.`,
		},
		"a tab": {
			files: map[string]string{"seeds/web.yaml": "apiVersion: v1\nkind: Namespace\nmetadata:\n\tname: web\n"},
			want:  `seeds/web.yaml:4: the line is indented with a tab, which YAML does not allow. Indent it with spaces.`,
		},
		"an object without a kind": {
			files: map[string]string{"seeds/web.yaml": namespace + "---\napiVersion: v1\nmetadata: {name: x}\n"},
			want:  `seeds/web.yaml:5: `,
		},
		"an alias bomb": {
			files: map[string]string{"seeds/web.yaml": "a: &a [x, x, x, x, x, x, x, x, x]\n" + bomb("bcdefghi")},
			want:  `seeds/web.yaml:`,
		},
		"a namespaced object without a namespace": {
			files: map[string]string{"seeds/web.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"},
			want:  `seeds/web.yaml:1: Deployment "web": `,
		},
		"a template with an error": {
			files: map[string]string{
				"clusters.yaml": fleetDocuments + "---\napiVersion: furrow.dev/v1alpha1\nkind: ClusterType\nmetadata: {name: odd}\nspec: {reconcilerTemplate: odd}\n---\napiVersion: furrow.dev/v1alpha1\nkind: Template\nmetadata: {name: odd}\nspec: {type: Reconciler, text: \"{{ .Names }}\"}\n---\n" +
					"apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: odd}\nspec: {type: odd}\n",
			},
			want: `seed "web": template "Template/odd" (clusters.yaml:16): line 1:3: at <.Names>: there is no field Names here; there are Name, Namespace, Seed, Cluster, Tier, Labels, ClusterType, Path, Source, KubeConfigSecret, DependsOn, Wait, HealthChecks, HealthCheckExprs, Decryption. Correct the template`,
		},
		"a cluster's document that cannot be used, and nothing else to be planted on": {
			files: map[string]string{
				"clusters.yaml":  fleetDocuments + "---\napiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: new}\nspec: {rloe: Workload}\n",
				"seeds/web.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: web, annotations: {furrow.dev/cluster: new}}\n",
			},
			want: `seeds/web.yaml:1: Namespace "web": annotation furrow.dev/cluster names the cluster "new": its document at clusters.yaml:11 cannot be used: unknown field "rloe". Correct that document.`,
		},
		"a dependency on what is nowhere": {
			files: map[string]string{"seeds/web.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: web, annotations: {furrow.dev/depends-on: core/Namespace/wbe}}\n"},
			want:  `seeds/web.yaml:1: Namespace "web": annotation furrow.dev/depends-on names core/Namespace/wbe, which is in no seed. Add that object, or correct the annotation.`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"clusters.yaml": fleetDocuments, "seeds/web.yaml": web}
			maps.Copy(files, tc.files)
			tree := fstest.MapFS{}
			for p, text := range files {
				tree[p] = &fstest.MapFile{Data: []byte(text)}
			}
			o := compute(t, tree)["web"]
			if o == nil || o.Err == nil || o.Plan != nil {
				t.Fatalf("it was planned: %+v", o)
			}
			got := o.Err.Error()
			if strings.HasSuffix(tc.want, " ") || strings.HasSuffix(tc.want, ":") {
				t.Log(got)
				if !strings.HasPrefix(got, tc.want) || !strings.HasSuffix(got, ".") {
					t.Errorf("the message is %q, want %q with what is wrong and the next step", got, tc.want)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

const fleetDocuments = `apiVersion: furrow.dev/v1alpha1
kind: Cluster
metadata: {name: mgmt}
spec: {role: Management}
---
apiVersion: furrow.dev/v1alpha1
kind: Cluster
metadata: {name: edge}
spec: {}
`

// bomb is lists of lists, each nine times the one before.
func bomb(names string) string {
	var b strings.Builder
	previous := "a"
	for _, name := range strings.Split(names, "") {
		b.WriteString(name + ": &" + name + " [" + strings.TrimSuffix(strings.Repeat("*"+previous+", ", 9), ", ") + "]\n")
		previous = name
	}
	return b.String()
}

// One Template that is slow must not take the time of all seeds.
func TestATemplateThatFailsIsNotRenderedForEverySeed(t *testing.T) {
	tree := fstest.MapFS{"clusters.yaml": {Data: []byte(`apiVersion: furrow.dev/v1alpha1
kind: ClusterType
metadata: {name: slow}
spec: {reconcilerTemplate: slow}
---
apiVersion: furrow.dev/v1alpha1
kind: Template
metadata: {name: slow}
spec: {type: Reconciler, text: "{{ range 100000000 }}{{ end }}"}
---
apiVersion: furrow.dev/v1alpha1
kind: Cluster
metadata: {name: edge}
spec: {type: slow}
`)}}
	const count = 50
	for i := range count {
		name := fmt.Sprintf("s%02d", i)
		tree["seeds/"+name+".yaml"] = &fstest.MapFile{Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: default}\n")}
	}
	executed, spared := 0, 0
	for _, o := range compute(t, tree) {
		switch {
		case o.Err == nil:
			t.Fatal("it was planned")
		case strings.Contains(o.Err.Error(), "it takes more than 200000 steps"):
			executed++
		case strings.Contains(o.Err.Error(), "Template/slow\" (clusters.yaml:6): it was not rendered again"):
			spared++
		default:
			t.Error(o.Err)
		}
	}
	if executed > 20 || executed+spared != count {
		t.Errorf("it was executed for %d of %d seeds, and not for %d", executed, count, spared)
	}
}
