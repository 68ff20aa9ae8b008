package pass

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/change"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/recent"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/core/review"
	"github.com/furrow-dev/furrow/internal/core/template"
)

// Decision is what a pass has decided.
type Decision struct {
	// Refusal says why nothing may be done at all.
	Refusal *Failure `json:"refusal,omitempty"`
	// Seeds by name: all that are in the control plane or on a plan branch of ours.
	Seeds map[string]*Seed `json:"seeds"`
	// Actions are the writes of the pass. Those of one repository are done in order.
	Actions []Action `json:"actions,omitempty"`
	// MergeBy says how proposals may be merged, by repository; there are none where any way will do.
	MergeBy map[string]MergeBy `json:"mergeBy,omitempty"`
	// Previous are the plans that are on their branches, by seed.
	Previous map[string]*Previous `json:"-"`
}

// Seed is what was decided about one seed. Its exported fields are what is published and written to
// a record.
type Seed struct {
	Name string `json:"name"`
	// Plan is the one in force; nil where there is none.
	Plan *plan.Plan `json:"plan,omitempty"`
	// Failure says why the seed could not be planned or observed anew; a plan that is there goes
	// on.
	Failure *Failure `json:"failure,omitempty"`
	// Broken are the clusters that stay as they were last planned, and why.
	Broken map[string]string `json:"broken,omitempty"`
	// Warnings are what people should know beside what the plan warns of.
	Warnings manifest.Problems `json:"warnings,omitempty"`
	// Unconfirmed is what is removed, of the seed as a whole, once a person confirms it.
	Unconfirmed []string `json:"unconfirmed,omitempty"`
	// Tiers are the facts of the plan's tiers, Result the states that follow from them.
	Tiers  map[layout.Tier]release.TierFacts `json:"tiers,omitempty"`
	Result release.Result                    `json:"result"`
	// Failures are those of single tiers.
	Failures map[layout.Tier]*Failure `json:"failures,omitempty"`

	previous *Previous
	// planWithOrphans is the plan as it is on its branches, or will be: with the entries that
	// tiers of an abandoned cluster may have before they go beside those in force.
	planWithOrphans *plan.Plan
	// files are those of a plan that not every repository has yet, by repository and path.
	files map[string]plan.Files
	// gone reports whether the seed is no longer in the control plane.
	gone      bool
	suspended bool
	// held is how many plantings go once what is Unconfirmed is confirmed.
	held int
	// record is that of the seed's rollout, and recorded where it is, by repository.
	record   *release.Record
	recorded map[string]layout.Hash
	// unreadable reports whether that record cannot be read.
	unreadable bool
	// retryLater says, by repository and marker, that a retry that a person asked for is not finished.
	retryLater map[[2]string]bool
	// decided reports whether the states of its tiers are known.
	decided bool
}

// Memo remembers what was computed last, by what it was computed from. The decision is the same
// without it. The zero value is ready to use. It is for one goroutine.
//
// Three things are worth it. Plans are computed again only if something they are made from has
// another version: the catalog, the identity, and of each seed the commits of its plan, whether it
// is released, and what base has at the paths that matter. Then those that stay by the digest of
// what they are made from are not assembled again. Reconciler objects in Git are parsed once for
// each hash, and so are contents compared. Everything else follows from facts that change with
// each pass.
type Memo struct {
	key      string
	outcomes map[string]*plan.Outcome
	plans    plan.Memo
	// objects are reconciler objects by the hash of their files.
	objects recent.Cache[layout.Hash, reconcilerObject]
	// changes are what differs between contents, by their hashes.
	changes change.Comparer
	// unfinished is the decision that has open questions.
	unfinished *decider
	// rejected are the plans on branches that were not confirmed when they were verified last.
	rejected map[string]rejected
}

// Turn begins another pass: reconciler objects and contents that neither this pass nor the one
// before needed are forgotten.
func (m *Memo) Turn() {
	m.objects.Turn()
	m.changes.Turn()
}

// Decide is Memo.Decide without anything to remember.
func Decide(f *Facts) (*Decision, []Question) { return new(Memo).Decide(f) }

// Decide returns the decision, or the questions that must be answered first: the decision is nil
// while there are questions. It changes nothing in f.
//
// There are eight steps: whether the commit that is read may replace the plans that are there, whether the
// plans on their branches are ours, what became of them, which plan is in force for each
// seed and the facts of those plans, the states of their tiers, how proposals may be merged, how many may
// be open, and the actions. A step that asked
// something is finished, so all its questions are asked at once, and then the call ends: the next
// step would conclude from facts that are missing. The caller answers and calls again, and that step
// is done again. Steps that are complete are not, as answers only add facts; a Memo remembers them.
// A step asks at most a few times, however many seeds there are, so the rounds are few.
func (m *Memo) Decide(f *Facts) (*Decision, []Question) {
	d := m.unfinished
	if m.unfinished = nil; d == nil || d.facts != f || d.failures() != d.failed {
		d = newDecider(f, m)
		if err := d.ownerUnknown(); err != nil {
			return &Decision{Refusal: Fail(err, false), Previous: d.previous}, nil
		}
		d.readAbandoned()
		d.steps = []func(){d.compareCommits, d.verifyPlans, d.observePrevious, d.choosePlans, d.release, d.chooseWays, d.pace, d.act}
	}
	d.factReader = newFactReader(f)
	for ; len(d.steps) > 0; d.steps = d.steps[1:] {
		if d.steps[0](); d.incomplete() {
			m.unfinished, d.failed = d, d.failures()
			return nil, d.questions()
		}
		if d.refusal != nil {
			return &Decision{Refusal: d.refusal, Previous: d.previous}, nil
		}
	}
	return &Decision{Seeds: d.seeds, Actions: d.done, MergeBy: d.ways, Previous: d.previous}, nil
}

// failures counts what cannot be asked: where more fails while questions are answered, everything is
// decided anew.
func (d *decider) failures() int {
	n := 0
	if d.facts.Health.Failure != nil {
		n++
	}
	for _, r := range d.facts.Repos {
		if r.Failure != nil {
			n++
		}
	}
	return n
}

// decider decides about the facts of one pass. Its maps are computed when first needed.
type decider struct {
	*factReader
	memo     *Memo
	previous map[string]*Previous
	// abandoned are the clusters that a person has given up.
	abandoned map[string]bool
	// created are the clusters that seeds create and nobody declares.
	created map[string]bool
	seeds   map[string]*Seed
	// reviews has what the proposals of a plan have in common.
	reviews map[*plan.Plan]*review.Seed
	// fleet has the tiers of all plans in force, because gates reach from plan to plan, and needed those
	// that other seeds need.
	fleet  release.Fleet
	needed map[layout.Tier][]layout.Tier
	// known has the objects of plans by the hash of their content.
	known map[*Seed]map[layout.Hash]plan.Object
	// steps are those that are not complete yet, and failed is what failures counted when the first of
	// them had questions.
	steps  []func()
	failed int
	// refusal says why nothing is decided at all.
	refusal *Failure
	// ways say how proposals may be merged, by repository.
	ways map[string]MergeBy
	// done are the actions, once they are decided.
	done []Action
	// suspects are the plans that nobody vouches for, with what is known of them, once they are judged.
	suspects map[string]*plan.Suspect
	// definitions finds those of custom resources; nil until it is needed.
	definitions *plan.Definitions
	// compared are the pairs of contents that are compared, and defined the definitions by which they are.
	compared map[[2]layout.Hash]bool
	defined  map[layout.Hash]bool
	// indexed are the proposals of repositories, by what they have.
	indexed map[string]proposalIndex
	// differs is what proposals bring that no plan has; see verified.
	differs map[proposalKey]string
	// rendered is what the renderings of the Template of proposals have used.
	rendered template.Total
	// parsed is the template of proposals, labels that of their labels.
	parsed, labels template.Parsed
}

func newDecider(f *Facts, m *Memo) *decider {
	return &decider{factReader: newFactReader(f), memo: m, previous: f.Previous(), abandoned: map[string]bool{}, seeds: map[string]*Seed{}, reviews: map[*plan.Plan]*review.Seed{}, known: map[*Seed]map[layout.Hash]plan.Object{}, compared: map[[2]layout.Hash]bool{}, defined: map[layout.Hash]bool{}, indexed: map[string]proposalIndex{}, differs: map[proposalKey]string{}}
}

func (d *decider) catalog() *catalog.Catalog { return d.facts.ControlPlane.Catalog }

// incomplete reports whether something was asked for.
func (d *decider) incomplete() bool { return d.asked > 0 }

// repo returns a GitOps repository that can be used; nil where it cannot.
func (d *decider) repo(name string) *Repo {
	if r, ok := d.facts.Repos[name]; ok && r.Failure == nil {
		return r
	}
	return nil
}

// observePrevious finds out what became of the plans on their branches.
func (d *decider) observePrevious() {
	for _, name := range slices.Sorted(maps.Keys(d.previous)) {
		p := d.previous[name]
		if p.Err != nil || p.Plan == nil || p.Foreign {
			continue
		}
		if _, there := d.catalog().Seed(name); !there && !p.Plan.Removal {
			p.Plan, p.Older = p.Plan.AsPushed(p.Older), nil // nothing has the files of the newest plan any more
		}
		if p.tiers == nil {
			p.tiers, p.Err = d.tierFacts(p.Plan, p)
			if p.Err == nil && p.tiers != nil && !d.unasked() && p.tooEarly() {
				if d.replace(p, false); p.replaced == nil {
					p.tiers = nil // it is asked what base has
					continue
				}
				p.tiers, p.Err = d.tierFacts(p.Plan, p)
			}
			p.released = p.Err == nil && p.tiers != nil && release.AllReleased(p.Plan, p.tiers)
		}
		if p.tiers != nil {
			p.passed = d.passedMoves(p)
		}
		d.basePaths(p)
	}
}

// choosePlans chooses the plan in force of every seed, holds removals that a person has to confirm, and
// gathers the facts of the plans.
func (d *decider) choosePlans() {
	outcomes := d.compute()
	renamedTo := renames(outcomes)
	for _, name := range d.seedNames() {
		d.seeds[name] = d.choose(name, outcomes, d.heirs(name, renamedTo[name], outcomes))
		d.noteMoved(d.seeds[name])
	}
	d.holdShared(outcomes)
	d.holdMoved(renamedTo)
	d.holdRemovals(renamedTo)
	d.holdLostClusters()
	d.guardRemovals()
	if !d.incomplete() {
		d.observeInForce()
	}
}

// seedNames returns all seeds there are: in the control plane or on a plan branch.
func (d *decider) seedNames() []string {
	names := map[string]bool{}
	for i := range d.catalog().Seeds {
		names[d.catalog().Seeds[i].Name] = true
	}
	for name, p := range d.previous {
		if !p.Foreign {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// compute plans all seeds, or takes the plans that were computed last, if all that they are made
// from is the same; see Memo. While the control plane cannot be read, the plans that are there
// stay: another engine may have read more, and planned anew.
func (d *decider) compute() map[string]*plan.Outcome {
	if d.facts.ControlPlane.Unread != "" {
		return d.keepAll()
	}
	previous, anchored := map[string]*plan.Previous{}, false
	key := []string{d.facts.ControlPlane.Version, d.facts.Self.Owner, d.facts.Self.Origin}
	for _, name := range slices.Sorted(maps.Keys(d.previous)) {
		p := d.previous[name]
		if p.Plan == nil || p.Err != nil {
			key = append(key, name+" is unknown")
			continue
		}
		previous[name] = &plan.Previous{Plan: p.Plan, Others: p.Others, Older: p.Older, Released: p.released, Base: d.basePaths(p), Passed: p.passed, Blobs: map[layout.Hash][]byte{}, Replaced: p.replaced, Spoiled: p.spoiled, Warning: p.planWarning()}
		anchored = anchored || p.replaced != nil
		key = append(key, fmt.Sprint(name, p.Commits, p.Others, p.released, p.passed, previous[name].Base))
	}
	k := strings.Join(key, "\n")
	if d.memo.key == k && d.memo.outcomes != nil && !anchored {
		return d.memo.outcomes
	}
	in := plan.Input{
		Catalog: d.catalog(), Owner: d.facts.Self.Owner, Origin: d.facts.Self.Origin, Revision: d.facts.ControlPlane.Revision,
		Previous: previous, Strict: d.catalog().Strict(d.facts.Strict), Memo: &d.memo.plans,
	}
	outcomes := plan.Compute(in)
	for d.giveNeeds(previous, outcomes) {
		outcomes = plan.Compute(in)
	}
	if !anchored && !slices.ContainsFunc(slices.Collect(maps.Values(outcomes)), func(o *plan.Outcome) bool { return len(o.Needs) > 0 }) {
		d.memo.key, d.memo.outcomes = k, outcomes
	}
	return outcomes
}

// giveNeeds gives the computation the files that it needed, and reports whether there are any: then
// plans have to be computed again, unless something has to be asked first.
func (d *decider) giveNeeds(previous map[string]*plan.Previous, outcomes map[string]*plan.Outcome) bool {
	given, missing := false, d.missing
	d.missing = false
	for _, name := range slices.Sorted(maps.Keys(outcomes)) {
		for _, need := range outcomes[name].Needs {
			if data := d.blob(need.Repo, need.Hash); !d.missing {
				previous[name].Blobs[need.Hash], given = data, true
			}
		}
	}
	asked := d.missing
	d.missing = missing || asked
	return given && !asked
}

// basePaths returns what base has where the computation needs to know it.
func (d *decider) basePaths(p *Previous) map[string]map[string]layout.Hash {
	out := map[string]map[string]layout.Hash{}
	paths := (&plan.Previous{Plan: p.Plan, Older: p.Older}).BasePaths()
	for repo, paths := range paths {
		r := d.repo(repo)
		if r == nil {
			continue
		}
		have := d.at(repo, r.Head, paths...)
		out[repo] = map[string]layout.Hash{}
		for _, at := range paths {
			out[repo][at] = have[at]
		}
	}
	return out
}

// keepAll leaves the plans in force. What leaves stays on hold where a document was broken
// when the control plane was read last.
func (d *decider) keepAll() map[string]*plan.Outcome {
	leaves := func(t *plan.Tier) bool { return t.Leaving != nil }
	out := map[string]*plan.Outcome{}
	for name, p := range d.previous {
		if p.Plan == nil || p.Foreign {
			continue
		}
		out[name] = &plan.Outcome{Plan: p.Plan, Kept: true}
		if cluster, why := d.brokenCluster(p.Plan, leaves); why != "" {
			out[name].Err = removalOnHold(name, cluster, fmt.Sprintf("something of it leaves cluster %s: %s", cluster, why))
		}
	}
	return out
}

func removalOnHold(seed, cluster, message string) error {
	return manifest.OfSeed(v1alpha1.ReasonRemovalOnHold, seed, message, "Correct that document; until then the seed stays as it is.").WithCluster(cluster)
}

// choose picks the plan that is in force for a seed: the computed one or, if the seed is not in the
// control plane, that of its removal. With an error, it is the plan that is there. heirs are the seeds that get
// objects of this one.
func (d *decider) choose(name string, outcomes map[string]*plan.Outcome, heirs map[plan.Removed]string) *Seed {
	outcome := outcomes[name]
	s := &Seed{Name: name, previous: d.previous[name]}
	if seed, ok := d.catalog().Seed(name); ok {
		s.suspended = seed.Spec.Suspend
	}
	if s.previous != nil && s.previous.Foreign {
		s.previous = nil
	}
	switch {
	case s.previous != nil && s.previous.Err != nil:
		s.fail(d.previous[name].blamed(s.previous.Err))
	case outcome != nil:
		s.Plan, s.files, s.Broken = outcome.Plan, outcome.Files, outcome.Broken
		s.fail(d.previous[name].blamed(outcome.Err))
		if p := s.previous; p != nil && p.replaced != nil {
			p.Verified = s.Plan == p.replaced
			if p.warning != nil && s.Plan == p.Plan {
				s.Warnings = append(s.Warnings, *p.warning)
			}
		}
	case s.previous != nil && s.previous.Plan != nil:
		d.chooseRemoval(s, heirs, outcomes)
	}
	return s
}

// fail notes why the seed could not be planned or observed anew; nil changes nothing.
func (s *Seed) fail(err error) {
	if err != nil {
		s.Failure = Fail(err, false)
	}
}

// chooseRemoval decides about a seed that has a plan and is not in the control plane.
// Only a control plane that was read, and that is not empty, says that a seed was
// deleted. Nothing leaves a cluster whose document cannot be used.
func (d *decider) chooseRemoval(s *Seed, heirs map[plan.Removed]string, outcomes map[string]*plan.Outcome) {
	last := s.previous.Plan
	s.Plan = last
	at, unread := d.catalog().Unread[s.Name]
	cluster, why := d.brokenCluster(last, func(*plan.Tier) bool { return true })
	switch {
	case unread:
		s.fail(manifest.OfSeed(v1alpha1.ReasonRemovalOnHold, s.Name, fmt.Sprintf("it may be at %s, which cannot be read; it stays as it is", at), "Correct that file."))
	case why != "":
		s.fail(removalOnHold(s.Name, cluster, fmt.Sprintf("it is not in the control-plane repository, and is planted on cluster %s: %s", cluster, why)))
	default:
		s.gone = true
		if last.Removal && len(s.previous.Older) == 0 {
			return
		}
		if !last.Removal && (d.finishMoves(s) || d.handOver(s, heirs, outcomes)) {
			s.gone = false
			return
		}
		if !last.Removal {
			s.Plan = plan.Remove(last, d.facts.ControlPlane.Revision)
		}
		s.files = map[string]plan.Files{}
		for _, repo := range last.Repos() {
			s.files[repo] = plan.Files{}
		}
	}
}

// createdBySeeds returns the clusters that seeds create and nobody declares.
func (d *decider) createdBySeeds() map[string]bool {
	if d.created == nil {
		d.created = map[string]bool{}
		for _, p := range d.previous {
			if p.Plan == nil {
				continue
			}
			for _, name := range p.Plan.Implied() {
				d.created[name] = true
			}
		}
	}
	return d.created
}

// brokenCluster returns the first cluster of some tiers of a plan whose document cannot be used,
// and what is wrong with it. What seeds create needs no document.
func (d *decider) brokenCluster(pl *plan.Plan, counts func(*plan.Tier) bool) (cluster, why string) {
	for i := range pl.Tiers {
		if !counts(&pl.Tiers[i]) {
			continue
		}
		for _, name := range []string{pl.Tiers[i].Cluster, pl.Tiers[i].Object.Cluster} {
			if why := d.catalog().Inventory.BrokenOrLost(name); why != "" && !d.createdBySeeds()[name] {
				return name, why
			}
		}
	}
	return "", ""
}

// observeInForce gathers the facts of the plans in force: mostly those of the plans on their
// branches, which are known already. Only a plan that is new in this pass has other tiers or
// entries.
func (d *decider) observeInForce() {
	for _, name := range slices.Sorted(maps.Keys(d.seeds)) {
		s := d.seeds[name]
		if s.Plan == nil {
			continue
		}
		s.fail(d.orphan(s))
		s.fail(d.observeRollout(s))
		if s.previous != nil && s.previous.tiers != nil && s.Plan == s.previous.Plan {
			s.Tiers = s.previous.tiers
			continue
		}
		tiers, err := d.tierFacts(s.Plan, s.previous)
		if err != nil {
			s.Plan, s.files = nil, nil
			s.fail(err)
			continue
		}
		s.Tiers = tiers
	}
	d.fleet = release.Fleet{}
	for _, s := range d.seeds {
		if s.Plan != nil {
			d.fleet.Add(s.Plan, s.Tiers)
		}
	}
	d.needed = d.fleet.Needed()
}

// release derives the states of all tiers of all plans in force. What a state needs besides (roots,
// closed proposals) is added where the facts have it, and the states are derived again, until nothing
// is added; what they do not have becomes a question.
func (d *decider) release() {
	lost := d.lostClusters()
	for _, name := range slices.Sorted(maps.Keys(d.seeds)) {
		s := d.seeds[name]
		if s.Plan == nil || s.decided {
			continue
		}
		asked := d.asked
		s.Failures, s.retryLater = map[layout.Tier]*Failure{}, map[[2]string]bool{}
		facts := release.Facts{
			Tiers: s.Tiers, GroupBy: s.Plan.GroupBy, Groups: d.groupsOf(s.Plan, s.previous), Suspended: s.suspended, KeepAll: s.Failure != nil, Guarded: s.Unconfirmed != nil, Confirmed: d.confirmedLeaving(s), Lost: lost,
			Fleet: d.fleet, Needed: d.needed, Now: d.facts.Now, Zones: d.facts.Zones, Record: s.record,
		}
		s.Result = release.Next(s.Plan, facts)
		for d.addRoots(s) || d.addClosed(s) || d.addChecks(s) {
			s.Result = release.Next(s.Plan, facts)
		}
		d.noteRetryLater(s)
		s.decided = d.asked == asked
	}
}

// pace holds back new proposals if too many would be open, and says what tiers wait for.
func (d *decider) pace() {
	d.limitOpen()
	results := map[string]*release.Result{}
	for name, s := range d.seeds {
		if s.Plan != nil {
			results[name] = &s.Result
		}
	}
	release.FindDeadlocks(results, d.policies())
	nameWaits(d.seeds)
}

// limitOpen holds new proposals back in repositories with pull requests in which as many are open as
// may be: servers test all open ones again after each merge. Seeds take turns.
func (d *decider) limitOpen() {
	for _, name := range slices.Sorted(maps.Keys(d.facts.Repos)) {
		r := d.repo(name)
		if r == nil || !r.Amends {
			continue
		}
		most := int(d.catalog().Repos[name].Spec.Proposals.MaxOpenOrDefault())
		room := most
		for _, p := range r.Proposals {
			if !p.Rejected {
				room--
			}
		}
		var wanted []string
		for _, seed := range slices.Sorted(maps.Keys(d.seeds)) {
			if s := d.seeds[seed]; s.Plan != nil {
				wanted = append(wanted, slices.Repeat([]string{seed}, s.Result.New(s.Plan, name))...)
			}
		}
		if len(wanted) <= room {
			continue
		}
		share := map[string]int{}
		for _, seed := range wanted {
			share[seed] = 0
		}
		for i, opens := range Share(wanted, room) {
			if opens {
				share[wanted[i]]++
			}
		}
		for seed, n := range share {
			d.seeds[seed].Result.LimitNew(d.seeds[seed].Plan, name, n, most)
		}
	}
}

// policies returns the RolloutPolicy of the seeds that name one, and set no waves of their own.
func (d *decider) policies() map[string]string {
	out := map[string]string{}
	for i := range d.catalog().Seeds {
		s := &d.catalog().Seeds[i]
		if r := s.Spec.Rollout; r != nil && r.Policy != "" && r.Waves == nil {
			out[s.Name] = string(r.Policy)
		}
	}
	return out
}

// nameWaits gives what tiers wait for in other seeds the state that it has there.
func nameWaits(seeds map[string]*Seed) {
	states := map[layout.Tier]release.State{}
	for _, s := range seeds {
		for _, t := range s.Result.Tiers {
			states[t.Tier] = t.State
		}
	}
	for _, s := range seeds {
		s.Result.NameWaits(states)
	}
}

// Proposed notes that proposals of tiers were opened or updated since.
func (d *Decision) Proposed(tiers ...layout.Tier) {
	for _, s := range d.Seeds {
		s.Result.Proposed(tiers...)
	}
	nameWaits(d.Seeds)
}

// addRoots adds what the roots are like of tiers that wait for nothing else. It reports whether it
// added anything. Roots of all other tiers are not observed: for most tiers, at most times, nothing
// about them is asked at all.
func (d *decider) addRoots(s *Seed) bool {
	found := false
	for i, status := range s.Result.Tiers {
		if !status.NeedsRoot {
			continue
		}
		f := s.Tiers[status.Tier]
		td := d.decideTier(s.Plan, &s.Plan.Tiers[i], s.previous)
		if td.judgeRoot(&f); !d.missing {
			f.RootNotAsked, found = false, true
			s.Tiers[status.Tier] = f
		}
	}
	return found
}

// addClosed adds the closed proposals of tiers that are about to be proposed, and reports whether
// it added any. A person who asked to retry the plan has the past ignored.
func (d *decider) addClosed(s *Seed) bool {
	found := false
	for i, status := range s.Result.Tiers {
		if !status.NeedsClosed {
			continue
		}
		t := &s.Plan.Tiers[i]
		closed, reason := release.ClosedNone, ""
		switch r := d.repo(t.Repo); {
		case r == nil:
			continue
		case !d.retriesTier(t.Repo, s.previous, status.Tier):
			answer := d.closed(t.Repo, status.Tier, t.Digest(), t.Paths())
			if answer.Failure != nil {
				s.Failures[status.Tier] = Fail(fmt.Errorf("read closed proposals: %w", answer.Failure), answer.Failure.Transient)
				continue
			}
			closed, reason = answer.Outcome, answer.Reason
		}
		if closed == release.ClosedNotAsked {
			continue
		}
		facts := s.Tiers[status.Tier]
		facts.Closed, facts.ClosedReason = closed, reason
		s.Tiers[status.Tier] = facts
		found = true
	}
	return found
}

// noteRetryLater finds out whether a tier that is Blocked now, or held by its pace, would have to
// be retried once it is free, so the marker has to stay.
func (d *decider) noteRetryLater(s *Seed) {
	for i, status := range s.Result.Tiers {
		t := &s.Plan.Tiers[i]
		waits := status.State == release.Blocked || status.State == release.Queued && status.Act != release.ActPropose
		if !waits || d.repo(t.Repo) == nil || !d.retriesTier(t.Repo, s.previous, status.Tier) {
			continue
		}
		later := s.Tiers[status.Tier].BaseDetail != ""
		if !later {
			answer := d.closed(t.Repo, status.Tier, t.Digest(), t.Paths())
			later = answer.Failure != nil || answer.Outcome != "" && answer.Outcome != release.ClosedNone
		}
		base := d.facts.Repos[t.Repo].Base
		all := [2]string{t.Repo, layout.RetryBranch(base, s.Name)}
		s.retryLater[[2]string{t.Repo, layout.RetryTierBranch(base, status.Tier)}] = later
		s.retryLater[all] = s.retryLater[all] || later
	}
}
