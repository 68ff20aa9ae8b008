package template_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/template"
	"github.com/furrow-dev/furrow/templates"
	"github.com/furrow-dev/furrow/test/golden"
)

func proposal() template.Proposal {
	return template.Proposal{
		Verb: "Plant", Seed: "web", Cluster: "edge", Tier: "01", TierCount: 2, Clusters: []string{"edge"}, ReconciledBy: "Flux on edge",
		HowToReject: "Close this pull request.", From: "seeds/web.yaml", Revision: "main@sha1:0123", Branch: "furrow/main/tier/web/edge/01", Name: "web/edge/01",
	}
}

// changes are those of a proposal of one tier.
func changes(summary string, objects ...template.Change) []template.Changes {
	return []template.Changes{{Summary: summary, Objects: objects}}
}

func added(id string) template.Change {
	return template.Change{What: "added", Object: template.Code("core/" + id), Count: 1}
}

func TestDefaultProposal(t *testing.T) {
	cases := map[string]func(*template.Proposal){
		"a first planting": func(p *template.Proposal) {
			p.Changes = changes("2 added", added("ConfigMap/shop/c"), added("Deployment/shop/a"))
			p.Before = []template.Step{{Tier: "edge tier 00", Why: template.Code("core/ConfigMap/shop/c waits for core/Namespace/shop")}}
			p.Next = []template.Step{{Tier: "edge tier 02", Why: template.Code("core/Job/shop/j waits for apps/Deployment/shop/a")}}
		},
		"an update": func(p *template.Proposal) {
			p.Verb, p.Unchanged, p.Page, p.Amends = "Update", 1, true, true
			p.Commit = template.Commit{ID: "0123456789", Subject: template.Code("Scale web (closes #1)"), Author: template.Code("Ada"), URL: "https://git.example.com/cp/commit/0123456789"}
			p.Changes = changes("1 added, 1 changed, 1 removed, 57 unchanged",
				template.Change{What: "removed", Object: "`core/Namespace/old`", Count: 1, Destroys: "everything in the namespace"},
				template.Change{What: "changed", Object: "`apps/Deployment/shop/a`", Count: 1, More: 2, Fields: []template.Field{
					{Path: "`replicas`", Was: "`3`", Is: "`5`"}, {Path: "`containers[web].image`", Was: "`web:1.0.0`", Is: "`web:1.1.0`"}, {Path: "`paused`", Is: "`true`"}, {Path: "`data.x`", Was: "`1`"},
				}},
				template.Change{What: "changed", Object: "`core/Secret/shop/s`", Count: 1, Note: "its values are secret and not shown"}, added("ConfigMap/shop/c"))
			p.Changes[0].More = 3
			p.Destroys = []string{"`core/Namespace/old`, and everything in the namespace"}
			p.Rollout = template.Rollout{Clusters: 20, Done: 3, Open: 2, Failed: []string{"west"}, FailedCount: 1, Waves: []template.Wave{{Progress: "wave canary: 2 of 2 clusters done", State: "Complete"}, {Progress: "wave rest: 1 of 18 clusters done", State: "Waiting", Why: "`waits for its window`"}}}
			p.Graph = "graph LR\n  t0[\"edge tier 00\"]\n"
		},
		"an update of many objects of a kind": func(p *template.Proposal) {
			p.Verb = "Update"
			p.Changes = changes("60 added", template.Change{What: "added", Object: "ConfigMap", Count: 60, Note: "`a`, `b`, and 58 more"})
		},
		"an update from which objects leave later": func(p *template.Proposal) {
			p.Verb, p.Leaving = "Update", []string{template.Code("core/ConfigMap/shop/old")}
		},
		"an update with which an object moves to another tier": func(p *template.Proposal) {
			p.Verb, p.Moves = "Update", []string{template.Code("core/ConfigMap/shop/b moves from tier 01 to tier 02, release 2 of 3: it goes to the other tier, with the annotation")}
			p.Changes = changes("1 moved", template.Change{What: "moved", Object: "`core/ConfigMap/shop/b`", Count: 1, Note: "to tier 02"})
		},
		"an update over files of others": func(p *template.Proposal) {
			p.Verb = "Update"
			p.Deletes, p.Replaces = []string{"`planted/edge/web/tier-01/mine.yaml`"}, []string{"`planted/edge/web/tier-01/configmap.c.yaml`"}
		},
		"an update that must not be merged yet": func(p *template.Proposal) {
			p.Verb, p.Shut = "Update", "waits for edge tier 00 (Failed): core/ConfigMap/shop/c waits for core/Namespace/shop"
			p.Before = []template.Step{{Tier: "edge tier 00", Why: "core/ConfigMap/shop/c waits for core/Namespace/shop"}}
		},
		"a removal": func(p *template.Proposal) {
			p.Verb, p.Removal, p.SeedGone = "Remove", true, true
			p.Changes = changes("1 removed", template.Change{What: "removed", Object: "`core/ConfigMap/shop/c`", Count: 1})
			p.Before = []template.Step{{Tier: "edge tier 02", Why: "`core/Job/shop/j waits for apps/Deployment/shop/a`"}}
			p.Next = []template.Step{{Tier: "edge tier 00", Why: "`core/ConfigMap/shop/c waits for core/Namespace/shop`"}}
		},
		"an orphaning": func(p *template.Proposal) {
			p.Verb, p.Abandoned, p.ReconciledBy = "Orphan", true, "Flux on hub"
		},
		"several tiers": func(p *template.Proposal) {
			p.Cluster, p.Tier, p.TierCount, p.ReconciledBy = "east, north, west", "00", 3, "Flux"
			for _, cluster := range []string{"east", "north", "west"} {
				p.Members = append(p.Members, template.Member{Verb: "Plant", Cluster: cluster, Tier: "00", ReconciledBy: "Flux on " + cluster})
			}
			p.Changes = append(changes("2 added", added("ConfigMap/shop/c"), added("Deployment/shop/a")), changes("1 added", added("ConfigMap/shop/c"))...)
			p.Changes[0].Tiers, p.Changes[1].Tiers = []string{"east tier 00", "west tier 00"}, []string{"north tier 00"}
			p.Name = "web/level-00"
			p.Branch = "furrow/main/group/web/level-00"
		},
		"a removal of several tiers": func(p *template.Proposal) {
			p.Verb, p.Removal, p.Cluster, p.Tier, p.TierCount = "Remove", true, "east, west", "00, 01", 2
			p.Members = []template.Member{{Verb: "Remove", Cluster: "east", Tier: "01", ReconciledBy: "Flux on east"}, {Verb: "Remove", Cluster: "west", Tier: "00", ReconciledBy: "Flux on hub", Abandoned: true}}
			p.Branch = "furrow/main/group/web/remove-seed"
		},
		"a removal from an abandoned cluster": func(p *template.Proposal) {
			p.Verb, p.Removal, p.Abandoned, p.ReconciledBy = "Remove", true, true, "Flux on hub"
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			vars := proposal()
			change(&vars)
			title, body, err := template.RenderProposal(template.Text{Name: "proposal.md.tmpl", Text: templates.Proposal}, vars)
			if err != nil {
				t.Fatal(err)
			}
			golden.File(t, strings.ReplaceAll(name, " ", "-")+".md", []byte(title+"\n\n"+body))
		})
	}
}

func TestTitleAndBody(t *testing.T) {
	cases := map[string]struct {
		text, wantTitle, wantBody string
		wantError                 v1alpha1.Reason
	}{
		"the first line is the title":  {text: "{{ .Verb }} {{ .Seed }} \n\nbody\n\n", wantTitle: "Plant web", wantBody: "body\n"},
		"empty lines before it do not": {text: "\n\ntitle\nbody", wantTitle: "title", wantBody: "body\n"},
		"a title needs no body":        {text: "title", wantTitle: "title", wantBody: "\n"},
		"a title must be there":        {text: " \n body", wantError: v1alpha1.ReasonInvalidTemplate},
		"a title can be 200 bytes":     {text: strings.Repeat("t", 200), wantTitle: strings.Repeat("t", 200), wantBody: "\n"},
		"a title must not be longer":   {text: strings.Repeat("t", 201), wantError: v1alpha1.ReasonInvalidTemplate},
	}
	texts := golden.Of(t)
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			title, body, err := template.RenderProposal(template.Text{Name: "t", Text: c.text}, proposal())
			if err != nil {
				texts.Add(sentence, err.Error())
			}
			if diff := cmp.Diff([]string{c.wantTitle, c.wantBody, string(c.wantError)}, []string{title, body, string(manifest.ReasonOf(err))}); diff != "" {
				t.Errorf("title, body and error differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLabelsThatAreTooLongStayDistinct(t *testing.T) {
	vars := proposal()
	long := strings.Repeat("n", 60)
	vars.Clusters = []string{"east", long + "-01", long + "-02"}
	labels, err := template.RenderLabels(template.Text{Name: "labels.txt.tmpl", Text: templates.Labels}, vars)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"furrow", "furrow/plant", "furrow/seed/web", "furrow/cluster/east", "furrow/cluster/" + strings.Repeat("n", 26) + "-4dbec3d6", "furrow/cluster/" + strings.Repeat("n", 26) + "-5f89c184"}
	if diff := cmp.Diff(want, labels); diff != "" {
		t.Errorf("the labels (-want +got):\n%s", diff)
	}
}

// TestAProposalOfManyTiersFitsIntoAPullRequest: forges accept 64 KiB, and the lines that name the tiers need a part
// of that.
func TestAProposalOfManyTiersFitsIntoAPullRequest(t *testing.T) {
	vars := proposal()
	name := strings.Repeat("n", 63)
	for range 200 {
		vars.Members = append(vars.Members, template.Member{Verb: "Plant", Cluster: name, Tier: "00", ReconciledBy: "Flux on " + name})
		vars.Leaving = append(vars.Leaving, template.Code(strings.Repeat("o", 500)))
	}
	vars.Cluster, vars.TierCount = "200 clusters", 200
	title, body, err := template.RenderProposal(template.Text{Name: "proposal.md.tmpl", Text: templates.Proposal}, vars)
	if err != nil || title != "Plant web on 200 clusters, 200 tiers" {
		t.Fatalf("got %q, %v", title, err)
	}
	if len(body) > 20_100 {
		t.Errorf("it has %d bytes: %s", len(body), body)
	}
	lines := strings.Split(strings.TrimSpace(body), "\n")
	texts := golden.Of(t)
	texts.Add("the end", lines[len(lines)-1])
	for i, line := range lines {
		if strings.HasPrefix(line, "|") && !strings.HasPrefix(lines[i+1], "|") {
			texts.Add("the end of the table", line)
		}
	}
}
