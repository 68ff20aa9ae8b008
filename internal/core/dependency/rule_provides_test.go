package dependency

import (
	"strings"
	"testing"
)

const (
	issuer      = "-- seeds/web.yaml --\napiVersion: cert-manager.io/v1\nkind: Issuer\nmetadata: {name: ca, namespace: default}\n"
	helmRelease = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: certs, namespace: default}\nspec: "
	fluxIsThere = `
-- clusters.yaml --
apiVersion: furrow.dev/v1alpha1
kind: Cluster
metadata: {name: mgmt}
spec: {role: Management, provides: {customResourceDefinitions: [helmreleases.helm.toolkit.fluxcd.io, kustomizations.kustomize.toolkit.fluxcd.io, applications.argoproj.io, ocirepositories.source.toolkit.fluxcd.io, providers.pkg.crossplane.io, compositeresourcedefinitions.apiextensions.crossplane.io, constrainttemplates.templates.gatekeeper.sh, infrastructureproviders.operator.cluster.x-k8s.io, subscriptions.operators.coreos.com]}}
---
apiVersion: furrow.dev/v1alpha1
kind: Cluster
metadata: {name: edge}
spec: {provides: {customResourceDefinitions: [helmreleases.helm.toolkit.fluxcd.io, kustomizations.kustomize.toolkit.fluxcd.io, applications.argoproj.io, ocirepositories.source.toolkit.fluxcd.io, providers.pkg.crossplane.io, compositeresourcedefinitions.apiextensions.crossplane.io, constrainttemplates.templates.gatekeeper.sh, resourcegraphdefinitions.kro.run, subscriptions.operators.coreos.com]}}
`
)

// waitsFor is the edge of cert-manager's Issuer to an object on edge.
func waitsFor(object, how, seed string) []string {
	return []string{"cert-manager.io/Issuer/default/ca on edge waits for " + object + " on edge (provides: kind: Issuer.cert-manager.io (" + how + ") (of seed " + seed + "))"}
}

func TestRuleProvides(t *testing.T) {
	fleet := fluxIsThere
	release := func(spec string) string { return "-- seeds/certs.yaml --\n" + helmRelease + spec + "\n" }
	runRuleCases(t, "provides", map[string]ruleCase{
		"a resource waits for the HelmRelease of a chart that has its kind": {
			tree: fleet + issuer + release("{chart: {spec: {chart: cert-manager}}}"), wantEdges: waitsFor("helm.toolkit.fluxcd.io/HelmRelease/default/certs", "it installs cert-manager", "certs"),
		},
		"also by the source that the HelmRelease names": {
			tree:      fleet + issuer + release("{chartRef: {kind: OCIRepository, name: jetstack}}") + "---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: jetstack, namespace: default}\nspec: {url: \"oci://quay.io/jetstack/charts/cert-manager\"}\n",
			wantEdges: waitsFor("helm.toolkit.fluxcd.io/HelmRelease/default/certs", "it installs cert-manager", "certs"),
		},
		"a chart that does not have the kind does not do": {
			tree: fleet + issuer + release("{chart: {spec: {chart: keda}}}"), wantWarned: []string{"web: cert-manager.io/Issuer/default/ca: MissingDependency cluster=edge"},
		},
		"an installer may install it, which only its author knows": {
			tree: fleet + issuer + release("{chart: {spec: {chart: my-platform}}}"), wantWarned: []string{"web: cert-manager.io/Issuer/default/ca: MissingDependency cluster=edge"},
		},
		"the annotation says what an object installs, and its table does not count": {
			tree:       fleet + issuer + "-- seeds/certs.yaml --\n" + strings.Replace(helmRelease, "namespace: default", "namespace: default, annotations: {furrow.dev/provides: \"keda.sh, acme.cert-manager.io\"}", 1) + "{chart: {spec: {chart: cert-manager}}}\n",
			wantWarned: []string{"web: cert-manager.io/Issuer/default/ca: MissingDependency cluster=edge"},
		},
		"any object may be annotated": {
			tree:      fleet + issuer + "-- seeds/certs.yaml --\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: certs, namespace: default, annotations: {furrow.dev/provides: cert-manager.io}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: crds, namespace: default, annotations: {furrow.dev/provides: Issuer.cert-manager.io}}\n",
			wantEdges: append(waitsFor("core/ConfigMap/default/crds", "furrow.dev/provides", "certs"), waitsFor("kustomize.toolkit.fluxcd.io/Kustomization/default/certs", "furrow.dev/provides", "certs")...),
		},
		"an annotation that names no API is an error": {
			tree:       fleet + "-- seeds/certs.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: crds, namespace: default, annotations: {furrow.dev/provides: \"cert-manager.io, Issuer\"}}\n",
			wantErrors: []string{"certs: core/ConfigMap/default/crds: InvalidDependency field=furrow.dev/provides"},
		},
		"an object that is said to install its own kind alone is an error": {
			tree:       fleet + "-- seeds/certs.yaml --\n" + strings.Replace(helmRelease, "namespace: default", "namespace: default, annotations: {furrow.dev/provides: helm.toolkit.fluxcd.io}", 1) + "{chart: {spec: {chart: a}}}\n",
			wantErrors: []string{"certs: helm.toolkit.fluxcd.io/HelmRelease/default/certs: InvalidDependency field=furrow.dev/provides"},
		},
		"a resource waits for its CustomResourceDefinition and for the package that runs it": {
			tree:      fleet + issuer + release("{chart: {spec: {chart: cert-manager}}}") + "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: issuers.cert-manager.io}\nspec: {group: cert-manager.io, scope: Namespaced, names: {kind: Issuer, plural: issuers}}\n",
			wantEdges: waitsFor("helm.toolkit.fluxcd.io/HelmRelease/default/certs", "it installs cert-manager", "certs"),
		},
		"what installs to another cluster counts there": {
			tree:      fleet + issuer + "-- seeds/certs.yaml --\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: certs, namespace: default, annotations: {furrow.dev/cluster: mgmt}}\nspec: {destination: {name: edge}, sources: [{chart: cert-manager}]}\n---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: own, namespace: default, annotations: {furrow.dev/cluster: mgmt}}\nspec: {destination: {server: \"https://elsewhere\"}, source: {chart: cert-manager}}\n",
			wantEdges: []string{"cert-manager.io/Issuer/default/ca on edge waits for argoproj.io/Application/default/certs on mgmt (provides: kind: Issuer.cert-manager.io (it installs cert-manager) (of seed certs))"},
		},
		"a composite resource waits until its definition is established": {
			tree:      fleet + "-- seeds/db.yaml --\napiVersion: apiextensions.crossplane.io/v1\nkind: CompositeResourceDefinition\nmetadata: {name: xdbs.acme.org}\nspec: {group: acme.org, names: {kind: XDB, plural: xdbs}, claimNames: {kind: DB, plural: dbs}}\n---\napiVersion: acme.org/v1\nkind: DB\nmetadata: {name: a, namespace: default}\n---\napiVersion: acme.org/v1\nkind: XDB\nmetadata: {name: a}\n",
			wantEdges: []string{"acme.org/DB/default/a on edge waits for apiextensions.crossplane.io/CompositeResourceDefinition/xdbs.acme.org on edge (provides: kind: DB.acme.org (it defines the kind))", "acme.org/XDB/a on edge waits for apiextensions.crossplane.io/CompositeResourceDefinition/xdbs.acme.org on edge (provides: kind: XDB.acme.org (it defines the kind))"},
		},
		"a constraint waits for its template, and an instance for its graph": {
			tree:      fleet + "-- seeds/db.yaml --\napiVersion: templates.gatekeeper.sh/v1\nkind: ConstraintTemplate\nmetadata: {name: owner}\nspec: {crd: {spec: {names: {kind: Owner}}}}\n---\napiVersion: constraints.gatekeeper.sh/v1beta1\nkind: Owner\nmetadata: {name: a}\n---\napiVersion: kro.run/v1alpha1\nkind: ResourceGraphDefinition\nmetadata: {name: app}\nspec: {schema: {apiVersion: v1alpha1, kind: App}}\n---\napiVersion: kro.run/v1alpha1\nkind: App\nmetadata: {name: a, namespace: default}\n",
			wantEdges: []string{"constraints.gatekeeper.sh/Owner/a on edge waits for templates.gatekeeper.sh/ConstraintTemplate/owner on edge (provides: kind: Owner.constraints.gatekeeper.sh (it defines the kind))", "kro.run/App/default/a on edge waits for kro.run/ResourceGraphDefinition/app on edge (provides: kind: App.kro.run (it defines the kind))"},
		},
		"providers, subscriptions and Cluster API's operator": {
			tree: fleet + "-- seeds/a.yaml --\napiVersion: pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: s3}\nspec: {package: \"xpkg.upbound.io/upbound/provider-aws-s3:v2\"}\n---\napiVersion: s3.aws.upbound.io/v1beta1\nkind: Bucket\nmetadata: {name: a}\n---\napiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {name: lb, namespace: default}\nspec: {name: metallb-operator}\n---\napiVersion: metallb.io/v1beta1\nkind: IPAddressPool\nmetadata: {name: a, namespace: default}\n---\napiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: InfrastructureProvider\nmetadata: {name: docker, namespace: default}\n---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: DockerMachineTemplate\nmetadata: {name: a, namespace: default}\n",
			wantEdges: []string{
				"infrastructure.cluster.x-k8s.io/DockerMachineTemplate/default/a on mgmt waits for operator.cluster.x-k8s.io/InfrastructureProvider/default/docker on mgmt (provides: kind: DockerMachineTemplate.infrastructure.cluster.x-k8s.io (it installs docker))",
				"metallb.io/IPAddressPool/default/a on edge waits for operators.coreos.com/Subscription/default/lb on edge (provides: kind: IPAddressPool.metallb.io (it installs metallb-operator))",
				"s3.aws.upbound.io/Bucket/a on edge waits for pkg.crossplane.io/Provider/s3 on edge (provides: kind: Bucket.s3.aws.upbound.io (it installs provider-aws-s3))",
			},
		},
		"what an installation needs itself does not wait for it": {
			tree: fleet + strings.Replace(issuer, "namespace: default", "namespace: default, annotations: {x: z}", 1) + "-- seeds/certs.yaml --\n" + strings.Replace(helmRelease, "namespace: default", "namespace: default, annotations: {furrow.dev/depends-on: cert-manager.io/Issuer/default/ca}", 1) + "{chart: {spec: {chart: cert-manager}}}\n",
		},
		"two that install each other's kind have one order": {
			tree:      strings.ReplaceAll(fleet, "helmreleases.helm.toolkit.fluxcd.io, ", "") + "-- seeds/flux.yaml --\n" + helmRelease + "{chart: {spec: {chart: flux2}}}\n---\n" + strings.Replace(helmRelease, "certs", "again", 1) + "{chart: {spec: {chart: flux2}}}\n",
			wantEdges: []string{"helm.toolkit.fluxcd.io/HelmRelease/default/again on edge waits for helm.toolkit.fluxcd.io/HelmRelease/default/certs on edge (provides: kind: HelmRelease.helm.toolkit.fluxcd.io (it installs flux2))"},
		},
		"many objects of a kind that nothing installs are one warning": {
			tree:       fleet + issuer + "---\napiVersion: cert-manager.io/v1\nkind: Issuer\nmetadata: {name: z, namespace: default}\n",
			wantWarned: []string{"web: cert-manager.io/Issuer/default/ca: MissingDependency cluster=edge"},
		},
		"a rule that is switched off draws nothing, and its kinds are not missing": {
			tree: fleet + "-- seeds/web/seed.yaml --\napiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web}\nspec: {disabledRules: [provides]}\n" + strings.Replace(issuer, "web.yaml", "web/web.yaml", 1) + release("{chart: {spec: {chart: cert-manager}}}"),
		},
	})
}

// TestTheHintNamesTheInstallerThatTheKindIsOf: of several installers whose content nobody knows, the first
// by name is as good as any other.
func TestTheHintNamesTheInstallerThatTheKindIsOf(t *testing.T) {
	release := func(name string) string {
		return strings.ReplaceAll(helmRelease, "certs", name) + "{chart: {spec: {chart: unknown-" + name + "}}}\n"
	}
	for sentence, tt := range map[string]struct {
		releases []string
		want     string
	}{
		"one of the same name":   {[]string{"agregarr", "external-dns", "radarr"}, "annotate helm.toolkit.fluxcd.io/HelmRelease/default/external-dns with"},
		"several of other names": {[]string{"agregarr", "radarr"}, "annotate the one of 2 installers"},
		"the only one":           {[]string{"agregarr"}, "annotate helm.toolkit.fluxcd.io/HelmRelease/default/agregarr with"},
		"none":                   {nil, "Add it, or list it in spec.provides"},
	} {
		t.Run(sentence, func(t *testing.T) {
			tree := fluxIsThere + "-- seeds/dns.yaml --\napiVersion: externaldns.k8s.io/v1alpha1\nkind: DNSEndpoint\nmetadata: {name: a, namespace: default}\n"
			for _, name := range tt.releases {
				tree += "---\n" + release(name)
			}
			var hints []string
			for _, f := range graphOf(t, tree).Warnings {
				hints = append(hints, f.Next)
			}
			if len(hints) != 1 || !strings.Contains(hints[0], tt.want) {
				t.Errorf("the hints are %q", hints)
			}
		})
	}
}
