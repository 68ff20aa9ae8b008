package inventory

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/controllers/condition"
	"github.com/furrow-dev/furrow/controllers/fleet"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/engine"
)

func TestAResourceIsShownAsThePassesFoundIt(t *testing.T) {
	at := manifest.Source{File: "GitOpsRepo resource fleet/gitops"}
	wrong := manifest.Problems{{Source: at, Message: "spec.url is missing"}}
	post := func(change func(*fleet.Post)) []fleet.Post {
		p := fleet.Post{Catalog: &catalog.Catalog{}, Repos: map[string]engine.RepoReport{"gitops": {Proposals: 2}}}
		change(&p)
		return []fleet.Post{p}
	}
	tests := map[string]struct {
		look look
		want map[string]string // reason of each condition, with the status that it has
	}{
		"one that is in force": {
			look{posts: post(func(*fleet.Post) {})},
			map[string]string{"Accepted": "True Succeeded", "Reachable": "True Succeeded", "Ready": "True Succeeded"},
		},
		"one that no pass has read is valid by itself": {
			look{alone: &catalog.Catalog{}},
			map[string]string{"Accepted": "True Unused", "Ready": "True Unused"},
		},
		"one that no pass has read and that is wrong": {
			look{alone: &catalog.Catalog{Problems: wrong}},
			map[string]string{"Accepted": "False Invalid", "Ready": "False Invalid", "Stalled": "True Invalid"},
		},
		"one that a pass found wrong": {
			look{posts: post(func(p *fleet.Post) { p.Catalog.Problems = wrong })},
			map[string]string{"Accepted": "False Invalid", "Ready": "False Invalid", "Stalled": "True Invalid"},
		},
		"one that the tree declares otherwise": {
			look{posts: post(func(p *fleet.Post) {
				p.Catalog.Overridden = map[manifest.Source]manifest.Source{at: {File: "fleet.yaml", Line: 3}}
			})},
			map[string]string{"Accepted": "False Overridden", "Ready": "False Overridden", "Stalled": "True Overridden"},
		},
		"one whose server does not answer": {
			look{posts: post(func(p *fleet.Post) { p.Repos["gitops"] = engine.RepoReport{Err: errors.New("no answer")} })},
			map[string]string{"Accepted": "True Succeeded", "Reachable": "False Unreachable", "Ready": "False Unreachable", "Reconciling": "True Unreachable"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := &v1alpha1.GitOpsRepo{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: "gitops", Generation: 4}}
			showGitOpsRepo(r, tc.look, condition.Of(&r.Status.CommonStatus, r.Generation, time.Unix(0, 0)))
			got := map[string]string{}
			for _, c := range r.Status.Conditions {
				got[c.Type] = string(c.Status) + " " + c.Reason
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if r.Status.ObservedGeneration != 4 {
				t.Errorf("the generation is %d", r.Status.ObservedGeneration)
			}
		})
	}
}
