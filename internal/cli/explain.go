package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/core/dependency"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/core/review"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/state"
)

func newExplain() *cobra.Command {
	var session sessionFlags
	output := outputFlag{hasWide: true}
	var seed string
	cmd := &cobra.Command{
		Use:   "explain OBJECT",
		Short: "Explain where an object goes and why, and what it waits for",
		Long: `Explain says of one object on which clusters it is placed and by which rule, which tier
it is in, the longest chain of what must be ready before it (each step with its tier, how far that is,
and the rule and field by which it waits for the step before), and what it waits for now, as 'furrow run' reported it
last. Of what no run has planned yet it says so, and of an object that is being removed, from where.

OBJECT is group/Kind/namespace/name, or any end of it that is unambiguous, such as
Deployment/app/web or web. The core group is written "core". KIND/NAME is enough too, with the kind as
kubectl takes it: deploy/web, deployments.apps/web.`,
		Example: `  furrow explain apps/Deployment/core/upf
  furrow explain Deployment/core/upf --seed edge-5g -o yaml
  furrow explain --rules                   # the rules of placement and dependencies`,
		Args: exactly(1, "one object"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := session.open(cmd.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			explanation, err := explainIn(cmd.Context(), s, wanted{args[0], seed, "furrow plan"}, func(string) (*statusView, error) {
				st, err := s.Status(cmd.Context())
				return &statusView{State: st, now: time.Now()}, err
			})
			if err != nil {
				return err
			}
			return output.write(cmd.OutOrStdout(), explanation, func(w io.Writer) { explanationTable(w, explanation, output.wide()) })
		},
	}
	session.add(cmd)
	session.addStrict(cmd)
	output.add(cmd)
	cmd.Flags().Var(textFlag(&seed, "", dnsLabel), "seed", "seed to search, if several have such an object")
	mustComplete(cmd, "seed", session.completeSeeds)
	cmd.ValidArgsFunction = session.completeObjects
	explainRules(cmd, &output)
	return cmd
}

// explanation is what furrow explain says.
type explanation struct {
	Object   string   `json:"object"`
	Seed     string   `json:"seed"`
	From     string   `json:"from,omitempty"`
	Clusters []string `json:"clusters"`
	Rule     string   `json:"rule,omitempty"`
	Why      string   `json:"why,omitempty"`
	// Leaving are the clusters that the object is being removed from.
	Leaving []string `json:"leaving,omitempty"`
	// Contents are there where the object differs by cluster.
	Contents []objectContent `json:"contents,omitempty"`
	// Overrides change it on some clusters, in their order.
	Overrides []objectOverride `json:"overrides,omitempty"`
	// LastPass is when the states of the tiers were reported, as far as that is known.
	LastPass time.Time    `json:"lastPass,omitzero"`
	Tiers    []objectTier `json:"tiers"`
	Waits    []objectWait `json:"dependencies,omitempty"`
	Needed   []objectWait `json:"dependents,omitempty"`
	// Chains has one for each cluster.
	Chains []objectChain `json:"chains,omitempty"`
	// Moves say how the object moves to another tier.
	Moves []string `json:"moves,omitempty"`

	plan   *plan.Plan
	traits traits
	// plans are those of all seeds.
	plans map[string]*plan.Plan
	// reported is what was reported last; without a state where nothing was, and noStatus says so then.
	reported *statusView
	noStatus string
}

// objectContent is one of several contents of an object, with the clusters that have it.
type objectContent struct {
	Clusters []string `json:"clusters"`
	Variants []string `json:"variants,omitempty"`
	From     string   `json:"from,omitempty"`
}

// objectOverride is an override that changes the object on some clusters.
type objectOverride struct {
	Name     string   `json:"name"`
	From     string   `json:"from,omitempty"`
	Clusters []string `json:"clusters"`
	// Changes are the fields that change; none of a Secret.
	Changes []string `json:"changes,omitempty"`
}

// objectTier is a tier that has the object, and how far it is.
type objectTier struct {
	Cluster string `json:"cluster"`
	Ordinal int    `json:"ordinal"`
	State   string `json:"state"`
	// Reason is why it is in that state.
	Reason  v1alpha1.Reason `json:"reason,omitempty"`
	Message string          `json:"message,omitempty"`
	Since   time.Time       `json:"since,omitzero"`
	Waits   []state.Edge    `json:"waits,omitempty"`
	// LandedBy is the commit that brought the tier to the base branch as it is there; nil if unknown.
	LandedBy *review.Commit `json:"landedBy,omitempty"`
}

// objectWait is a dependency of the object, or one on it: the other object, and by which rule and
// why.
type objectWait struct {
	Object string `json:"object"`
	// Seed is set where the other object is another seed's, and Cluster where it is on one
	// cluster whichever the object is on.
	Seed    string `json:"seed,omitempty"`
	Cluster string `json:"cluster,omitempty"`
	// Kind is Weak where both may share a tier.
	Kind  dependency.Kind `json:"kind"`
	Rule  string          `json:"rule"`
	Field string          `json:"field,omitempty"`
	Why   string          `json:"why"`

	id manifest.ID
}

// wanted is what to explain: an object by its id or the end of it, and optionally its seed.
// lister is the command that lists all objects.
type wanted struct{ object, seed, lister string }

// explainIn explains an object of a control plane: by the plans that the next pass puts into force, and by what was
// reported last about its seed. An error of reason NoStatus of reported means that nothing was.
func explainIn(ctx context.Context, s *controlplane.Session, want wanted, reported func(seed string) (*statusView, error)) (*explanation, error) {
	report, err := s.Engine().DryRun(ctx)
	if err != nil {
		return nil, err
	}
	p, id, err := findObject(report, want)
	if err != nil {
		return nil, err
	}
	e := &explanation{Object: id, Seed: p.Seed, plan: p, plans: report.Plans, traits: traitsIn(report.Catalog)}
	if e.reported, err = reported(p.Seed); manifest.ReasonOf(err) == v1alpha1.ReasonNoStatus {
		e.reported, e.noStatus = &statusView{}, err.Error()
	} else if err != nil {
		return nil, err
	}
	e.describe(report.Previous[p.Seed])
	for i, t := range e.Tiers {
		if tier, ok := p.Find(t.Cluster, t.Ordinal); ok && i < maxLanded {
			e.Tiers[i].LandedBy = s.LandedBy(ctx, tier)
		}
	}
	return e, nil
}

// describe fills in what the plan has of the object, and what was reported of its tiers. inForce is the plan on the
// seed's branches; nil if there is none.
func (e *explanation) describe(inForce *plan.Plan) {
	p, id := e.plan, e.Object
	for _, pl := range p.Placements {
		switch {
		case pl.Object.String() != id:
		case e.Rule == "":
			e.Clusters, e.Rule, e.Why = pl.Clusters, pl.Rule, pl.Why
		default: // variants may place it by different rules
			e.Clusters = slices.Concat(e.Clusters, pl.Clusters)
			e.Why += fmt.Sprintf(" (rule %s); on %s because %s", e.Rule, fleetIn(e.traits, p).on(pl.Clusters), pl.Why)
			e.Rule = pl.Rule
		}
	}
	for _, d := range p.Differ() {
		if d.Object.String() == id {
			for _, c := range d.Contents {
				e.Contents = append(e.Contents, objectContent{c.Clusters, c.Variants, c.From})
			}
		}
	}
	e.Moves = movesOf(p, fleetIn(e.traits, p), func(object manifest.ID) bool { return object.String() == id })
	for _, o := range p.Overrides {
		for _, one := range o.Objects {
			if one.ID.String() == id {
				e.Overrides = append(e.Overrides, objectOverride{o.Name, o.From, o.Clusters, one.Changes})
			}
		}
	}
	e.tiers(inForce)
	if len(e.Clusters) == 0 {
		return // nothing waits for an object that only leaves, nor does it
	}
	object, err := manifest.ParseID(id)
	if err != nil {
		return // the plan on a branch was edited
	}
	e.dependencies(object)
	e.chains(object, inForce)
}

// dependencies fills in what the object waits for, and what waits for it, of all seeds.
func (e *explanation) dependencies(object manifest.ID) {
	for _, name := range slices.Sorted(maps.Keys(e.plans)) {
		p := e.plans[name]
		if p == nil {
			continue
		}
		for _, d := range p.Dependencies {
			switch {
			case name == e.Seed && d.From.Object == object:
				e.Waits = append(e.Waits, objectWait{d.To.Object.String(), d.To.Seed, d.To.Cluster, d.Kind, d.Rule, d.Field, d.Why, d.To.Object})
			case d.To.Object == object && cmp.Or(d.To.Seed, name) == e.Seed:
				other := objectWait{Object: d.From.Object.String(), Kind: d.Kind, Rule: d.Rule, Field: d.Field, Why: d.Why, id: d.From.Object}
				if name != e.Seed {
					other.Seed = name
				}
				e.Needed = append(e.Needed, other)
			}
		}
	}
}

// leavingObjects returns what leaves with a tier, now or once all else is released.
func leavingObjects(p *plan.Plan, t *plan.Tier) []plan.Object {
	out := slices.DeleteFunc(slices.Clone(p.Objects(t)), func(o plan.Object) bool { return !o.Leaving })
	if t.Leaving != nil {
		out = append(out, t.Leaving.Objects...)
	}
	return out
}

// findObject finds an object by its id or the end of it, and returns the plan that has it. An end
// must be whole parts, so "web" does not find "my-web"; it may be ambiguous, within a seed or
// between seeds, and the error then lists the candidates. A whole id together with a seed is always
// exact.
func findObject(report *engine.Report, want wanted) (*plan.Plan, string, error) {
	object, seed := want.object, want.seed
	found, alike := map[string]*plan.Plan{}, map[string]*plan.Plan{}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(report.Plans)) {
		p := report.Plans[name]
		if p == nil || seed != "" && name != seed {
			continue
		}
		var ids []manifest.ID
		for _, pl := range p.Placements {
			ids = append(ids, pl.Object)
		}
		for i := range p.Tiers {
			for _, o := range leavingObjects(p, &p.Tiers[i]) {
				ids = append(ids, o.ID)
			}
		}
		if seed != "" { // another seed still has it
			for _, await := range p.Awaits {
				ids = append(ids, await.Object)
			}
		}
		for _, one := range ids {
			id := one.String()
			all = append(all, id)
			if means(object, one) {
				alike[name+": "+id] = p
			}
			if id == object || strings.HasSuffix(id, "/"+object) {
				found[name+": "+id] = p
				if id == object && seed != "" {
					return p, id, nil
				}
			}
		}
	}
	if len(found) == 0 {
		found = alike
	}
	keys := slices.Sorted(maps.Keys(found))
	switch len(keys) {
	case 0:
		return nil, "", notFound(report, want, all)
	case 1:
		_, id, _ := strings.Cut(keys[0], ": ")
		return found[keys[0]], id, nil
	}
	return nil, "", manifest.Problem{Reason: v1alpha1.ReasonUnknownObject, Message: fmt.Sprintf("%q could be any of these; give more of the id, or --seed:\n  %s", object, strings.Join(keys, "\n  "))}
}

func notFound(report *engine.Report, want wanted, all []string) error {
	message := fmt.Sprintf("no plan has an object %q; '%s' lists all objects", want.object, want.lister)
	if like := likeIt(want.object, all); like != "" {
		message = fmt.Sprintf("no plan has an object %q; did you mean %s? '%s' lists all objects", want.object, like, want.lister)
	}
	for _, s := range report.Seeds {
		if s.State == state.Stalled {
			message += fmt.Sprintf("\nseed %s is stalled: %s", s.Name, seedMessage(&s))
		}
	}
	return manifest.Problem{Reason: v1alpha1.ReasonUnknownObject, Message: message}
}

// likeIt returns the id whose end is most like a name; empty where none is.
func likeIt(name string, ids []string) string {
	best, distance := "", 3
	parts := strings.Count(name, "/")
	for _, id := range ids {
		end := strings.Split(id, "/")
		end = end[max(0, len(end)-1-parts):]
		if d := manifest.Distance(strings.ToLower(name), strings.ToLower(strings.Join(end, "/"))); d < distance {
			best, distance = id, d
		}
	}
	return best
}

// tiers fills in the tiers that have the object, and how far they are.
func (e *explanation) tiers(inForce *plan.Plan) {
	if e.reported.State != nil {
		e.LastPass = e.reported.LastPass
	}
	for _, t := range e.plan.InOrder() {
		is := func(o plan.Object) bool { return o.ID.String() == e.Object }
		objects, leaving := e.plan.Objects(t), leavingObjects(e.plan, t)
		at, goes := slices.IndexFunc(objects, is), slices.IndexFunc(leaving, is)
		switch {
		case at < 0 && goes < 0:
			continue
		case goes < 0:
			e.From = objects[at].From
		default:
			e.From = cmp.Or(e.From, leaving[goes].From)
		}
		r := e.reportedTier(t, inForce)
		if goes >= 0 && r.State != release.Gone {
			e.Leaving = append(e.Leaving, t.Cluster)
		}
		e.Tiers = append(e.Tiers, objectTier{t.Cluster, t.Ordinal, string(r.State), r.Reason, r.Message, r.Since, r.Waits, nil})
	}
}

// reportedTier returns what was reported of a tier. A report counts only if it is of the same plan, which is in force:
// another one may have other objects in the tier, and says nothing of these.
func (e *explanation) reportedTier(t *plan.Tier, inForce *plan.Plan) state.Tier {
	out := state.Tier{State: state.Unknown, Reason: v1alpha1.ReasonNoStatus}
	st := e.reported.State
	if st == nil {
		out.Message = "no run has reported yet"
		return out
	}
	seed, ok := st.Seed(e.Seed)
	if !ok {
		seed = &state.Seed{}
	}
	i := slices.IndexFunc(seed.Tiers, func(r state.Tier) bool { return r.Cluster == t.Cluster && r.Ordinal == t.Ordinal })
	planned := inForce != nil && inForce.Generation == e.plan.Generation && seed.Revision == e.plan.Revision
	switch {
	case planned && i >= 0 && (seed.Tiers[i].Digest == "" || seed.Tiers[i].Digest == t.Digest()):
		return seed.Tiers[i]
	case planned && i < 0 && seed.Omitted > 0:
		out.Message = "its Planting does not show this tier"
		return out
	}
	out.Message = "not planned by a run yet"
	if of := cmp.Or(st.Revision, seed.Revision); of != "" {
		out.Message += "; the last report is of " + of
	}
	return out
}

// explanationTable shows an explanation, equal clusters as one unless whole: where the object goes
// and why, what it waits for and what waits for it, and how far its tiers are now.
func explanationTable(w io.Writer, e *explanation, whole bool) {
	all := fleetIn(e.traits, e.plan)
	on := func(clusters []string) string {
		if whole {
			return strings.Join(clusters, ", ")
		}
		return all.on(clusters)
	}
	heading(w, e.Object)
	of := "  of seed " + e.Seed
	if e.From != "" {
		of += ", from " + e.From
	}
	paragraph(w, "    ", of)
	var where, differs []string
	if len(e.Clusters) > 0 {
		where = append(where, "on "+on(e.Clusters), fmt.Sprintf("because %s (rule %s)", e.Why, e.Rule))
	}
	switch {
	case len(e.Leaving) > 0 && e.plan.Removal:
		where = append(where, fmt.Sprintf("being removed from %s, because the seed is being removed", on(e.Leaving)))
	case len(e.Leaving) > 0:
		where = append(where, fmt.Sprintf("being removed from %s, because the seed no longer has it there; it goes once everything else of the seed is Released", on(e.Leaving)))
	case len(e.Clusters) == 0 && slices.ContainsFunc(e.plan.Awaits, func(a plan.Await) bool { return a.Object.String() == e.Object }):
		where = append(where, "on no cluster yet")
	case len(e.Clusters) == 0:
		where = append(where, "removed from all clusters")
	}
	part(w, "Where", where)
	for _, c := range e.Contents {
		differs = append(differs, fmt.Sprintf("on %s, from %s", contentOn(plan.ContentOn{Clusters: c.Clusters, Variants: c.Variants}, all), c.From))
	}
	part(w, "Differs by cluster", differs)
	part(w, "Moves", e.Moves)
	var overrides []string
	for _, o := range e.Overrides {
		overrides = append(overrides, fmt.Sprintf("%s: %s", overrideOn(plan.Override{Name: o.Name, From: o.From}, on(o.Clusters)), overrideChanges(o.Changes)))
	}
	part(w, "Changed by overrides", overrides)
	if len(e.Waits) == 0 && len(e.Clusters) > 0 {
		part(w, "Waits for", []string{"nothing"})
	}
	e.part(w, "Waits for", e.Waits, whole, func(d objectWait) string {
		return d.name() + " (" + d.Rule + ": " + fieldAndWhy(d.Field, d.Why) + ")" + d.remark()
	})
	e.showChains(w, all, whole)
	e.part(w, "Waited for by", e.Needed, whole, func(d objectWait) string { return d.name() + " (" + d.Rule + ")" + d.remark() })
	e.now(w, all, whole)
}

// remark says what a dependency that makes no tier asks for.
func (d objectWait) remark() string {
	switch d.Kind {
	case dependency.Weak:
		return ", in the same tier or before"
	case dependency.Soft:
		return ", which holds nothing"
	}
	return ""
}

// name names the other object for people.
func (d objectWait) name() string {
	name := d.Object
	if d.Seed != "" {
		name += " of seed " + d.Seed
	}
	if d.Cluster != "" {
		name += " on " + d.Cluster
	}
	return name
}

// part writes dependencies below a heading: each on a line, or many by rule and kind unless whole.
func (e *explanation) part(w io.Writer, title string, waits []objectWait, whole bool, text func(objectWait) string) {
	if whole || len(waits) <= maxListed {
		var lines []string
		for _, d := range waits {
			lines = append(lines, text(d))
		}
		part(w, title, lines)
		return
	}
	objects := make([]placedObject, len(waits))
	for i, d := range waits {
		objects[i] = placedObject{d.id, d.Rule, fieldAndWhy(d.Field, d.Why)}
	}
	fmt.Fprintln(w)
	heading(w, title+" "+plural(len(waits), "object"))
	grouped(w, objects, newKindNames(objects))
}

// whyWaits says why the object's tier on a cluster waits for another tier: by what the object itself
// waits for there, if anything; the reason of a tier is that of whichever of its objects comes first.
func (e *explanation) whyWaits(cluster string, wait state.Edge) string {
	for _, d := range e.Waits {
		p := e.plans[cmp.Or(d.Seed, e.Seed)]
		if p == nil {
			continue
		}
		on := p.On(cmp.Or(d.Cluster, cluster))
		for i := range on {
			t := &on[i]
			has := slices.ContainsFunc(p.Objects(t), func(o plan.Object) bool { return o.ID == d.id })
			name := p.Name(t).Name()
			if p.Seed != e.Seed {
				name = p.Seed + " on " + name
			}
			if has && wait.Tier == name {
				return fmt.Sprintf("it waits for %s (%s: %s)", d.name(), d.Rule, fieldAndWhy(d.Field, d.Why))
			}
		}
	}
	if strings.HasPrefix(wait.Why, e.Object+" ") {
		return wait.Why
	}
	return "another object of its tier does, " + wait.Why
}

// part writes a heading and lines below it, where there are any.
func part(w io.Writer, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintln(w)
	heading(w, title)
	for _, line := range lines {
		for at := range strings.SplitSeq(line, "\n") {
			paragraph(w, "    ", "  "+at)
		}
	}
}

// maxLanded is for how many tiers of an object the commit that brought them is looked up.
const maxLanded = 20

// landed lists the commits that brought the tiers, to revert one, or to ask its author.
func (e *explanation) landed(w io.Writer, all clusterSet, whole bool) {
	var order []string
	tiers := map[string][]ofCluster{}
	for _, t := range e.Tiers {
		if by := t.LandedBy; by != nil {
			text := fmt.Sprintf("%.10s %q by %s", by.ID, by.Subject, by.Author)
			if tiers[text] == nil {
				order = append(order, text)
			}
			tiers[text] = append(tiers[text], ofCluster{t.Cluster, layout.NameOnCluster(t.Ordinal)})
		}
	}
	for _, text := range order {
		var names []string
		for _, f := range folded(all, tiers[text], whole) {
			names = append(names, f.on+" "+f.text)
		}
		paragraph(w, "    ", fmt.Sprintf("  Merged as %s: %s", manifest.Printable(text), strings.Join(names, ", ")))
	}
}

// now shows how far the tiers are, with the age of that and what is wrong with it, as a status does.
func (e *explanation) now(w io.Writer, all clusterSet, whole bool) {
	fmt.Fprintln(w)
	heading(w, "Now")
	if v := e.reported; v.State == nil {
		paragraph(w, "    ", "  ! "+e.noStatus)
	} else {
		v.head(w)
		v.problems(w)
		if s, ok := v.Seed(e.Seed); ok {
			for _, note := range s.Notes {
				paragraph(w, "    ", "  ! "+note)
			}
			if s.State == state.Stalled {
				stateParagraph(w, "    ", fmt.Sprintf("  Seed %s: %s", s.Name, seedLine(s, "")), s.State)
			}
		}
	}
	texts := make([]ofCluster, len(e.Tiers))
	for i, t := range e.Tiers {
		message := t.Message
		if len(t.Waits) > 0 && t.State == string(release.Blocked) {
			message = "" // it says the first of these
		}
		text := []string{layout.NameOnCluster(t.Ordinal), t.State, message}
		for _, wait := range t.Waits {
			text = append(text, fmt.Sprintf("waits for %s, which is %s: %s", wait.Tier, wait.State, e.whyWaits(t.Cluster, wait)))
		}
		texts[i] = ofCluster{t.Cluster, strings.Join(text, "\x00")}
	}
	for _, f := range folded(all, texts, whole) {
		cells := strings.Split(f.text, "\x00")
		line := fmt.Sprintf("  %s %s: %s", f.on, cells[0], cells[1])
		if cells[2] != "" {
			line += ": " + cells[2]
		}
		if age := e.reported.ages(f.members, func(i int) time.Time { return e.Tiers[i].Since }); age != "" {
			line += " (for " + age + ")"
		}
		stateParagraph(w, "    ", line, cells[1])
		for _, wait := range cells[3:] {
			paragraph(w, "      ", "    "+wait)
		}
	}
	e.landed(w, all, whole)
}
