package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "code.gitea.io/sdk/gitea"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lantern0 is the tier of a seed of one custom resource, lanternSeed.
const lantern0 = "lantern/mgmt/00"

const lanternSeed = `apiVersion: NAMESPACE.example.com/v1
kind: Lantern
metadata:
  name: lantern
  namespace: NAMESPACE
  annotations: {furrow.dev/cluster: mgmt}
spec: {light: green}
`

const lanternCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lanterns.NAMESPACE.example.com}
spec:
  group: NAMESPACE.example.com
  scope: Namespaced
  names: {kind: Lantern, listKind: LanternList, plural: lanterns, singular: lantern}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

// The fleet declares a kind that the cluster does not have, so Flux refuses the custom resource. All other stories fail on
// any refusal; this one proves that the check finds them.
func TestACustomResourceWhoseKindIsDeclaredAndAbsentFails(t *testing.T) {
	t.Parallel()
	s := newStory(t, "absent")
	s.step("it fails, and the checks find what no audit log has", s.failsWithoutItsKind)
	s.step("it is released once the kind exists", s.isReleasedWithItsKind)
}

func (s *story) failsWithoutItsKind() {
	fleet := s.fleet()
	fleet["fleet/mgmt.yaml"] = strings.Replace(fleet["fleet/mgmt.yaml"], "[clusters.cluster.x-k8s.io]",
		"[clusters.cluster.x-k8s.io, lanterns."+s.namespace+".example.com]", 1)
	s.commit("Light a lantern", fleet, files{"seeds/lantern.yaml": strings.ReplaceAll(lanternSeed, "NAMESPACE", s.namespace)})
	s.run()
	s.merge(s.awaitPull(lantern0), sdk.MergeStyleSquash)
	const refused = `no matches for kind "Lantern"`
	if tier := s.awaitState(lantern0, "Failed"); !strings.Contains(tier.Message, refused) {
		s.t.Errorf("the message does not say what failed: %q", tier.Message)
	}
	s.allowOffences("Kustomization "+s.namespace+"/lantern.mgmt.00: ", refused)
}

// allowOffences keeps the offences that contain all texts from failing the story, and fails if there are none.
func (s *story) allowOffences(texts ...string) {
	s.t.Helper()
	offences, err := s.offences()
	if err != nil {
		s.t.Fatal(err)
	}
	allowed := slices.DeleteFunc(slices.Clone(offences), func(offence string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(offence, text) })
	})
	if len(allowed) == 0 {
		s.t.Errorf("the checks did not find it, only %q", offences)
	}
	for _, offence := range allowed {
		s.reported[offence] = true
	}
}

func (s *story) isReleasedWithItsKind() {
	if err := s.world.mgmt.Apply(s.t.Context(), []byte(strings.ReplaceAll(lanternCRD, "NAMESPACE", s.namespace))); err != nil {
		s.t.Fatal(err)
	}
	// Request a reconciliation instead of waiting for the next attempt.
	tier, _ := s.kustomization(s.namespace, "lantern.mgmt.00")
	asks := fmt.Appendf(nil, `{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":%q}}}`, time.Now().Format(time.RFC3339Nano))
	if err := s.world.mgmt.Client().Patch(s.t.Context(), &tier, client.RawPatch("application/merge-patch+json", asks)); err != nil {
		s.t.Fatal(err)
	}
	s.awaitState(lantern0, "Released")
	s.awaitReleased()
}
