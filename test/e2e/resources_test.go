package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "code.gitea.io/sdk/gitea"
)

func TestAFleetMayBeResources(t *testing.T) {
	t.Parallel()
	s := newStory(t, "resources", throughController)
	fleet := s.fleet()
	s.step("a push starts a pass through a watch, without fleet documents in the tree", func() { s.followsPushes(fleet) })
	s.step("equal documents in the tree change nothing", func() { s.saysTheSame(fleet) })
	s.step("a resource that the tree overrides is shown as such", func() { s.isOverridden(fleet) })
}

// followsPushes runs passes every ten minutes; additional passes start only when Flux has fetched or applied something.
func (s *story) followsPushes(fleet files) {
	for _, path := range slices.Sorted(maps.Keys(fleet)) {
		documents := strings.Split(fleet[path], "---\n")
		for i, document := range documents {
			documents[i] = s.asResource(document)
		}
		s.apply(strings.Join(documents, "---\n"))
	}
	s.kubectl("apply", "--filename", "testdata/eager.yaml")
	s.apply(fmt.Sprintf(`apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: control-plane, namespace: %[1]s}
spec: {url: %[2]q, ref: {branch: main}, interval: 1s, secretRef: {name: %[3]s}}
`, s.namespace, s.controlPlane.url, rootName))
	s.controller.source = "{gitRepositoryRef: {name: control-plane}}"
	s.commit("Say hello", files{"seeds/motd.yaml": fmt.Sprintf(oneTier, s.namespace)})
	s.run("--interval", "10m")
	s.release(motd, sdk.MergeStyleMerge)
	s.awaitReleased()
	s.mustSay("hello")
	s.commit("Say goodbye", files{"seeds/motd.yaml": strings.Replace(fmt.Sprintf(oneTier, s.namespace), "hello", "goodbye", 1)})
	began := time.Now()
	s.eventually(limit, "the push is proposed long before the next regular pass", func() (bool, string) { return len(s.pulls(sdk.StateOpen)) > 0, "" })
	if took := time.Since(began); took > time.Minute {
		s.t.Errorf("the push was proposed after %s", took)
	}
	s.release(motd, sdk.MergeStyleSquash)
	s.mustSay("goodbye")
	for _, kind := range []string{"clusters.furrow.dev", "clustertypes", "gitopsrepos", "templates"} {
		output := s.kubectl("get", kind)
		if strings.Contains(output, "False") || !strings.Contains(output, "it is in force") {
			s.t.Errorf("the resources are not in force:\n%s", output)
		}
	}
}

func (s *story) planCommit() string {
	s.t.Helper()
	if err := s.gitops.fetch(); err != nil {
		s.t.Fatal(err)
	}
	return s.gitops.head("furrow/main/plan/motd")
}

func (s *story) saysTheSame(fleet files) {
	before := s.planCommit()
	s.commit("Describe the fleet", fleet)
	s.awaitReleased()
	if after := s.planCommit(); after != before || before == "" {
		s.t.Errorf("the plan went from %s to %s", before, after)
	}
	s.mustNotOpen(motd)
	if output := s.kubectl("get", "clusters.furrow.dev,clustertypes,gitopsrepos"); strings.Contains(output, "False") {
		s.t.Errorf("a resource is not in force:\n%s", output)
	}
}

func (s *story) isOverridden(fleet files) {
	const path = "fleet/mgmt.yaml"
	s.commit("Give the management cluster a label", files{path: strings.Replace(fleet[path], "metadata: {name: mgmt}", "metadata: {name: mgmt, labels: {site: north}}", 1)})
	s.eventually(limit, "the Cluster resource is shown as overridden", func() (bool, string) {
		output, err := s.tryKubectl("get", "clusters.furrow.dev", "mgmt")
		return err == nil && strings.Contains(output, "False") && strings.Contains(output, "declares it differently at "+path), output
	})
	s.t.Logf("people see:\n%s", s.kubectl("get", "clusters.furrow.dev,clustertypes,gitopsrepos"))
	s.shows("seed motd True Released 1/1")
}
