package e2e

import (
	"strings"
	"testing"

	sdk "code.gitea.io/sdk/gitea"
)

// kitSeed has objects that wait for a Namespace, a CustomResourceDefinition and a class, and wants few tiers.
const kitSeed = `apiVersion: furrow.dev/v1alpha1
kind: Seed
metadata: {name: kit}
spec: {tiers: Compact}
---
apiVersion: v1
kind: Namespace
metadata: {name: NAMESPACE-kit, annotations: {furrow.dev/cluster: mgmt}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: tools.NAMESPACE.example.com
  annotations: {furrow.dev/cluster: mgmt}
spec:
  group: NAMESPACE.example.com
  scope: Namespaced
  names: {kind: Tool, listKind: ToolList, plural: tools, singular: tool}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
---
apiVersion: NAMESPACE.example.com/v1
kind: Tool
metadata: {name: saw, namespace: NAMESPACE-kit, annotations: {furrow.dev/cluster: mgmt}}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: NAMESPACE-kit, annotations: {furrow.dev/cluster: mgmt}}
value: 10
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: bench
  namespace: NAMESPACE-kit
  annotations: {furrow.dev/cluster: mgmt, furrow.dev/depends-on: scheduling.k8s.io/PriorityClass/NAMESPACE-kit}
`

// Flux applies all of the tier in stages, so nothing is refused; the story's checks fail on any refusal.
func TestOneTierHasWhatTheReconcilerAppliesFirst(t *testing.T) {
	t.Parallel()
	s := newStory(t, "compact")
	s.commit("Pack the kit", s.fleet(), files{"seeds/kit.yaml": strings.ReplaceAll(kitSeed, "NAMESPACE", s.namespace)})
	s.run()
	s.release("kit/mgmt/00", sdk.MergeStyleSquash)
	s.awaitReleased()
	if all := s.pulls(sdk.StateAll); len(all) != 1 {
		t.Errorf("there are several pull requests: %v", pullNames(all))
	}
}
