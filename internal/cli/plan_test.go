package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/plan"
)

func TestAPlanFromStandardInputFillsTheNamespace(t *testing.T) {
	const bare = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	r := call(t.Context(), bare, "plan", "-n", "default", "-f", "-")
	if r.code != exitOK {
		t.Errorf("it ends with %d: %s", r.code, r.stderr)
	}
	mustContain(t, r.stdout, "Seed seed: 1 object in 1 tier on 1 cluster", "core/ConfigMap/default/a")

	r = call(t.Context(), bare, "plan", "-f", "-")
	if r.code != exitProblems {
		t.Errorf("without -n it ends with %d: %s", r.code, r.stdout)
	}
	mustContain(t, r.stderr, "error: standard input:1: ", "namespaced and has no namespace")
}

func TestWithoutAControlPlaneThereIsAManagementClusterToo(t *testing.T) {
	const creator = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: edge, namespace: default}\n"
	r := call(t.Context(), creator, "plan", "-f", "-")
	if r.code != exitOK {
		t.Errorf("it ends with %d: %s", r.code, r.stderr)
	}
	mustContain(t, r.stdout, "management tier 00")
}

func TestATrialNeedsNoControlPlane(t *testing.T) {
	const (
		seed      = "apiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: trial}\nspec: {plainSecrets: Allow, namespace: default}\n---\n"
		eks       = "apiVersion: eks.aws.upbound.io/v1beta2\nkind: Cluster\nmetadata: {name: new}\nspec: {forProvider: {region: a}}\n---\n"
		gke       = "apiVersion: container.gcp.upbound.io/v1beta2\nkind: Cluster\nmetadata: {name: new}\nspec: {writeConnectionSecretToRef: {name: c, namespace: crossplane-system}}\n---\n"
		anywhere  = "apiVersion: anywhere.eks.amazonaws.com/v1alpha1\nkind: Cluster\nmetadata: {name: new, namespace: default}\n---\n"
		app       = "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: app, namespace: default}\nspec: {}\n---\n"
		manager   = "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: management}\nspec: {role: Management, kubeConfigNamespaces: [flux-system, crossplane-system]}\n---\n"
		hub       = "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: hub}\nspec: {role: Management}\n---\n"
		west      = "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: west}\n---\n"
		described = "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: new, labels: {region: eu}}\n---\n"
		policy    = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: p}\nspec: {}\n---\napiVersion: networking.k8s.io/v1\nkind: ServiceCIDR\nmetadata: {name: c}\nspec: {cidrs: [10.0.0.0/16]}\n---\n"
		alpha     = "apiVersion: resource.k8s.io/v1beta2\nkind: DeviceClass\nmetadata: {name: d}\nspec: {}\n---\n"
		granted   = "planned as if it were, because there is no control plane"
	)
	cases := map[string]struct {
		stdin       string
		has, hasNot []string
	}{
		"a cluster by Crossplane, whose kubeconfig nobody lets be read": {seed + eks + app, []string{"management tier 00", "new tier 00", granted, "spec.kubeConfigNamespaces"}, nil},
		"one of Google":                                     {seed + gke + app, []string{"new tier 00", granted}, nil},
		"a cluster of EKS Anywhere":                         {seed + anywhere + app, []string{"new tier 00", granted}, nil},
		"with the document of the management cluster":       {seed + manager + eks + app, []string{"management tier 00", "new tier 00"}, []string{granted}},
		"with a management cluster of another name":         {seed + hub + eks + app, []string{"hub tier 00", "new tier 00", granted}, []string{"management tier"}},
		"with the document of a workload cluster":           {seed + west + app, []string{"west tier 00"}, []string{"workload tier"}},
		"with documents of both and of the new one":         {seed + hub + west + described + eks + app, []string{"hub tier 00", "new tier 00"}, []string{"management tier", "workload tier"}},
		"what is general since long is not worth a warning": {seed + policy, []string{"workload tier 00"}, []string{"VersionNotServed", "release of"}},
		"what is off by default is":                         {seed + alpha, []string{"write apiVersion: resource.k8s.io/v1"}, nil},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			r := call(t.Context(), c.stdin, "plan", "-f", "-")
			if r.code != exitOK {
				t.Fatalf("it ends with %d: %s", r.code, r.stderr)
			}
			mustContain(t, r.all(), c.has...)
			for _, text := range c.hasNot {
				if strings.Contains(r.all(), text) {
					t.Errorf("it says %q:\n%s", text, r.all())
				}
			}
		})
	}
}

func TestManyPlainSecretsAreOneLine(t *testing.T) {
	var many strings.Builder
	for i := range 12 {
		fmt.Fprintf(&many, "apiVersion: v1\nkind: Secret\nmetadata: {name: s%d, namespace: default}\nstringData: {key%d: v}\n---\n", i, i)
	}
	r := call(t.Context(), many.String(), "plan", "-f", "-")
	if r.code != exitProblems || strings.Count(r.stderr, "error: ") != 1 {
		t.Errorf("it ends with %d and says:\n%s", r.code, r.stderr)
	}
	mustContain(t, r.stderr, "12 objects", "4 more", "standard input:1", "SOPS", "plainSecrets: Allow")
}

func TestAPlanOnDiskIsWhatGitMakesOfIt(t *testing.T) {
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.must("plan", "--seed", "web", "--out", p.at("out"))

	written := readPlan(t, p.at("out"))
	p.git("out", "init", "--quiet")
	p.git("out", "add", ".")
	p.git("out", "commit", "--quiet", "--message=The plan")
	for _, tier := range written.Tiers {
		if got := p.git("out", "rev-parse", "HEAD:"+tier.Dir()); got != tier.DirHash().String() {
			t.Errorf("plan.yaml has tree %s for %s, and Git makes %s of it", tier.DirHash(), tier.Dir(), got)
		}
		if got := p.git("out", "hash-object", tier.ReconcilerFile()); got != tier.ReconcilerHash().String() {
			t.Errorf("plan.yaml has blob %s for %s, and Git makes %s of it", tier.ReconcilerHash(), tier.ReconcilerFile(), got)
		}
	}
	if len(written.Tiers) != 6 {
		t.Errorf("%d tiers", len(written.Tiers))
	}
}

func TestAPlanOnDiskIsTheOneThatARunCommits(t *testing.T) {
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.must("plan", "--out", p.at("out"))
	p.pass()
	p.git("work", "fetch", "--quiet", "origin")
	p.git("work", "checkout", "--quiet", "origin/furrow/main/plan/web")

	written, committed := readPlan(t, p.at("out/web")), readPlan(t, p.at("work"))
	if committed.Owner != "control-plane/default" {
		t.Errorf("the owner is %q", committed.Owner)
	}
	committed.Owner, committed.Origin, committed.Revision, committed.From = written.Owner, written.Origin, written.Revision, written.From
	if diff := cmp.Diff(written, committed); diff != "" {
		t.Errorf("plan.yaml (-plan --out +run):\n%s", diff)
	}
	for _, tier := range written.Tiers {
		if got := p.git("work", "rev-parse", "HEAD:"+tier.Dir()); got != tier.DirHash().String() {
			t.Errorf("the run's plan has tree %s at %s, and not %s", got, tier.Dir(), tier.DirHash())
		}
	}
}

func readPlan(t *testing.T, dir string) *plan.Plan {
	t.Helper()
	p, err := plan.Decode(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestADiffComparesWhatIsOnDiskWithThePlansInForce(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed, "seeds/old.yaml": strings.ReplaceAll(webSeed, "web", "old")})
	mustContain(t, p.must("plan", "--diff", "--seed", "web"), "Seed web: with the files on disk, 6 tiers new\n", "\n+ east tier 00\n    + core/Namespace/web\n")
	p.pass()
	mustContain(t, p.must("plan", "--diff"), "Seed old: with the files on disk nothing changes.\n", "Seed web: with the files on disk nothing changes.\n")

	p.write("control-plane", map[string]string{"seeds/web.yaml": moreSeed, "seeds/new.yaml": strings.ReplaceAll(webSeed, "web", "new")})
	if err := os.Remove(p.at("control-plane/seeds/old.yaml")); err != nil {
		t.Fatal(err)
	}
	mustShow(t, "../diff", p.furrow("plan", "--diff"))
	mustContain(t, p.must("plan", "--diff", "--seed", "web", "-o", "yaml"), "changed:\n  - core/ConfigMap/web/settings\n")

	p.write("control-plane", map[string]string{"seeds/web.yaml": circleSeed})
	r := p.furrow("plan", "--diff", "--seed", "web")
	if r.code != exitProblems {
		t.Errorf("a seed that cannot be planned ends with %d", r.code)
	}
	mustContain(t, r.stderr, "error: ", "the objects wait for each other in a circle")
	if r := p.furrow("plan", "--diff", "-f", p.at("control-plane/seeds/new.yaml")); r.code != exitUsage {
		t.Errorf("with -f it ends with %d", r.code)
	}
}
