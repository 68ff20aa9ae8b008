package e2e

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	sdk "code.gitea.io/sdk/gitea"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/test/servers"
)

// agreed is the name of the two stories, in which the front ends must produce the same proposals.
const agreed = "agree"

// The tiers of the seed in planting order: a chain across a management cluster and an edge cluster that it manages.
const parts0, parts1, parts2, parts3 = "parts/mgmt/00", "parts/mgmt/01", "parts/edge/00", "parts/mgmt/02"

// hubEdge is an edge that the management cluster's Flux reconciles.
const hubEdge = `apiVersion: furrow.dev/v1alpha1
kind: Cluster
metadata: {name: edge, labels: {site: north}}
spec: {reconciledBy: mgmt, type: edge}
`

const partsSeed = `apiVersion: v1
kind: Namespace
metadata:
  name: NAMESPACE-app
  annotations: {furrow.dev/cluster: mgmt}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: wheel
  namespace: NAMESPACE-app
  annotations: {furrow.dev/cluster: mgmt}
data: {size: SIZE}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: axle
  namespace: default
  annotations:
    furrow.dev/cluster: edge
    furrow.dev/depends-on: core/ConfigMap/NAMESPACE-app/wheel
data: {size: SIZE}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: cart
  namespace: NAMESPACE-app
  annotations:
    furrow.dev/cluster: mgmt
    furrow.dev/depends-on: core/ConfigMap/default/axle
data: {size: SIZE}
`

// proposed is what a front end proposed for a tier.
type proposed struct {
	Tier, Title, Body, Labels string
	// Plan, Tree and Base are the trees of the plan, of the proposal, and of the base branch after the merge.
	Plan, Tree, Base string
	// Messages are the commit messages of the proposal. The plan's commit, which depends on the time, is replaced by its tree.
	Messages string
}

// The front ends run one after the other on identical repositories: same names, same commits, same URLs. So the results
// can be compared in full. Only two things differ in texts: each front end names its own commands, and people confirm the
// removal at another time.
func TestFrontEndsAgree(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	wire := newWire(t, w.gitea.URL)
	var made [2][]proposed
	for i, front := range fronts {
		passed := t.Run(front.name, func(t *testing.T) {
			if i < len(fronts)-1 {
				t.Cleanup(func() { w.forget(t, agreed) })
			}
			options := append([]storyOption{onWire(wire), withDates("2026-01-01T12:00:00Z")}, front.options...)
			made[i] = runPartsStory(t, options...)
		})
		if !passed {
			t.FailNow()
		}
	}
	if len(made[0]) != 3*4 {
		t.Errorf("%d pull requests were merged, want planting, update and removal of 4 tiers", len(made[0]))
	}
	if diff := cmp.Diff(made[0], made[1]); diff != "" {
		t.Errorf("furrow controller proposes something else than furrow run (-run +controller):\n%s", diff)
	}
}

// runPartsStory plants, updates and removes the seed, and returns what was proposed.
func runPartsStory(t *testing.T, options ...storyOption) (made []proposed) {
	s := newStory(t, agreed, options...)
	s.attachEdge(t, "edge", 0)
	seed := func(size string) files {
		return files{"seeds/parts.yaml": strings.NewReplacer("NAMESPACE", s.namespace, "SIZE", size).Replace(partsSeed)}
	}
	planted := []string{parts0, parts1, parts2, parts3}
	s.step("the seed is planted", func() {
		s.commit("Plant the parts", s.fleet(), files{"fleet/edge.yaml": hubEdge}, seed("small"))
		s.run()
		for i, tier := range planted {
			made = append(made, s.mergeAndRecord(tier, planted[i+1:]))
		}
	})
	s.step("it is updated", func() {
		another := seed("large")
		another["seeds/parts.yaml"] = strings.Replace(another["seeds/parts.yaml"], "annotations: {furrow.dev/cluster: mgmt}\n---",
			"annotations: {furrow.dev/cluster: mgmt}\n  labels: {size: large}\n---", 1)
		s.commit("Larger parts", another)
		for i, tier := range planted {
			made = append(made, s.mergeAndRecord(tier, planted[i+1:]))
		}
	})
	s.step("it is removed", func() {
		s.commit("Remove the parts", files{"seeds/parts.yaml": ""})
		s.confirmRemoval("parts")
		removed := []string{parts3, parts2, parts1, parts0}
		for i, tier := range removed {
			made = append(made, s.mergeAndRecord(tier, removed[i+1:]))
		}
		s.awaitEmpty()
	})
	return made
}

var confirmedAt = regexp.MustCompile(`on \d{4}-\d\d-\d\d \d\d:\d\d UTC`)

var planLine = regexp.MustCompile(`(?m)^Furrow-Plan: ([0-9a-f]{40})$`)

// mergeAndRecord merges the pull request of a tier and returns what was proposed. The later tiers must not be open.
func (s *story) mergeAndRecord(tier string, later []string) proposed {
	s.t.Helper()
	pull := s.awaitPull(tier)
	s.mustNotOpen(later...)
	if err := s.gitops.fetch(); err != nil {
		s.t.Fatal(err)
	}
	head := "refs/remotes/origin/" + pull.Head.Name
	messages := s.inGitOps("log", "--format=%B", head, "--not", "refs/remotes/origin/main")
	for _, line := range planLine.FindAllStringSubmatch(messages, -1) {
		messages = strings.Replace(messages, line[1], "tree "+s.inGitOps("rev-parse", line[1]+"^{tree}"), 1)
	}
	p := proposed{
		Tier: tier, Title: pull.Title, Body: confirmedAt.ReplaceAllString(strings.ReplaceAll(pull.Body, "`kubectl furrow ", "`furrow "), "on <time>"), Messages: messages, Tree: s.inGitOps("rev-parse", head+"^{tree}"),
		Plan: s.inGitOps("rev-parse", "refs/remotes/origin/furrow/main/plan/parts^{tree}"),
	}
	for _, label := range pull.Labels {
		p.Labels += label.Name + " " + label.Color + " " + label.Description + "\n"
	}
	s.merge(pull, sdk.MergeStyleSquash)
	s.eventually(limit, "the base branch has the merge", func() (bool, string) {
		err := s.gitops.fetch()
		p.Base = s.inGitOps("rev-parse", "refs/remotes/origin/main^{tree}")
		return err == nil && p.Base == p.Tree, fmt.Sprint(p.Base, " ", err)
	})
	return p
}

// inGitOps runs git in the clone of the GitOps repository.
func (s *story) inGitOps(args ...string) string {
	s.t.Helper()
	output, err := s.gitops.git(args...)
	if err != nil {
		s.t.Fatal(err)
	}
	return output
}

// forget deletes what a finished story left in Gitea and on the management cluster, so another story can use its
// name.
func (w *world) forget(t *testing.T, name string) {
	t.Helper()
	admin, err := account{w.gitea.AdminUser, w.gitea.AdminToken}.client(w.gitea.URL)
	if err != nil {
		t.Fatal(err)
	}
	var errs []error
	for _, repository := range []string{"control-plane", "gitops"} {
		_, err := admin.DeleteRepo("org-"+name, repository)
		errs = append(errs, err)
	}
	_, err = admin.DeleteOrg("org-" + name)
	errs = append(errs, err)
	for _, role := range []string{"person", "furrow", "flux"} {
		_, err := admin.AdminDeleteUser(role + "-" + name)
		errs = append(errs, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for _, namespace := range []string{"story-" + name + "-app", "story-" + name} {
		object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		errs = append(errs, client.IgnoreNotFound(w.mgmt.Client().Delete(ctx, object)))
		errs = append(errs, servers.Until(ctx, namespace+" is gone", func(ctx context.Context) error {
			if err := w.mgmt.Client().Get(ctx, client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
				return fmt.Errorf("it still exists (%w)", errors.Join(err, errors.New(string(object.Status.Phase))))
			}
			return nil
		}))
	}
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}
