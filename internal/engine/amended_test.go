package engine_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/test/golden"
)

// remembering is a forge that, other than plain Git, knows how merged proposals landed.
type remembering struct {
	forge.Forge
	merges map[string][]forge.Landing // by digest, newest first
}

func (f remembering) Closed(ctx context.Context, refs git.Refs, tier layout.Tier, digest string) (forge.Closed, error) {
	closed, err := f.Forge.Closed(ctx, refs, tier, digest)
	if closed.Outcome == forge.OutcomeMerged {
		closed.Landings = f.merges[digest]
	}
	return closed, err
}

const (
	amendedTier = "edge-1/tier-01"
	amendedFile = "planted/edge-1/edge/tier-01/deployment.web.yaml"
)

// amended is a world in which a person has changed the Deployment in its proposal
// before merging it, and everything is released.
func amended(t *testing.T) *world {
	t.Helper()
	w := amendedAt(t, amendedTier, amendedFile, func(text string) string { return strings.Replace(text, "web:1", "mirror/web:1", 1) })
	if !w.report.Done() {
		t.Fatalf("not planted:\n%s", w.describe())
	}
	return w
}

// amendedAt is a world in which a person has edited a file in a tier's proposal before
// merging it, and everything else was merged until there was nothing more to merge.
func amendedAt(t *testing.T, tier, file string, edit func(string) string) *world {
	t.Helper()
	w, _ := amendedWith(t, tier, file, edit)
	return w
}

// amendedWith also gives what the forge knows of merges.
func amendedWith(t *testing.T, tier, file string, edit func(string) string) (*world, map[string][]forge.Landing) {
	t.Helper()
	w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
	merges := map[string][]forge.Landing{}
	w.onForge = func(f forge.Forge) forge.Forge { return remembering{f, merges} }
	w.restart()
	w.control.put("main", "plant", map[string]string{"seeds/edge.yaml": storySeed(1, true)})
	idle := 0
	for range 120 {
		w.pass()
		for _, p := range w.open() {
			if strings.HasSuffix(p.Tiers[0].Tier.String(), "/"+tier) && !p.Edited {
				before := w.file(p.Branch, file)
				w.gitops.put(p.Branch, "Change what was proposed", map[string]string{file: edit(before)})
				if w.file(p.Branch, file) == before {
					t.Fatalf("%s is as it was:\n%s", file, before)
				}
				continue
			}
			w.merge(p)
			refs, _ := w.gitops.Fetch(t.Context(), "main")
			page := fmt.Sprintf("https://forge.example.com/pulls/%d", len(merges)+1)
			merges[p.Digest] = append([]forge.Landing{{Merge: refs["main"], URL: page}}, merges[p.Digest]...)
		}
		w.tick()
		if idle++; w.report.Changed || len(w.report.Seeds) == 0 {
			idle = 0
		}
		if idle > 20 {
			return w, merges
		}
	}
	t.Fatalf("it goes on and on:\n%s", w.describe())
	return nil, nil
}

// file is what a branch has at a path.
func (w *world) file(branch, at string) string {
	w.t.Helper()
	text, there := w.fileIn(branch, at)
	if !there {
		w.t.Fatalf("branch %s has no %s", branch, at)
	}
	return text
}

func (w *world) fileIn(branch, at string) (text string, there bool) {
	w.gitops.mu.Lock()
	defer w.gitops.mu.Unlock()
	hash, there := w.gitops.trees[w.gitops.commits[w.gitops.refs[branch]].Tree][at]
	return string(w.gitops.blobs[hash]), there
}

func (w *world) amendment() string {
	seed, _ := w.report.Seed("edge")
	for _, t := range seed.Tiers {
		if t.Cluster == "edge-1" && t.Ordinal == 1 {
			return t.Amended
		}
	}
	return ""
}

func TestWhatAPersonAmendsIsReleasedAndShown(t *testing.T) {
	w := amended(t)
	w.mustBe(amendedTier, "Released (Healthy)")
	golden.Of(t).Add("the amendment", w.amendment())
	w.rounds(5)
	if w.report.Changed || len(w.open()) != 0 || w.amendment() == "" {
		t.Errorf("nothing must be done about an amended tier:\n%s", w.describe())
	}
	w.check()
}

// TestTheProposalThatAPersonEditedIsNamed: a person's edit can land twice, for example
// because base was moved back and another proposal brought it again. Then the proposal that
// landed last, according to the forge, is not the one that was edited.
func TestTheProposalThatAPersonEditedIsNamed(t *testing.T) {
	w, merges := amendedWith(t, amendedTier, amendedFile, func(text string) string { return strings.Replace(text, "web:1", "mirror/web:1", 1) })
	refs, err := w.gitops.Fetch(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	p := w.planOf(refs, "edge")
	tier, _ := p.Find("edge-1", 1)
	edited := merges[tier.Digest()][0].URL
	again := forge.Landing{Merge: refs["main"], URL: "https://forge.example.com/pulls/again"}
	merges[tier.Digest()] = append([]forge.Landing{again}, merges[tier.Digest()]...)
	w.pass()
	if got := w.amendment(); !strings.Contains(got, edited) || strings.Contains(got, again.URL) {
		t.Errorf("the amendment is %q, want that of %s", got, edited)
	}
	// What landed with another content in between is not what base has.
	merges[tier.Digest()] = append([]forge.Landing{again, {Merge: w.first(), URL: "https://forge.example.com/pulls/46"}}, merges[tier.Digest()][1:]...)
	w.pass()
	if got := w.amendment(); !strings.Contains(got, again.URL) || strings.Contains(got, edited) {
		t.Errorf("the amendment is %q, want that of %s", got, again.URL)
	}
}

func TestAnUpdateReplacesWhatAPersonAmended(t *testing.T) {
	w := amended(t)
	w.control.put("main", "update", map[string]string{"seeds/edge.yaml": storySeed(2, true)})
	if !w.converge(60) {
		t.Fatalf("not updated:\n%s", w.describe())
	}
	if got := w.file("main", amendedFile); !strings.Contains(got, "web:2") || w.amendment() != "" {
		t.Errorf("base has %s\namended: %q", got, w.amendment())
	}
	w.check()
}

func TestAnAmendedTierCanBeRemoved(t *testing.T) {
	w := amended(t)
	w.control.put("main", "remove", map[string]string{"seeds/edge.yaml": ""})
	if !w.converge(60) {
		t.Fatalf("not removed:\n%s", w.describe())
	}
	w.check()
}

func TestRetryProposesThePlanOverWhatAPersonAmended(t *testing.T) {
	w := amended(t)
	if err := w.engine.Retry(t.Context(), "edge"); err != nil {
		t.Fatal(err)
	}
	if !w.converge(60) {
		t.Fatalf("not converged:\n%s", w.describe())
	}
	if got := w.file("main", amendedFile); strings.Contains(got, "mirror/") || w.amendment() != "" {
		t.Errorf("base has %s\namended: %q", got, w.amendment())
	}
}

func TestWhatAPersonChangesOnBaseAfterAnAmendmentIsForeign(t *testing.T) {
	w := amended(t)
	w.gitops.put("main", "meddle", map[string]string{amendedFile: strings.Replace(w.file("main", amendedFile), "mirror", "other", 1)})
	w.rounds(5)
	w.mustBe(amendedTier, "Held (ForeignContent) foreign="+amendedFile)
	if w.amendment() != "" {
		t.Errorf("the tier is amended: %q", w.amendment())
	}
}

// What a person does to a reconciler object can take away what its health says of the tier.
func TestAnAmendedReconcilerMustStillReportItsTier(t *testing.T) {
	const tier, file = "edge-1/tier-00", "clusters/mgmt/furrow/edge/edge-1/tier-00.yaml"
	tests := map[string]struct {
		edit func(string) string
		want string
	}{
		"a longer timeout does no harm": {func(text string) string { return strings.Replace(text, "timeout: 5m", "timeout: 9m", 1) }, "Released"},
		"it waits for nothing":          {func(text string) string { return strings.Replace(text, "wait: true", "wait: false", 1) }, "Merged (ReconcilerEdited) on=mgmt"},
		"it reads another directory":    {func(text string) string { return strings.Replace(text, "tier-00\n", "tier-01\n", 1) }, "Merged (ReconcilerEdited) on=mgmt"},
		"it acts on the hub itself": {func(text string) string {
			return regexp.MustCompile(`  kubeConfig:\n(    .*\n)+`).ReplaceAllString(text, "")
		}, "Merged (ReconcilerEdited) on=mgmt"},
	}
	texts := golden.Of(t)
	for sentence, tc := range tests {
		t.Run(sentence, func(t *testing.T) {
			w := amendedAt(t, tier, file, tc.edit)
			w.mustBe(tier, tc.want)
			if tc.want == "Released" {
				return
			}
			texts.Add(sentence, w.tier(tier).Message)
			w.mustBe("edge-1/tier-01", "Blocked")
			if err := w.engine.Retry(t.Context(), "edge"); err != nil {
				t.Fatal(err)
			}
			if !w.converge(60) {
				t.Fatalf("not converged:\n%s", w.describe())
			}
		})
	}
}

// busy is a forge that asks to wait when it is asked for closed proposals.
type busy struct {
	forge.Forge
	asked *int
}

func (f busy) Closed(context.Context, git.Refs, layout.Tier, string) (forge.Closed, error) {
	*f.asked++
	return forge.Closed{}, &forge.Error{Op: "list closed pull requests", Repository: "memory", Kind: forge.FailedNetwork, Text: "the server asks to wait", Wait: time.Minute}
}

func TestAServerThatAsksToWaitIsNotAskedForEveryAmendment(t *testing.T) {
	w := amended(t)
	config := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: default, annotations: {furrow.dev/cluster: site-0}}\n"
	w.control.put("main", "plant more", map[string]string{"seeds/more.yaml": config})
	if !w.converge(60) {
		t.Fatalf("not planted:\n%s", w.describe())
	}
	w.gitops.put("main", "meddle", map[string]string{"planted/site-0/more/tier-00/theirs.yaml": config})
	asked := 0
	w.onForge = func(f forge.Forge) forge.Forge { return busy{f, &asked} }
	w.restart()
	w.pass()
	w.pass()
	if asked != 1 {
		t.Errorf("it was asked %d times within the minute", asked)
	}
}
