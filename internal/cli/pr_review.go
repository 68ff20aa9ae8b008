package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/core/change"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/core/review"
	"github.com/furrow-dev/furrow/internal/core/template"
	"github.com/furrow-dev/furrow/templates"
)

// reviewed is a proposal as Git has it now, with what a reviewer needs to know of it. A pull request
// says the same as it was when it was written; a branch on plain Git says it nowhere else.
type reviewed struct {
	located
	plan  *plan.Plan
	tiers []review.Tier
	// retried is who asked to propose it again; nil where nobody did.
	retried *release.Request
	// sides are the files that it changes, as base and the branch have them.
	was, is map[string]controlplane.File
	// comparer compares them, by the definitions in the plans that the repository has.
	comparer    change.Comparer
	definitions *plan.Definitions
}

// readReview reads what a proposal changes. The plan is nil where the repository has no such plan
// any more, as for what is not Furrow's.
func readReview(ctx context.Context, l located) (*reviewed, error) {
	r := &reviewed{located: l, plan: l.repo.PlanOf(ctx, l.refs, l.proposal.Seed)}
	if r.plan == nil || l.proposal.Base.IsZero() {
		r.plan = nil
		return r, nil
	}
	var tiers []*plan.Tier
	var paths []string
	for _, m := range l.proposal.Tiers {
		if t, ok := r.plan.Find(m.Tier.Cluster, m.Tier.Ordinal); ok {
			if t.Orphan != nil {
				if orphaning := t.Orphaning(); orphaning.Digest() == m.Digest { // it goes only after that
					t = &orphaning
				}
			}
			tiers = append(tiers, t)
			paths = append(paths, t.Paths()...)
		}
	}
	if len(tiers) == 0 {
		r.plan = nil
		return r, nil
	}
	var err error
	r.retried = l.repo.RetryOf(ctx, l.refs, r.plan)
	if r.was, r.is, err = l.repo.Files(ctx, l.proposal.Base, l.proposal.Head, paths); err != nil {
		return nil, err
	}
	plans := map[string]*plan.Plan{r.plan.Seed: r.plan}
	for _, seed := range r.plan.DefiningSeeds() {
		plans[seed] = l.repo.PlanOf(ctx, l.refs, seed)
	}
	r.definitions = plan.NewDefinitions(plans)
	for _, t := range tiers {
		r.tiers = append(r.tiers, r.tier(ctx, t))
	}
	return r, nil
}

// sides returns the objects of a tier before and after. An object that changes also gets its definition.
func (r *reviewed) sides(ctx context.Context, t *plan.Tier) (before, after map[string]change.Object) {
	before, after = objectsOf(t, r.was), objectsOf(t, r.is)
	for _, o := range r.plan.Objects(t) {
		was, had := before[o.File]
		is, stays := after[o.File]
		if !had || !stays || was.Hash == is.Hash {
			continue
		}
		if definition := r.definitions.Of(r.plan, t.Cluster, o.ID); definition != nil {
			is.Definition = definition.Object.Hash
			after[o.File] = is
			if !r.comparer.Defined(is.Definition) {
				r.comparer.Define(is.Definition, r.repo.Content(ctx, is.Definition))
			}
		}
	}
	return before, after
}

// tier says what becomes of one tier.
func (r *reviewed) tier(ctx context.Context, t *plan.Tier) review.Tier {
	before, after := r.sides(ctx, t)
	_, planted := r.was[t.ReconcilerFile()]
	out := review.Tier{Tier: t, Verb: review.Update, Abandoned: t.Orphan != nil, Leaves: t.Orphans() || t.Leaving != nil && len(before) > 0}
	switch {
	case len(after) == 0:
		out.Verb = review.Remove
	case t.Orphans():
		out.Verb = review.Orphan
	case !planted:
		out.Verb = review.Plant
	}
	reconciler, comes := after[reconcilerFile]
	switch _, had := before[reconcilerFile]; {
	case had && !comes:
		out.Reconciler = change.Removed
	case !had && comes:
		out.Reconciler, out.Unusual = change.Added, t.Delivery().Unusual(t.ReconcilerFile(), t.Dir(), reconciler.Content)
	}
	if _, had := before[reconcilerFile]; !had || len(after) == 0 {
		delete(before, reconcilerFile)
		delete(after, reconcilerFile)
	}
	for _, c := range r.plan.Moved(t, r.comparer.Between(before, after)) {
		if c.Kind == change.Removed && c.Object == (manifest.ID{}) {
			out.Deletes = append(out.Deletes, t.Dir()+"/"+c.File) // no object, so not Furrow's
			continue
		}
		out.Changes = append(out.Changes, c)
	}
	for name, is := range after {
		if was, had := before[name]; had && was.Hash == is.Hash && name != reconcilerFile {
			out.Unchanged++
		}
	}
	return out
}

// reconcilerFile is the name of the reconciler object among the files of a tier.
const reconcilerFile = "reconciler object"

// objectsOf returns the objects of a tier by the names of their files, and the reconciler object.
func objectsOf(t *plan.Tier, side map[string]controlplane.File) map[string]change.Object {
	out := map[string]change.Object{}
	for at, f := range side {
		name, below := strings.CutPrefix(at, t.Dir()+"/")
		switch {
		case below:
		case at == t.ReconcilerFile():
			name = reconcilerFile
		default:
			continue
		}
		out[name] = change.Object{Hash: f.Hash, Content: f.Content}
	}
	return out
}

// describe returns the variables of a text about the proposal, for a terminal or as Markdown.
func (r *reviewed) describe(ctx context.Context, s *controlplane.Session, terminal bool) template.Proposal {
	p := review.Proposal{
		Tiers: r.tiers, Base: r.repo.Base, Branch: r.proposal.Branch, Shut: r.gate.Message, Amends: r.repo.Forge.Amends(), Terminal: terminal, Retried: r.retried,
	}
	if r.ours {
		planned := make([]*plan.Tier, len(r.tiers))
		for i := range r.tiers {
			planned[i] = r.tiers[i].Tier
		}
		p.Commit = s.CauseOf(ctx, r.plan, planned)
	}
	vars := review.NewSeed(r.plan, r.states.Tiers, r.states.Waves).Describe(p)
	vars.HowToReject = fmt.Sprintf("Run 'furrow pr reject %s'.", r.shortName())
	if r.proposal.URL != "" {
		vars.HowToReject = fmt.Sprintf("Close the pull request, or run 'furrow pr reject %s'.", r.shortName())
	}
	return vars
}

// text returns what 'furrow pr show' prints below the table.
func (r *reviewed) text(ctx context.Context, s *controlplane.Session) (string, error) {
	if r.plan == nil {
		return r.proposal.Body, nil
	}
	text, err := template.Render(template.Text{Name: "proposal.txt.tmpl", Text: templates.Terminal}, r.describe(ctx, s, true))
	return string(text), err
}

// body returns the text of the pull request or, on plain Git, what it would be.
func (r *reviewed) body(ctx context.Context, s *controlplane.Session) (string, error) {
	if r.plan == nil || r.proposal.URL != "" {
		return r.proposal.Body, nil
	}
	_, body, err := template.RenderProposal(template.Text{Name: "proposal.md.tmpl", Text: templates.Proposal}, r.describe(ctx, s, false))
	return body, err
}

// prChange is what becomes of an object, as -o yaml and -o json show it.
type prChange struct {
	Object  string `json:"object"`
	Cluster string `json:"cluster"`
	Change  string `json:"change"`
	// Destroys says what is lost with an object that is removed.
	Destroys string    `json:"destroys,omitempty"`
	Fields   []prField `json:"fields,omitempty"`
	// Refused are the fields that an API server does not let anybody change, and Recreated reports whether
	// the reconciler deletes the object and creates it again for them.
	Refused   []string `json:"refused,omitempty"`
	Recreated bool     `json:"recreated,omitempty"`
	// MoreFields counts those that are left out.
	MoreFields int `json:"moreFields,omitempty"`
}

type prField struct {
	Path string `json:"path"`
	Was  string `json:"was,omitempty"`
	Is   string `json:"is,omitempty"`
}

// text returns what becomes of the field, for people.
func (f prField) text() string { return change.Field(f).String() }

// changes lists what becomes of the objects.
func (r *reviewed) changes() []prChange {
	var out []prChange
	for _, t := range r.tiers {
		for _, c := range t.Changes {
			one := prChange{Object: c.Name(), Cluster: t.Cluster, Change: string(c.Kind), MoreFields: c.More, Refused: c.Refused, Recreated: c.Recreated}
			if !t.Abandoned {
				one.Destroys = c.Destroys
			}
			for _, f := range c.Fields {
				one.Fields = append(one.Fields, prField(f))
			}
			out = append(out, one)
		}
	}
	return out
}

// prSigns are those of what becomes of an object.
var prSigns = map[change.Kind]string{change.Added: "+", change.Changed: "~", change.Removed: "-", change.Moved: ">"}

// writeDiff writes, of each object that changes, the lines that do: once for all tiers in which the
// same lines change. Values of Secrets are not shown, unless SOPS encrypted them.
func (r *reviewed) writeDiff(w io.Writer) {
	var texts []ofCluster
	known := map[[2]layout.Hash]string{}
	for _, t := range r.tiers {
		for _, c := range t.Changes {
			title := prSigns[c.Kind] + " " + c.Name() + "\x00 " + layout.NameOnCluster(t.Ordinal)
			if c.Where != "" {
				title += ", moved " + c.Where
			}
			if c.Destroys != "" && !t.Abandoned {
				title += ", which destroys " + c.Destroys
			}
			if refused := refusal(c.Refused, c.Recreated); refused != "" {
				title += ", " + refused
			}
			texts = append(texts, ofCluster{t.Cluster, title + "\x00" + r.lines(known, layoutPath(t, c), c.Object)})
		}
	}
	if len(texts) == 0 {
		fmt.Fprintln(w, "No object changes.")
		return
	}
	for i, f := range foldedFrom(2, fleetIn(traitsOf(r.states.Clusters), r.plan), texts) {
		if i > 0 {
			fmt.Fprintln(w)
		}
		parts := strings.SplitN(f.text, "\x00", 3)
		heading(w, parts[0]+" on "+f.on+parts[1])
		for line := range strings.SplitSeq(parts[2], "\n") {
			writeMarked(w, line, line, diffColours[line[:min(1, len(line))]])
		}
	}
}

// lines returns the lines that differ of a file. Contents that were compared before are not again.
func (r *reviewed) lines(known map[[2]layout.Hash]string, at string, id manifest.ID) string {
	was, is := r.was[at], r.is[at]
	if hidesValues(id, was.Content) || hidesValues(id, is.Content) {
		return "  its values are secret and not shown"
	}
	key := [2]layout.Hash{was.Hash, is.Hash}
	text, ok := known[key]
	if !ok {
		text = strings.Join(differingLines(was.Content, is.Content), "\n")
		known[key] = text
	}
	return text
}

func layoutPath(t review.Tier, c change.Change) string {
	if c.File == reconcilerFile {
		return t.ReconcilerFile()
	}
	return t.Dir() + "/" + c.File
}

// hidesValues reports whether a file is a Secret in plain text.
func hidesValues(id manifest.ID, content []byte) bool {
	return id.GroupKind() == manifest.GroupKind{Kind: "Secret"} && len(content) > 0 && !strings.Contains("\n"+string(content), "\nsops:")
}

// prFilter chooses proposals.
type prFilter struct{ seeds, clusters, states []string }

// prStates are the words of prState.
var prStates = []string{"Open", "Edited", "Blocked", "Stale", "Rejected", "Foreign", "Merged"}

// checkState refuses a state that there is not.
func checkState(text string) error {
	if !slices.Contains(prStates, text) {
		return fmt.Errorf("must be one of %s", strings.Join(prStates, ", "))
	}
	return nil
}

// isSet reports whether anything is chosen.
func (f *prFilter) isSet() bool { return len(f.seeds)+len(f.clusters)+len(f.states) > 0 }

// matches reports whether a proposal is chosen: of each kind of filter that is given, one has to
// match. A proposal of several tiers is on all of their clusters.
func (f *prFilter) matches(l located) bool {
	if len(f.clusters) > 0 && !slices.ContainsFunc(l.proposal.Tiers, func(m layout.Member) bool { return slices.Contains(f.clusters, m.Tier.Cluster) }) {
		return false
	}
	return (len(f.seeds) == 0 || slices.Contains(f.seeds, l.proposal.Seed)) && (len(f.states) == 0 || slices.Contains(f.states, prState(l)))
}
