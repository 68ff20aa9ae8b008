package placement

import "testing"

func namespaceOf(name, annotations string) string {
	return "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + name + ", annotations: {" + annotations + "}}\n"
}

func TestRuleNamespaceAnnotation(t *testing.T) {
	fleet := []string{mgmt, edgeEU, edgeUS}
	content := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: shop}\n"
	const id = "core/ConfigMap/shop/c"
	runPlaceCases(t, map[string]placeCase{
		"an object goes where its Namespace is said to go": {
			clusters: fleet, seed: []string{namespaceOf("shop", "furrow.dev/cluster: edge-us"), content}, of: id,
			want: where{"edge-us", "namespace-annotation"},
		},
		"its own annotation comes first": {
			clusters: fleet, of: id,
			seed: []string{namespaceOf("shop", "furrow.dev/cluster: edge-us"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: shop, annotations: {furrow.dev/cluster: mgmt}}\n"},
			want: where{"mgmt", "annotation"},
		},
		"a Namespace without annotations says nothing": {
			clusters: fleet, seed: []string{namespaceOf("shop", ""), content}, of: id,
			want: where{"edge-eu,edge-us", "selected"},
		},
		"a Namespace that is not in the seed says nothing": {
			clusters: fleet, seed: []string{namespaceOf("store", "furrow.dev/cluster: edge-us"), content}, of: id,
			want: where{"edge-eu,edge-us", "selected"},
		},
		"a wrong annotation of the Namespace is reported once, at the Namespace": {
			clusters: fleet, seed: []string{namespaceOf("shop", "furrow.dev/role: Boss"), content},
			wantError: `seeds/web/web.yaml:1: Namespace "shop": InvalidPlacement field=furrow.dev/role`,
		},
	})
}
