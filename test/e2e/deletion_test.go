package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	sdk "code.gitea.io/sdk/gitea"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// The tiers of the seeds whose Seeds are deleted, each in a different way.
const (
	rack0, rack1 = "rack/mgmt/00", "rack/mgmt/01"
	shelf0       = "shelf/mgmt/00"
	lamp0        = "lamp/mgmt/00"
)

// oneObject is a seed of one object on the management cluster.
func (s *story) oneObject(name string) string {
	return strings.ReplaceAll(fmt.Sprintf(note, s.namespace), "name: note", "name: "+name)
}

func TestSeedsComeAndGoAsResources(t *testing.T) {
	t.Parallel()
	s := newStory(t, "deletion", throughController)
	s.step("a Seed that cannot be planted reports why", s.reportsWhatIsMissing)
	s.step("a Seed that is suspended is proposed when it is resumed", s.isSuspended)
	s.step("kubectl furrow shows it, and makes requests for people", s.usesThePlugin)
	s.step("a Seed that orphans is deleted at once, and its objects remain", s.orphans)
	s.step("a Seed that cannot be removed in time is deleted, and its objects remain", s.runsOutOfTime)
	s.step("a Seed remains until its objects are removed, in reverse order", s.waitsForRemoval)
}

func (s *story) reportsWhatIsMissing() {
	s.commit("Add the furniture", s.fleet(), files{
		"seeds/rack.yaml": fmt.Sprintf(appSeed, s.namespace+"-app", "oak"), "seeds/shelf.yaml": s.oneObject("shelf"), "seeds/lamp.yaml": s.oneObject("lamp"),
	})
	s.applySeed("rack", "  suspend: true\n")
	s.applySeed("ghost", "")
	s.apply(fmt.Sprintf(`apiVersion: furrow.dev/v1alpha1
kind: Seed
metadata: {name: stray, namespace: %s}
spec: {source: {url: %q, credentials: control-plane}}
`, s.namespace, s.wire.through(s.world.gitea.URL, s.controlPlane.url)+"-that-is-not-there"))
	s.run()
	s.shows(
		`seed ghost False Stalled main@sha1: … has no seed "ghost". Commit its package below seeds/, or delete this Seed`,
		"seed stray Unknown … ", "seed shelf False Proposed 0/1 1 review of http://",
	)
	for _, seed := range []string{"ghost", "stray"} {
		is, err := s.seedResource(seed)
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Logf("%s waits for: %s", seed, is.Status.WaitingFor)
		if is.Status.WaitingFor == "" {
			s.t.Errorf("Seed %s does not report what it waits for", seed)
		}
	}
	s.kubectl("delete", "seeds", "ghost", "stray", "--timeout=60s")
}

func (s *story) isSuspended() {
	s.release(shelf0, sdk.MergeStyleSquash)
	s.release(lamp0, sdk.MergeStyleSquash)
	s.shows("seed rack False Queued 0/2 … suspend", "planting rack.mgmt rack mgmt False 0/2 00 Queued … suspend")
	s.passes(2)
	s.mustNotOpen(rack0, rack1)
	s.plugin("resume", "rack")
	s.release(rack0, sdk.MergeStyleSquash)
	s.release(rack1, sdk.MergeStyleSquash)
	s.shows("seed rack True Released 2/2", "planting rack.mgmt rack mgmt True 2/2")
}

// usesThePlugin shows with kubectl furrow what is planted, and what a branch would change.
func (s *story) usesThePlugin() {
	app := s.namespace + "-app"
	mustHave(s.t, s.plugin("status", "rack"), "rack", "Released", "mgmt tier 01")
	mustHave(s.t, s.plugin("explain", "ConfigMap/"+app+"/app"), "of seed rack, from seeds/rack.yaml", "on mgmt", "core/Namespace/"+app, "mgmt tier 01: Released")
	mustHave(s.t, s.plugin("plan", "rack"), "core/ConfigMap/"+app+"/app")
	if _, err := s.controlPlane.git("push", "--quiet", "origin", "origin/main:refs/heads/more"); err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.controlPlane.commit("more", "Elm", files{"seeds/rack.yaml": fmt.Sprintf(appSeed, app, "elm")}); err != nil {
		s.t.Fatal(err)
	}
	mustHave(s.t, s.plugin("plan", "rack", "--ref", "more"), "1 tier to change", "~ mgmt tier 01")
	s.plugin("suspend", "rack")
	mustHave(s.t, s.kubectl("get", "seed", "rack", "--output", "jsonpath={.spec.suspend}"), "true")
	s.plugin("resume", "rack")
	mustHave(s.t, s.plugin("abandon", "mgmt", "--yes", "--timeout", limit.String()), "The controller has acted on the")
	mustHave(s.t, s.plugin("abandon", "mgmt", "--undo", "--timeout", limit.String()), "The controller has acted on the")
	s.shows("seed rack True Released 2/2")
}

// awaitSeedGone waits until a Seed and its Plantings are deleted.
func (s *story) awaitSeedGone(name string) {
	s.t.Helper()
	s.eventually(limit, "Seed "+name+" is gone with its Plantings", func() (bool, string) {
		output, err := s.printed()
		return err == nil && !strings.Contains(output, "seed "+name+" ") && !strings.Contains(output, "planting "+name+"."), output
	})
}

// mustStay fails if the object of a seed of one object is gone.
func (s *story) mustStay(name string) {
	s.t.Helper()
	s.passes(3)
	if err := s.gitops.fetch(); err != nil {
		s.t.Fatal(err)
	}
	if s.gitops.object("origin/main", "planted/mgmt/"+name) == "" {
		s.t.Errorf("the base branch does not have %s any more", name)
	}
	if err := s.world.mgmt.Client().Get(s.t.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, &corev1.ConfigMap{}); err != nil {
		s.t.Error(err)
	}
}

func (s *story) orphans() {
	s.applySeed("shelf", "  deletionPolicy: Orphan\n")
	s.kubectl("delete", "seed", "shelf", "--timeout=60s")
	s.awaitSeedGone("shelf")
	s.mustStay("shelf")
	s.mustNotOpen(shelf0)
}

func (s *story) runsOutOfTime() {
	const timeout = 8 * time.Second
	s.applySeed("lamp", fmt.Sprintf("  deletionTimeout: %s\n", timeout))
	began := time.Now()
	s.kubectl("delete", "seed", "lamp", "--wait=false")
	s.awaitPull(lamp0)
	s.awaitSeedGone("lamp")
	if took := time.Since(began); took < timeout-time.Second { // deletionTimestamp has no fractions
		s.t.Errorf("it went after %s", took)
	}
	s.mustStay("lamp")
}

func (s *story) waitsForRemoval() {
	s.kubectl("delete", "seed", "rack", "--wait=false")
	s.confirmRemoval("rack")
	pull := s.awaitPull(rack1)
	s.shows("seed rack False Proposed 0/2 1 review of http://", "planting rack.mgmt rack mgmt False 0/2 01 Proposed review of http://")
	s.mustNotOpen(rack0)
	s.merge(pull, sdk.MergeStyleSquash)
	pull = s.awaitPull(rack0)
	is, err := s.seedResource("rack")
	if err != nil || len(is.Finalizers) == 0 || is.Finalizers[0] != v1alpha1.Finalizer {
		s.t.Errorf("Seed rack is not held while something of it is planted: %v %v", is.Finalizers, err)
	}
	s.shows("seed rack False Proposed 1/2 1 review of http://")
	s.merge(pull, sdk.MergeStyleSquash)
	s.awaitSeedGone("rack")
	s.eventually(limit, "the app's namespace is gone", func() (bool, string) {
		err := s.world.mgmt.Client().Get(s.t.Context(), client.ObjectKey{Name: s.namespace + "-app"}, &corev1.Namespace{})
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
}
