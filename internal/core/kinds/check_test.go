package kinds

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/placement"
	"github.com/furrow-dev/furrow/test/golden"
)

// cluster is the document of a cluster that provides something.
func cluster(name, provides string) string {
	return fmt.Sprintf("-- %s.yaml --\napiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: %s}\nspec: {provides: {%s}}\n", name, name, provides)
}

// object is a manifest in a file of its own.
func object(file, apiVersion, kind, name string, annotations ...string) string {
	return fmt.Sprintf("-- %s --\napiVersion: %s\nkind: %s\nmetadata: {name: %s, namespace: default, annotations: {%s}}\n", file, apiVersion, kind, name, strings.Join(annotations, ", "))
}

// proxyCRD is the definition of Contour's HTTPProxy, which once had v1beta1.
func proxyCRD(file, versions string, annotations ...string) string {
	return fmt.Sprintf("-- %s --\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: httpproxies.projectcontour.io, annotations: {%s}}\nspec: {group: projectcontour.io, scope: Namespaced, names: {kind: HTTPProxy, plural: httpproxies}, versions: [%s]}\n", file, strings.Join(annotations, ", "), versions)
}

func check(t *testing.T, archive string) map[string][]Finding {
	t.Helper()
	tree := fstest.MapFS{}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		tree[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	cat, err := catalog.Load(tree)
	if err != nil || len(cat.Problems) > 0 {
		t.Fatal(err, cat.Problems)
	}
	var seeds []Seed
	for i := range cat.Seeds {
		placed, err := placement.Place(&cat.Seeds[i], cat.Inventory)
		if err != nil || cat.Seeds[i].Err != nil {
			t.Fatal(err, cat.Seeds[i].Err)
		}
		seeds = append(seeds, Seed{cat.Seeds[i].Name, placed.Contents, placed.Placements})
	}
	return Check(seeds, cat.Inventory)
}

func TestCheck(t *testing.T) {
	const served, old = "{name: v1, served: true}", "{name: v1, served: true}, {name: v1beta1, served: false}"
	edge, texts := cluster("edge", ""), golden.Of(t)
	cases := map[string]struct {
		tree string
		want []string // reason, whether refused, position, cluster
	}{
		"what every release serves is fine": {edge + object("seeds/a.yaml", "apps/v1", "Deployment", "a") + object("seeds/b.yaml", "v1", "ConfigMap", "b"), nil},
		"a kind that its group does not have": {
			edge + object("seeds/a.yaml", "apps/v1", "Deploymnet", "a"), []string{"UnknownKind refused seeds/a.yaml:1"}},
		"a kind of a project's group": {
			edge + object("seeds/a.yaml", "networking.k8s.io/v1", "HTTPRoute", "a"), []string{"UnknownKind refused seeds/a.yaml:1"}},
		"a kind unlike any other": {
			edge + object("seeds/a.yaml", "networking.k8s.io/v1", "Firewall", "a"), []string{"UnknownKind refused seeds/a.yaml:1"}},
		"a kind that a CustomResourceDefinition adds to a group of Kubernetes": {
			edge + object("seeds/a/a.yaml", "networking.k8s.io/v1", "Firewall", "a") + "-- seeds/a/crd.yaml --\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: firewalls.networking.k8s.io}\nspec: {group: networking.k8s.io, scope: Namespaced, names: {kind: Firewall, plural: firewalls}, versions: [{name: v1, served: true}]}\n", nil},
		"a kind that may be newer than Furrow": {
			cluster("edge", "kubernetesVersion: '1.99'") + object("seeds/a.yaml", "networking.k8s.io/v1", "Firewall", "a"), []string{"UnknownKind warned seeds/a.yaml:1"}},
		"a version that is gone": {
			edge + object("seeds/a.yaml", "extensions/v1beta1", "Ingress", "a"), []string{"VersionNotServed refused seeds/a.yaml:1"}},
		"a version whose replacement only newer releases have": {
			edge + object("seeds/a.yaml", "flowcontrol.apiserver.k8s.io/v1alpha1", "FlowSchema", "a"), []string{"VersionNotServed refused seeds/a.yaml:1"}},
		"a kind that is gone": {
			edge + object("seeds/a.yaml", "policy/v1beta1", "PodSecurityPolicy", "a"), []string{"VersionNotServed refused seeds/a.yaml:1"}},
		"a version that never was": {
			edge + object("seeds/a.yaml", "apps/v3", "Deployment", "a"), []string{"VersionNotServed refused seeds/a.yaml:1"}},
		"an old cluster has what is gone elsewhere": {
			cluster("edge", "kubernetesVersion: v1.21.3") + object("seeds/a.yaml", "extensions/v1beta1", "Ingress", "a"), nil},
		"a cluster that is too new": {
			cluster("edge", "kubernetesVersion: '1.32'") + object("seeds/a.yaml", "flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema", "a"), []string{"VersionNotServed refused seeds/a.yaml:1 edge"}},
		"a cluster that is too old": {
			cluster("edge", "kubernetesVersion: '1.33'") + object("seeds/a.yaml", "resource.k8s.io/v1", "ResourceClaim", "a"), []string{"VersionNotServed refused seeds/a.yaml:1 edge"}},
		"a cluster that is new enough": {
			cluster("edge", "kubernetesVersion: '1.34'") + object("seeds/a.yaml", "resource.k8s.io/v1", "ResourceClaim", "a"), nil},
		"some supported releases have it": {
			edge + object("seeds/a.yaml", "flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema", "a"), []string{"VersionNotServed warned seeds/a.yaml:1 edge"}},
		"newer supported releases have it": {
			edge + object("seeds/a.yaml", "admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "a"), []string{"VersionNotServed warned seeds/a.yaml:1 edge"}},
		"a version that is off by default": {
			cluster("edge", "kubernetesVersion: '1.36'") + object("seeds/a.yaml", "resource.k8s.io/v1beta2", "ResourceClaim", "a"), []string{"VersionNotServed warned seeds/a.yaml:1 edge"}},
		"a version that is switched on": {
			cluster("edge", "kubernetesVersion: '1.36', apiVersions: [resource.k8s.io/v1beta2]") + object("seeds/a.yaml", "resource.k8s.io/v1beta2", "ResourceClaim", "a"), nil},
		"what can only be asked": {
			edge + object("seeds/a.yaml", "authentication.k8s.io/v1", "TokenReview", "a"), []string{"CannotApply refused seeds/a.yaml:1"}},
		"a version that its definition serves": {edge + proxyCRD("seeds/crd.yaml", served) + object("seeds/a.yaml", "projectcontour.io/v1", "HTTPProxy", "a"), nil},
		"a version that its definition does not serve": {
			edge + proxyCRD("seeds/crd.yaml", old) + object("seeds/a.yaml", "projectcontour.io/v1beta1", "HTTPProxy", "a"), []string{"VersionNotServed refused seeds/a.yaml:1 other=seeds/crd.yaml:1"}},
		"a definition that serves nothing": {
			edge + proxyCRD("seeds/crd.yaml", "{name: v1, served: false}") + object("seeds/a.yaml", "projectcontour.io/v1", "HTTPProxy", "a"), []string{"VersionNotServed refused seeds/a.yaml:1 other=seeds/crd.yaml:1"}},
		"a definition on another cluster does not count": {
			edge + cluster("west", "") + proxyCRD("seeds/crd.yaml", served, "furrow.dev/cluster: west") + object("seeds/a.yaml", "projectcontour.io/v1beta1", "HTTPProxy", "a", "furrow.dev/cluster: edge"), nil},
		"the definition of the own seed counts first": {
			edge + proxyCRD("seeds/a/crd.yaml", "{name: v2, served: true}") + object("seeds/a/a.yaml", "projectcontour.io/v2", "HTTPProxy", "a") + proxyCRD("seeds/b.yaml", served), nil},
		"a kind that nobody defines is for another rule": {edge + object("seeds/a.yaml", "projectcontour.io/v1", "HTTPProxy", "a"), nil},
		"a version that the cluster does not list": {
			cluster("edge", "apiVersions: [projectcontour.io/v1]") + object("seeds/a.yaml", "projectcontour.io/v1beta1", "HTTPProxy", "a"), []string{"VersionNotServed refused seeds/a.yaml:1 edge"}},
		"many objects are one finding": {
			edge + object("seeds/a/2.yaml", "extensions/v1beta1", "Ingress", "b") + object("seeds/a/1.yaml", "extensions/v1beta1", "Ingress", "z") + object("seeds/a/3.yaml", "extensions/v1beta1", "Deployment", "c"),
			[]string{"VersionNotServed refused seeds/a/3.yaml:1", "VersionNotServed refused seeds/a/1.yaml:1"}},
		"many clusters are one finding": {
			cluster("a", "kubernetesVersion: '1.33'") + cluster("b", "kubernetesVersion: '1.33'") + cluster("c", "kubernetesVersion: '1.33'") + cluster("d", "kubernetesVersion: '1.33'") + cluster("e", "kubernetesVersion: '1.34'") + object("seeds/a.yaml", "resource.k8s.io/v1", "ResourceClaim", "a"),
			[]string{"VersionNotServed refused seeds/a.yaml:1 a"}},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			var got, said []string
			for _, findings := range check(t, c.tree) {
				for _, f := range findings {
					line := fmt.Sprintf("%s warned %s", f.Reason, f.Source)
					if f.Refused {
						line = strings.Replace(line, "warned", "refused", 1)
					}
					if f.Cluster != "" {
						line += " " + f.Cluster
					}
					if f.Other != (manifest.Source{}) {
						line += " other=" + f.Other.String()
					}
					got, said = append(got, line), append(said, f.Error())
				}
			}
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the findings differ (-want +got):\n%s", diff)
			}
			texts.Add(sentence, strings.Join(said, "\n"))
		})
	}
}

func TestEverySupportedReleaseHasTheReplacementThatIsNamed(t *testing.T) {
	supported := manifest.SupportedReleases()
	for minor := supported.First; minor <= supported.Last; minor++ {
		on := manifest.Release(minor)
		for _, group := range []string{"", "apps", "extensions", "policy", "autoscaling", "batch", "networking.k8s.io", "flowcontrol.apiserver.k8s.io", "resource.k8s.io", "rbac.authorization.k8s.io"} {
			for _, kind := range manifest.ServedIn(group) {
				v := versioned{manifest.GroupKind{Group: group, Kind: kind}, "v9"}
				better := replacement(v, on)
				if better == "" {
					continue
				}
				at := strings.LastIndexByte(better, '/')
				named := versioned{manifest.GroupKind{Group: better[:max(at, 0)], Kind: kind}, better[at+1:]}
				if f := judgeBuiltin(named, on, ""); f != nil {
					t.Errorf("1.%d: %s instead of %s %s: %s", minor, better, group, kind, f.message)
				}
			}
		}
	}
}

// A version that is refused on every supported release is refused where the release is unknown, and
// one that all of them take is taken.
func TestAnUnknownReleaseIsJudgedByAllSupportedOnes(t *testing.T) {
	supported := manifest.SupportedReleases()
	for _, group := range []string{"", "apps", "extensions", "policy", "autoscaling", "batch", "networking.k8s.io", "flowcontrol.apiserver.k8s.io", "resource.k8s.io", "admissionregistration.k8s.io"} {
		for _, kind := range manifest.ServedIn(group) {
			row, _ := manifest.Served(manifest.GroupKind{Group: group, Kind: kind})
			for version := range row.Versions {
				v := versioned{manifest.GroupKind{Group: group, Kind: kind}, version}
				var verdicts []bool
				for minor := supported.First; minor <= supported.Last; minor++ {
					f := judgeBuiltin(v, manifest.Release(minor), fmt.Sprintf("1.%d", minor))
					verdicts = append(verdicts, f != nil && f.refused)
				}
				all, f := !slices.Contains(verdicts, false), judgeBuiltin(v, supported, "")
				if refused := f != nil && f.refused; refused != all {
					t.Errorf("%s %s: refused %t, where each release refuses %v", v.apiVersion(), kind, refused, verdicts)
				}
			}
		}
	}
}
