package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/git"
)

// ReportKind is what status.yaml has in kind.
const ReportKind = "Status"

// StatusFile is the report's file on the status branch.
const StatusFile = "status.yaml"

// Report is what a pass has seen and done, for people. As it is published it holds no
// time of its own, so that the report of a pass in which nothing happened is the same.
type Report struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Owner      string `json:"owner"`
	// Origin is the digest of where the control plane is kept.
	Origin string `json:"origin,omitempty"`
	// Revision of the control-plane repository that was looked at.
	Revision string `json:"revision"`
	// Interval is how often at least passes report, as in 1m0s; empty when they are made by hand.
	Interval string `json:"interval,omitempty"`
	// LastPass is when the pass was made that reported last. Readers take it from the
	// commit that has the status.
	LastPass time.Time `json:"lastPass,omitzero"`
	// Problems are those of the control plane and of repositories as a whole.
	Problems []string `json:"problems,omitempty"`
	// Stale is what cannot be read now, so that what the report says of it is of before.
	Stale []StaleReport `json:"stale,omitempty"`
	// Warnings name what is not read of the control plane, outside of seeds.
	Warnings []string     `json:"warnings,omitempty"`
	Seeds    []SeedReport `json:"seeds"`
	// Changed says that the pass pushed something. It is not part of the status.
	Changed bool `json:"-"`
	// Raced says that another engine was faster, so that it is worth looking again
	// soon. It is not part of the status.
	Raced bool `json:"-"`
	// RetryAfter is how long the control plane's server asked to wait. It is not part of the status.
	RetryAfter time.Duration `json:"-"`
	// Plans are the plans in force, by seed. They are not part of the status.
	Plans map[string]*plan.Plan `json:"-"`
	// ReadErr says that the control plane could not be read anew. It is not part of the status.
	ReadErr error `json:"-"`
	// Repos are the GitOps repositories, by name. They are not part of the status.
	Repos map[string]RepoReport `json:"-"`
	// Catalog is what the control plane declares, and Settings the version of those that
	// it was read with. They are not part of the status.
	Catalog  *catalog.Catalog `json:"-"`
	Settings string           `json:"-"`
}

// StaleReport is what cannot be read, and since when.
type StaleReport struct {
	// Repo is a GitOps repository; empty for the control plane.
	Repo  string    `json:"repo,omitempty"`
	Since time.Time `json:"since"`
}

// RepoReport is how a GitOps repository was found.
type RepoReport struct {
	// URL of the repository, without credentials.
	URL string
	// Head of the base branch; zero when it is not known.
	Head git.Hash
	// Proposals counts the open ones of the engine's seeds.
	Proposals int
	// Err says why it cannot be used.
	Err error
}

// SeedReport is the state of one seed.
type SeedReport struct {
	Name string `json:"name"`
	// State sums the tiers up: Stalled, or the least advanced of the tiers'.
	State   string `json:"state"`
	Message string `json:"message,omitempty"`
	Removal bool   `json:"removal,omitempty"`
	// Unconfirmed is what is removed once a person confirms it, for people: whatever says
	// so in a message has it here too.
	Unconfirmed []string     `json:"unconfirmed,omitempty"`
	Tiers       []TierReport `json:"tiers,omitempty"`
	// Warnings are the plan's, and name the files that are not read.
	Warnings []string `json:"warnings,omitempty"`
}

// TierReport is the state of one tier.
type TierReport struct {
	Cluster string `json:"cluster"`
	Ordinal int    `json:"ordinal"`
	// Level orders the tiers of all clusters: those of a lower level come first.
	Level   int           `json:"level"`
	State   release.State `json:"state"`
	Message string        `json:"message,omitempty"`
	Since   string        `json:"since,omitempty"`
	// Waits are the tiers that it waits for, and why.
	Waits []WaitReport `json:"waits,omitempty"`
	// Amended says how to see what a person changed before merging.
	Amended string `json:"amended,omitempty"`
	// Retry says that a person's retry has the tier proposed again.
	Retry bool `json:"retry,omitempty"`
	// Foreign are files at the tier's paths on the base branch that others put there: the
	// tier's proposal, once a person retries it, deletes or replaces them.
	Foreign []string `json:"foreign,omitempty"`
	// Proposal is the open proposal, or the rejected one.
	Proposal *ProposalReport `json:"proposal,omitempty"`
	Objects  int             `json:"objects"`
	// Wants is the digest of the tier's entries. It is not part of the status.
	Wants string `json:"-"`
}

// Shut says that the tier has an open proposal that must not be merged now.
func (t *TierReport) Shut() bool { return t.Proposal != nil && t.Proposal.Gate != "" }

// WaitsForReview says that a person is to merge the tier's proposal, or to reject it.
func (t *TierReport) WaitsForReview() bool {
	return t.State == release.Proposed && t.Proposal != nil && !t.Shut()
}

// UrgentAs is the state as which the tier counts for what is to be done: a proposal that
// waits for other tiers is nothing for a person to do.
func (t *TierReport) UrgentAs() release.State {
	if t.State == release.Proposed && t.Shut() && len(t.Waits) > 0 {
		return release.Blocked
	}
	return t.State
}

// WaitReport is one thing that a tier waits for.
type WaitReport struct {
	Tier  string        `json:"tier"`
	State release.State `json:"state"`
	Why   string        `json:"why"`
}

// ProposalReport says where people find a proposal.
type ProposalReport struct {
	Repo   string `json:"repo"`
	Branch string `json:"branch"`
	Title  string `json:"title,omitempty"`
	URL    string `json:"url,omitempty"`
	// Gate says why the proposal must not be merged now; empty when it may be.
	Gate string `json:"gate,omitempty"`
}

// Stalled is the state of a seed that a person has to look at.
const Stalled = "Stalled"

// Done says that every tier of every seed is where it should be.
func (r *Report) Done() bool {
	for _, s := range r.Seeds {
		if s.State != string(release.Released) && s.State != string(release.Gone) {
			return false
		}
	}
	return len(r.Problems) == 0
}

// Seed returns the report of one seed.
func (r *Report) Seed(name string) (*SeedReport, bool) {
	for i := range r.Seeds {
		if r.Seeds[i].Name == name {
			return &r.Seeds[i], true
		}
	}
	return nil, false
}

func (p *pass) report() *Report {
	out := &Report{
		APIVersion: v1alpha1.APIVersion, Kind: ReportKind, Owner: p.engine.self.Owner, Origin: p.engine.self.Origin, Revision: p.engine.tree.Revision,
		Changed: p.changed, Raced: p.raced, Plans: map[string]*plan.Plan{}, Seeds: []SeedReport{},
		ReadErr: p.readErr, Repos: map[string]RepoReport{}, Catalog: p.catalog,
	}
	if p.engine.config.Interval > 0 {
		out.Interval = p.engine.heartbeat().String()
	}
	if p.engine.tree.Settings != nil {
		out.Settings = p.engine.tree.Settings.Version
	}
	if p.readErr != nil {
		out.Problems = append(out.Problems, fmt.Sprintf("the control-plane repository cannot be read: %v; what was read last stays in force", p.readErr))
		out.RetryAfter, _ = git.RetryAfter(p.readErr)
	}
	out.Stale = p.stale()
	for _, problem := range p.catalog.Problems {
		out.Problems = append(out.Problems, problem.Error())
	}
	for _, skipped := range p.catalog.Skipped {
		out.Warnings = append(out.Warnings, skipped.Error())
	}
	for _, name := range slices.Sorted(maps.Keys(p.repos)) {
		r := p.repos[name]
		if r.err != nil {
			out.Problems = append(out.Problems, r.err.Error())
		}
		out.Repos[name] = RepoReport{URL: git.Remote{URL: p.catalog.Repos[name].Spec.URL}.String(), Head: r.head, Proposals: p.countProposals(r), Err: r.err}
	}
	for _, name := range slices.Sorted(maps.Keys(p.seeds)) {
		if d := p.seeds[name]; !p.foreignSeed(d) {
			out.Seeds = append(out.Seeds, p.reportSeed(d))
			out.Plans[name] = d.plan
		}
	}
	return out
}

// stale is what cannot be read in this pass, and since when that has been so.
func (p *pass) stale() []StaleReport {
	unread := map[string]bool{"": p.readErr != nil}
	for name, r := range p.repos {
		unread[name] = r.err != nil
	}
	var out []StaleReport
	for _, name := range slices.Sorted(maps.Keys(unread)) {
		since, known := p.engine.unread[name]
		switch {
		case !unread[name]:
			delete(p.engine.unread, name)
			continue
		case !known:
			since = p.engine.config.Now().UTC().Truncate(time.Second)
			p.engine.unread[name] = since
		}
		out = append(out, StaleReport{name, since})
	}
	return out
}

// keepSince lets what was stale already when another run reported it be so since then.
func (r *Report) keepSince(had *Report) {
	r.Stale = slices.Clone(r.Stale)
	for i := range r.Stale {
		for _, before := range had.Stale {
			if before.Repo == r.Stale[i].Repo && before.Since.Before(r.Stale[i].Since) {
				r.Stale[i].Since = before.Since
			}
		}
	}
}

// countProposals counts the open proposals of the seeds that the engine cares for.
func (p *pass) countProposals(r *repoState) int {
	count := 0
	for _, proposal := range r.proposals {
		if _, ours := p.seeds[proposal.Tier.Seed]; ours && !proposal.Rejected {
			count++
		}
	}
	return count
}

// foreignSeed says that the seed is another engine's, and not ours to report.
func (p *pass) foreignSeed(d *seedDecision) bool {
	return d.plan == nil && d.err == nil
}

func (p *pass) reportSeed(d *seedDecision) SeedReport {
	out := SeedReport{Name: d.name, Unconfirmed: d.waiting()}
	if d.plan != nil {
		out.Removal = d.plan.Removal
		for i := range d.plan.Tiers {
			out.Tiers = append(out.Tiers, p.reportTier(d, &d.plan.Tiers[i], d.result.Tiers[i]))
		}
		for _, w := range d.plan.Warnings {
			out.Warnings = append(out.Warnings, w.String())
		}
		for _, cluster := range slices.Sorted(maps.Keys(d.broken)) {
			out.Warnings = append(out.Warnings, fmt.Sprintf("cluster %s stays as it was last planned: %s", cluster, d.broken[cluster]))
		}
		out.State = summary(out.Tiers)
	}
	if seed, ok := p.catalog.Seed(d.name); ok {
		for _, skipped := range seed.Skipped { // since the plan was made, or by a seed that has none
			if w := skipped.Error(); !slices.Contains(out.Warnings, w) {
				out.Warnings = append(out.Warnings, w)
			}
		}
	}
	if d.err != nil {
		out.State, out.Message = Stalled, d.err.Error()
	}
	return out
}

// urgency has the states by how much they say about what is to be done: those that
// need a person first, then what is under way.
var urgency = []release.State{
	release.Held, release.Failed, release.Rejected, release.Reverted, release.Outdated, release.Proposed, release.Queued,
	release.Merged, release.Progressing, release.Blocked, release.Released, release.Gone,
}

// MostUrgent is the tier that says most about what is to be done, the first of
// those that say the same; nil of none.
func MostUrgent(tiers []TierReport) *TierReport {
	for _, s := range urgency {
		if i := slices.IndexFunc(tiers, func(t TierReport) bool { return t.UrgentAs() == s }); i >= 0 {
			return &tiers[i]
		}
	}
	return nil
}

// Urgency orders states of tiers and seeds: what needs a person first, what nothing
// is known of right after.
func Urgency(state string) int {
	if state == Stalled {
		return -2
	}
	return slices.Index(urgency, release.State(state))
}

func summary(tiers []TierReport) string {
	if t := MostUrgent(tiers); t != nil {
		return string(t.State)
	}
	return string(release.Released) // of no tiers: other seeds have all that it wants
}

func (p *pass) reportTier(d *seedDecision, t *plan.Tier, s release.TierStatus) TierReport {
	out := TierReport{Cluster: t.Cluster, Ordinal: t.Ordinal, Level: t.Level, State: s.State, Message: s.Message, Since: s.Since, Amended: s.Amended, Objects: len(d.plan.Objects(t)), Wants: t.Wants()}
	out.Retry = release.Retriable(s, d.facts.Tiers[s.Tier])
	if err := d.problems[s.Tier]; err != nil {
		switch {
		case !git.IsTransient(err):
			out.State, out.Message = release.Held, err.Error()
		case out.State != release.Held: // it is done as soon as the servers answer
			out.Message = err.Error()
		}
	}
	out.Foreign = d.facts.Tiers[s.Tier].Foreign
	for _, w := range s.Waits {
		out.Waits = append(out.Waits, WaitReport{tierName(d.name, w.Tier), w.State, w.Why})
	}
	r := p.repos[t.Repo]
	proposal, open := r.proposals[layout.TierBranch(r.base, s.Tier)]
	if open && s.Act != release.ActSupersede {
		out.Proposal = &ProposalReport{Repo: t.Repo, Branch: proposal.Branch, Title: manifest.Printable(proposal.Title), URL: proposal.URL, Gate: s.Shut()}
	}
	return out
}

// publish keeps the report on the status branch of its home, the first repository by name, where it has changed.
// Nothing is lost when that fails: the next pass does it again. It goes nowhere else, for nobody would read it there.
func (p *pass) publish(ctx context.Context, report *Report) {
	home := p.catalog.Home()
	for _, name := range slices.Sorted(maps.Keys(p.repos)) {
		r := p.repos[name]
		write := func() error { return p.dropStatus(ctx, r, p.repos[home]) }
		if name == home {
			write = func() error { return p.writeStatus(ctx, r, report) }
		}
		if r.err != nil {
			continue
		}
		if err := write(); err != nil {
			report.Problems = append(report.Problems, fmt.Sprintf("GitOpsRepo %q: the status cannot be written: %v", name, err))
		}
	}
}

// dropStatus deletes a report of this control plane from a repository that is not its home, any more. Resources of
// other namespaces may give it another home, and two documents may name one repository.
func (p *pass) dropStatus(ctx context.Context, r, home *repoState) error {
	branch := layout.StatusBranch(r.base, p.engine.self.Owner)
	old := r.refs[branch]
	if old.IsZero() || p.tree.Settings != nil || home == nil || home.err != nil || home.refs[branch] == old {
		return nil
	}
	had, err := r.readStatus(ctx, old)
	if err != nil || had == nil || had.Identity() != p.engine.self {
		return err
	}
	err = r.finish(ctx, []git.Update{{Ref: branch, Old: old}})
	if git.IsLeaseRefused(err) {
		return nil
	}
	return err
}

// Identity is whose report it is.
func (r *Report) Identity() plan.Identity { return plan.Identity{Owner: r.Owner, Origin: r.Origin} }

// readStatus reads a report; nil where the branch has none that can be read.
func (r *repoState) readStatus(ctx context.Context, commit git.Hash) (*Report, error) {
	tree, err := r.Mirror.FS(ctx, commit)
	if err != nil {
		return nil, err
	}
	data, err := fs.ReadFile(tree, StatusFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var had Report
	if yaml.Unmarshal(data, &had) != nil {
		return nil, nil
	}
	return &had, nil
}

// published is a report as JSON, by its digest, the commit that has it, and when that was
// made. To write YAML takes long where the report does.
type published struct {
	report [sha256.Size]byte
	at     git.Hash
	when   time.Time
}

// minHeartbeat bounds how often a status is pushed in which nothing has changed.
const minHeartbeat = time.Minute

// heartbeat is how old a status may become before it is published again as it is, so
// that people see that passes are being made.
func (e *Engine) heartbeat() time.Duration { return max(e.config.Interval, minHeartbeat) }

// fresh says that a status that was published then need not be published again. Where
// there are custom resources, these say whether passes are made.
func (p *pass) fresh(when time.Time) bool {
	return p.tree.Settings != nil || p.engine.config.Now().Sub(when) < p.engine.heartbeat()
}

func (p *pass) writeStatus(ctx context.Context, r *repoState, report *Report) error {
	branch := layout.StatusBranch(r.base, p.engine.self.Owner)
	old := r.refs[branch]
	data, err := json.Marshal(report)
	if err != nil {
		return err
	}
	is, was := published{report: sha256.Sum256(data), at: old}, p.engine.reported
	if !old.IsZero() && was.report == is.report && was.at == old && p.fresh(was.when) {
		return nil
	}
	tip := git.CommitInfo{}
	if !old.IsZero() {
		if had, err := r.Mirror.Commit(old); err == nil {
			tip, is.when = had, had.Committer.When
		}
	}
	all, done, err := p.withOthers(ctx, r, report)
	if err != nil {
		return err
	}
	if done && was.report == is.report && p.fresh(is.when) {
		p.engine.reported = is // others wrote since, and kept what is ours
		return nil
	}
	if data, err = manifest.YAML(all); err != nil {
		return err
	}
	tree, err := r.Mirror.WriteTree(map[string][]byte{StatusFile: data})
	if err != nil {
		return err
	}
	if tip.Tree == tree.Hash && p.fresh(is.when) {
		p.engine.reported = is
		return nil
	}
	// A report has no past: its commit has no parent, so that the branch does not grow.
	by := p.engine.person()
	commit, err := r.Mirror.CommitTree(tree.Hash, nil, git.CommitMeta{Author: by, Message: "Report the state of all seeds\n"})
	if err != nil {
		return err
	}
	err = r.finish(ctx, []git.Update{{Ref: branch, Old: old, New: commit, Objects: append(tree.Objects, commit)}})
	if git.IsLeaseRefused(err) {
		return nil // another engine was faster, and has seen no less
	}
	if err == nil {
		p.engine.reported = published{is.report, commit, by.When}
		r.refs[branch] = commit
	}
	return err
}

// withOthers adds what other engines of this control plane reported last of the seeds that
// they care for: resources in several namespaces may share a tree. done says that the
// status has what this engine reports of its own seeds. A seed whose plan is gone is
// gone; of one that never had any that is not known. The report of another control plane stays.
func (p *pass) withOthers(ctx context.Context, r *repoState, report *Report) (all *Report, done bool, err error) {
	branch := layout.StatusBranch(r.base, p.engine.self.Owner)
	old := r.refs[branch]
	if old.IsZero() {
		return report, false, nil
	}
	had, err := r.readStatus(ctx, old)
	switch {
	case err != nil:
		return nil, false, err
	case had == nil:
		return report, false, nil // a person's text is written over
	case had.Identity() != p.engine.self:
		return nil, false, plan.ErrForeignStatus(branch, had.Identity(), p.engine.self)
	}
	ours, out := []SeedReport{}, *report
	out.keepSince(had)
	if p.tree.Settings == nil {
		return &out, false, nil
	}
	out.Seeds = slices.Clone(report.Seeds)
	for _, s := range had.Seeds {
		of := p.previous[s.Name]
		switch {
		case p.tree.scopes(s.Name):
			ours = append(ours, s)
		case len(s.Tiers) == 0 || of != nil && of.plan != nil && p.engine.owns(of.plan):
			out.Seeds = append(out.Seeds, s)
		}
	}
	slices.SortFunc(out.Seeds, func(a, b SeedReport) int { return strings.Compare(a.Name, b.Name) })
	is, err := json.Marshal(report.Seeds)
	if err != nil {
		return nil, false, err
	}
	was, err := json.Marshal(ours)
	return &out, bytes.Equal(is, was), err
}
