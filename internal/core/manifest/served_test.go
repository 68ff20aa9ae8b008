package manifest

import "testing"

func TestEveryServedGroupIsServed(t *testing.T) {
	if len(servedGroups) < 20 {
		t.Fatalf("only %d groups are served", len(servedGroups))
	}
	for group := range servedGroups {
		if !ServedByKubernetes(GroupKind{Group: group, Kind: "Anything"}) {
			t.Errorf("%q is not served", group)
		}
	}
	if ServedByKubernetes(GroupKind{Group: "gateway.networking.k8s.io", Kind: "Gateway"}) {
		t.Error("the gateway API is served by Kubernetes itself")
	}
}
