package catalog_test

import (
	"strings"
	"testing"
)

func TestScopesOfKinds(t *testing.T) {
	cluster := func(name, provides string) string {
		return "-- " + name + ".yaml --\napiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: " + name + "}\nspec: {provides: {" + provides + "}}\n"
	}
	const repo = "-- repo.yaml --\napiVersion: furrow.dev/v1alpha1\nkind: GitOpsRepo\nmetadata: {name: fleet}\nspec: {url: \"https://example.com/fleet.git\"}\n"
	settings := "-- seeds/web/seed.yaml --\napiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web}\nspec: {namespace: shop}\n"
	object := func(apiVersion, kind string) string {
		return "-- seeds/web/x.yaml --\napiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: x}\n"
	}
	cases := map[string]struct{ tree, want string }{
		"a kind that nobody knows, in a seed that names a namespace": {cluster("east", "") + settings + object("example.com/v1", "Thing"), "example.com/Thing/shop/x"},
		"a kind that nobody knows, in one that names none":           {cluster("east", "") + object("example.com/v1", "Thing"), "example.com/Thing/x"},
		"a kind, if only the name of its definition is known":        {cluster("east", "customResourceDefinitions: [things.example.com]") + settings + object("example.com/v1", "Thing"), "example.com/Thing/shop/x"},
		"a kind that a cluster says is cluster-scoped":               {cluster("east", "clusterScopedKinds: [Thing.example.com]") + settings + object("example.com/v1", "Thing"), "example.com/Thing/x"},
		"a kind that a cluster says is namespaced":                   {cluster("east", "namespacedKinds: [Thing.example.com]") + settings + object("example.com/v1", "Thing"), "example.com/Thing/shop/x"},
		"a kind that clusters do not agree on":                       {cluster("east", "namespacedKinds: [Thing.example.com]") + cluster("west", "clusterScopedKinds: [Thing.example.com]") + object("example.com/v1", "Thing"), "example.com/Thing/x"},
		"the definition of a seed goes before":                       {cluster("east", "clusterScopedKinds: [Thing.example.com]") + settings + object("example.com/v1", "Thing") + "-- seeds/crd.yaml --\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\nspec: {group: example.com, scope: Namespaced, names: {kind: Thing, plural: things}}\n", "example.com/Thing/shop/x"},
		"a well-known kind of Elastic":                               {cluster("east", "") + settings + object("elasticsearch.k8s.elastic.co/v1", "Elasticsearch"), "elasticsearch.k8s.elastic.co/Elasticsearch/shop/x"},
		"a well-known kind of Crunchy":                               {cluster("east", "") + settings + object("postgres-operator.crunchydata.com/v1beta1", "PostgresCluster"), "postgres-operator.crunchydata.com/PostgresCluster/shop/x"},
		"a package variant of Nephio":                                {cluster("east", "") + settings + object("config.porch.kpt.dev/v1alpha1", "PackageVariant"), "config.porch.kpt.dev/PackageVariant/shop/x"},
		"a policy of Open Cluster Management":                        {cluster("east", "") + settings + object("policy.open-cluster-management.io/v1", "Policy"), "policy.open-cluster-management.io/Policy/shop/x"},
		"the engine of Open Cluster Management has no namespace":     {cluster("east", "") + settings + object("multicluster.openshift.io/v1", "MultiClusterEngine"), "multicluster.openshift.io/MultiClusterEngine/x"},
		"a cluster's policy of Karmada has none":                     {cluster("east", "") + settings + object("policy.karmada.io/v1alpha1", "ClusterPropagationPolicy"), "policy.karmada.io/ClusterPropagationPolicy/x"},
		"a managed resource of Crossplane has none":                  {cluster("east", "") + settings + object("s3.aws.upbound.io/v1beta1", "Bucket"), "s3.aws.upbound.io/Bucket/x"},
		"a managed resource of its second version has one":           {cluster("east", "") + settings + object("s3.aws.m.upbound.io/v1beta1", "Bucket"), "s3.aws.m.upbound.io/Bucket/shop/x"},
		"a claim of somebody's platform is none of these":            {cluster("east", "") + settings + object("aws.platformref.upbound.io/v1alpha1", "Network"), "aws.platformref.upbound.io/Network/shop/x"},
		"a constraint of Gatekeeper has none":                        {cluster("east", "") + settings + object("constraints.gatekeeper.sh/v1beta1", "RequiredLabels"), "constraints.gatekeeper.sh/RequiredLabels/x"},
		"a resource of AWS Controllers for Kubernetes has one":       {cluster("east", "") + settings + object("rds.services.k8s.aws/v1alpha1", "DBInstance"), "rds.services.k8s.aws/DBInstance/shop/x"},
		"its role selector has none, although the others of it do":   {cluster("east", "") + settings + object("services.k8s.aws/v1alpha1", "IAMRoleSelector"), "services.k8s.aws/IAMRoleSelector/x"},
		"a profile of Sveltos for all namespaces has none":           {cluster("east", "") + settings + object("config.projectsveltos.io/v1beta1", "ClusterProfile"), "config.projectsveltos.io/ClusterProfile/x"},
		"a store of Kamaji has none":                                 {cluster("east", "") + settings + object("kamaji.clastix.io/v1alpha1", "DataStore"), "kamaji.clastix.io/DataStore/x"},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			cat := load(t, repo+c.tree)
			if len(cat.Problems) > 0 {
				t.Fatal(cat.Problems)
			}
			seed, _ := cat.Seed("web")
			var ids []string
			for _, o := range seed.Objects() {
				ids = append(ids, o.ID.String())
			}
			if got := strings.Join(ids, " "); got != c.want {
				t.Errorf("the seed has %s, want %s (%v)", got, c.want, seed.Warnings)
			}
		})
	}
}
