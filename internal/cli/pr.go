package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/core/template"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

func newPR() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pr",
		Short: "List, show, compare, merge and reject proposals",
		Long: `A proposal carries one tier on a branch, furrow/<base>/tier/<seed>/<cluster>/<tier>, or, where
the seed has spec.rollout.groupBy, several on furrow/<base>/group/<seed>/<group>. On a
forge it is a pull request: use the forge's pages, or these commands, which act as the user of
the credentials.

On plain Git the branch is the proposal. It is accepted when the base branch has its content:
merge it with git or with 'furrow pr merge'. Plain Git remembers no closed proposals. A branch
that is deleted is proposed again; to refuse a proposal, reject it. A squashed merge by hand
counts like any other, but a later revert of it is not recognised as one.

PROPOSAL is <seed>/<cluster>/<tier> or <seed>/<group>, as 'furrow pr list' shows it, or the
branch. One of several tiers is also found by each of them.`,
		Example: `  furrow pr list
  furrow pr show edge-5g/mgmt/00
  furrow pr diff edge-5g/mgmt/00
  furrow pr merge edge-5g/mgmt/00
  furrow pr reject edge-5g/mgmt/00 --reason "not before Monday"`,
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPRList(), newPRShow(), newPRDiff(), newPRMerge(), newPRReject())
	return cmd
}

// located is a proposal and where it is: what the forge says of it, whose it is, and whether it may
// be merged.
type located struct {
	repo     *controlplane.Repo
	proposal forge.Proposal
	// owner is whose plan it carries, and ours reports whether it is this control plane's.
	owner plan.Identity
	ours  bool
	// gate says why it must not be merged now; empty when it may be.
	gate manifest.Problem
	// outdated reports whether it carries what an earlier plan has.
	outdated bool
	// refs are the branches of its repository, and states those of the seed's tiers and waves, as a
	// run reported them last.
	refs   git.Refs
	states controlplane.SeedStates
	// commit is the head, where it can be read.
	commit git.CommitInfo
	// merged says how the proposal was merged; nil if it was not.
	merged *prMerged
}

// prMerged says how a proposal was merged, as -o yaml and -o json show it.
type prMerged struct {
	// Commit is the one on the base branch, and At is when it was made. By is who merged, and only a merge
	// commit names that person. What is not known is empty.
	Commit string    `json:"commit,omitempty"`
	At     time.Time `json:"at,omitzero"`
	By     string    `json:"by,omitempty"`
}

// text says in what a proposal was merged, and by whom.
func (m *prMerged) text() string {
	text := "Merged"
	if m.Commit != "" {
		text += fmt.Sprintf(" as %.10s", m.Commit)
	}
	if m.By != "" {
		text += " by " + printable(m.By)
	}
	return text
}

// prView is a proposal as -o yaml and -o json show it.
type prView struct {
	Repo   string `json:"repo"`
	Branch string `json:"branch"`
	// Tier is the one that it carries, or Tiers where there are several.
	Tier  string   `json:"tier,omitempty"`
	Tiers []string `json:"tiers,omitempty"`
	// Owner and Origin are those of the control plane whose plan it carries; empty where
	// there is no such plan any more.
	Owner  string `json:"owner,omitempty"`
	Origin string `json:"origin,omitempty"`
	State  string `json:"state"`
	Title  string `json:"title"`
	Body   string `json:"body,omitempty"`
	Digest string `json:"digest"`
	Head   string `json:"head"`
	Reason string `json:"reason,omitempty"`
	// Gate says why it must not be merged now.
	Gate       string          `json:"gate,omitempty"`
	GateReason v1alpha1.Reason `json:"gateReason,omitempty"`
	URL        string          `json:"url,omitempty"`
	// Merged says how it was merged, of one that was.
	Merged *prMerged `json:"merged,omitempty"`
	// Requires is what the base branch asks of a merge, of one that is shown alone.
	Requires []string `json:"requires,omitempty"`
	// Changes are those of one that is shown alone.
	Changes []prChange `json:"changes,omitempty"`
}

// viewOf returns what programs get of a proposal.
func viewOf(l located) prView {
	p := l.proposal
	v := prView{Repo: l.repo.Name, Branch: p.Branch, Owner: l.owner.Owner, Origin: l.owner.Origin, State: prState(l), Title: p.Title, Digest: p.Digest, Head: p.Head.String(), Reason: p.Reason, Gate: l.gate.Message, GateReason: l.gate.Reason, URL: p.URL, Merged: l.merged}
	for _, m := range p.Tiers {
		v.Tiers = append(v.Tiers, m.Tier.String())
	}
	if len(v.Tiers) == 1 {
		v.Tier, v.Tiers = v.Tiers[0], nil
	}
	return v
}

// foreign reports whether somebody else's branch is where a proposal would be: its commits do not
// say what they carry, as Furrow's do.
func foreign(p forge.Proposal) bool { return p.Digest == "" }

// prState returns the word for a proposal in tables, the one that matters most: one that is stale
// cannot be merged, whatever its gate.
func prState(l located) string {
	switch p := l.proposal; {
	case l.merged != nil:
		return "Merged"
	case p.Rejected:
		return "Rejected"
	case foreign(p):
		return "Foreign"
	case p.Differs != "":
		return "Edited"
	case p.Stale:
		return "Stale"
	case p.Edited && (l.gate.Reason == "" || l.gate.Reason == v1alpha1.ReasonEditedOnPlainGit):
		return "Edited"
	case l.gate.Reason != "":
		return "Blocked"
	}
	return "Open"
}

func newPRList() *cobra.Command {
	var session sessionFlags
	var output outputFlag
	var filter prFilter
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List open and rejected proposals, and with --state Merged those merged last",
		Example: `  furrow pr list --seed web --state Open
  furrow pr list --state Merged
  furrow pr list --cluster edge-1 -o json`,
		Args: exactly(0, "no arguments"),
		RunE: session.with(func(cmd *cobra.Command, s *controlplane.Session, _ []string) error {
			all, deleted, err := readProposals(cmd.Context(), s)
			if err != nil {
				return err
			}
			all = append(all, deleted...)
			if slices.Contains(filter.states, "Merged") {
				merged, err := mergedProposals(cmd.Context(), s)
				if err != nil {
					return err
				}
				all = append(all, merged...)
			}
			open := len(all)
			all = slices.DeleteFunc(all, func(l located) bool { return !filter.matches(l) })
			views := make([]prView, len(all))
			for i, l := range all {
				views[i] = viewOf(l)
			}
			return output.write(cmd.OutOrStdout(), views, func(w io.Writer) {
				switch {
				case open == 0:
					fmt.Fprintln(w, "No proposal is open.")
					return
				case len(all) == 0:
					fmt.Fprintf(w, "None of %s matches.\n", plural(open, "proposal"))
					return
				}
				stateRows(w, 2, listLines(all, time.Now()))
			})
		}),
	}
	session.add(cmd)
	output.add(cmd)
	filter.add(cmd, &session)
	return cmd
}

// add adds the flags.
func (f *prFilter) add(cmd *cobra.Command, session *sessionFlags) {
	cmd.Flags().Var(listFlag(&f.seeds, dnsLabel), "seed", "only those of a seed; several with commas between them")
	cmd.Flags().Var(listFlag(&f.clusters, dnsLabel), "cluster", "only those with a tier on a cluster; several with commas between them")
	cmd.Flags().Var(listFlag(&f.states, checkState), "state", "only those in a state: "+strings.Join(prStates, ", "))
	mustComplete(cmd, "seed", session.completeSeeds)
	mustComplete(cmd, "state", cobra.FixedCompletions(prStates, cobra.ShellCompDirectiveNoFileComp))
	mustComplete(cmd, "cluster", cobra.NoFileCompletions)
}

// listLines returns the lines of 'furrow pr list'; they name owners only where there are others
// than this control plane.
func listLines(all []located, now time.Time) [][]string {
	shared := slices.ContainsFunc(all, func(l located) bool { return !l.ours })
	lines := [][]string{{"REPO", "PROPOSAL", "STATE"}}
	for _, l := range all {
		lines = append(lines, []string{l.repo.Name, l.shortName(), prState(l)})
	}
	for i := range lines {
		owner, what, age := "OWNER", "WHAT", "AGE"
		if i > 0 {
			owner, what, age = all[i-1].ownerLabel(), all[i-1].what(), all[i-1].age(now)
		}
		if shared {
			lines[i] = append(lines[i], owner)
		}
		lines[i] = append(lines[i], what, age)
	}
	return lines
}

// age returns how old the content of the proposal is; empty where that is not known.
func (l located) age(now time.Time) string {
	if l.merged != nil && !l.merged.At.IsZero() {
		return age(now, l.merged.At)
	}
	if l.commit.Hash.IsZero() {
		return ""
	}
	return age(now, l.commit.Committer.When)
}

// what says what it does, without the seed, cluster and tier that its name says already, and how much.
func (l located) what() string {
	if l.merged != nil {
		return l.merged.text()
	}
	what := l.proposal.Title
	if l.proposal.Destroys {
		what = strings.TrimSuffix(what, template.DestroysMark)
	}
	if len(l.proposal.Tiers) == 1 && l.carries(l.shortName()) {
		t := l.proposal.Tiers[0].Tier
		what = strings.TrimSuffix(what, fmt.Sprintf(" %s on %s, tier %s", t.Seed, t.Cluster, t.Number()))
	}
	if l.proposal.Destroys {
		what += template.DestroysMark
	}
	if l.proposal.Edited || foreign(l.proposal) {
		return what
	}
	_, body, _ := strings.Cut(l.commit.Message, "\n\n")
	summary, _, _ := strings.Cut(body, "\n")
	if !summaryLine.MatchString(summary) {
		return what
	}
	return what + ": " + strings.TrimSuffix(summary, ".")
}

// summaryLine is what review.Message begins with: how many objects change.
var summaryLine = regexp.MustCompile(`^\d+ (added|changed|moved|removed|unchanged)\b`)

// asked says who asked for what the proposal does, as far as a run has reported it: who confirmed what
// the deletion guard held of its seed, and who abandoned its clusters.
func (l located) asked() (lines [][]string) {
	if l.states.Confirmed != "" {
		lines = append(lines, []string{"Confirmed", l.states.Confirmed + "; the deletion guard held what leaves"})
	}
	for _, a := range l.states.Abandoned {
		if slices.ContainsFunc(l.proposal.Tiers, func(m layout.Member) bool { return m.Tier.Cluster == a.Cluster }) {
			lines = append(lines, []string{"Abandoned", strings.TrimSpace(a.Cluster + " " + a.By)})
		}
	}
	return lines
}

// ownerLabel names whose proposal it is.
func (l located) ownerLabel() string {
	switch {
	case l.ours:
		return "this one"
	case l.owner == plan.Identity{}:
		return "unknown"
	}
	return fmt.Sprintf("%s (origin %s)", l.owner.Owner, l.owner.ShortOrigin())
}

// shortName is <seed>/<cluster>/<tier>, or <seed>/<group> of a proposal of several.
func (l located) shortName() string { return layout.ProposalName(l.repo.Base, l.proposal.Branch) }

// named reports whether it is the proposal's own name; carries whether it is that of one of its
// tiers.
func (l located) named(name string) bool { return name == l.proposal.Branch || name == l.shortName() }

func (l located) carries(name string) bool {
	return slices.ContainsFunc(l.proposal.Tiers, func(m layout.Member) bool {
		return name == layout.ProposalName(l.repo.Base, layout.TierBranch(l.repo.Base, m.Tier))
	})
}

// choose returns the proposal that a person means by a name: its own name first, then that of a
// tier. A tier may be in a rejected proposal as it was, and in an open one as it is, so open ones
// come first.
func choose(all []located, name string) (located, bool) {
	for _, means := range []func(located) bool{
		func(l located) bool { return l.named(name) },
		func(l located) bool { return l.carries(name) && !l.proposal.Rejected },
		func(l located) bool { return l.carries(name) },
	} {
		if i := slices.IndexFunc(all, means); i >= 0 {
			return all[i], true
		}
	}
	return located{}, false
}

// proposals returns all proposals in the GitOps repositories of a control plane, of all owners, by
// repository, as the forge lists them. It fetches the repositories. Gates are known only when all
// of them are read, because a control plane reports in one repository on its proposals in all;
// hence the second loop.
func proposals(ctx context.Context, s *controlplane.Session) ([]located, error) {
	all, _, err := readProposals(ctx, s)
	return all, err
}

// readProposals returns those, and the rejected ones whose branches were deleted, which still hold a
// tier.
func readProposals(ctx context.Context, s *controlplane.Session) (out, deleted []located, err error) {
	repos, self, err := s.Repos(ctx)
	if err != nil {
		return nil, nil, err
	}
	var gates controlplane.Gates
	for _, name := range slices.Sorted(maps.Keys(repos)) {
		r := repos[name]
		refs, err := r.Mirror.Fetch(ctx, r.Base)
		if err != nil {
			return nil, nil, fmt.Errorf("GitOpsRepo %q: %w", name, err)
		}
		if err := gates.Read(ctx, r, refs); err != nil {
			return nil, nil, err
		}
		list, err := r.Forge.List(ctx, refs)
		if err != nil {
			return nil, nil, fmt.Errorf("GitOpsRepo %q: %w", name, err)
		}
		owners := r.Owners(refs)
		if keeper, ok := r.Forge.(interface {
			RejectedWithoutBranch(git.Refs) []forge.Proposal
		}); ok {
			for _, p := range keeper.RejectedWithoutBranch(refs) {
				of, err := owners.Of(ctx, p.Seed)
				if err != nil {
					return nil, nil, fmt.Errorf("GitOpsRepo %q: %w", name, err)
				}
				p.Title = cmp.Or(p.Reason, "closed unmerged")
				deleted = append(deleted, located{repo: r, owner: of, ours: of == self, refs: refs, proposal: p})
			}
		}
		for _, p := range list {
			of, err := owners.Of(ctx, p.Seed)
			if err != nil {
				return nil, nil, fmt.Errorf("GitOpsRepo %q: %w", name, err)
			}
			commit, err := r.Mirror.Commit(p.Head)
			if err != nil {
				commit = git.CommitInfo{} // its age is not known then
			}
			l := located{repo: r, owner: of, ours: of == self, refs: refs, commit: commit}
			if l.proposal, l.outdated, err = r.Verify(ctx, refs, p); err != nil {
				return nil, nil, fmt.Errorf("GitOpsRepo %q: %w", name, err)
			}
			out = append(out, l)
		}
	}
	for i := range out {
		out[i].states = gates.Seed(out[i].proposal.Seed)
		out[i].proposal.MergeBy = gates.MergeBy(out[i].repo.Name)
		if p := out[i].proposal; !p.Rejected && !foreign(p) {
			out[i].gate = out[i].shut(gates)
		}
	}
	deleted = slices.DeleteFunc(deleted, func(l located) bool {
		return !slices.ContainsFunc(l.proposal.Tiers, func(m layout.Member) bool {
			listed := slices.ContainsFunc(out, func(o located) bool { return o.repo == l.repo && o.proposal.Carries(m.Tier, m.Digest) })
			return !listed && gates.Seed(m.Tier.Seed).Tiers[m.Tier] == release.Rejected
		})
	})
	return out, deleted, nil
}

// mergedProposals returns the proposals that were merged last, as the last listing of each repository has
// them: the servers are asked nothing more.
func mergedProposals(ctx context.Context, s *controlplane.Session) (out []located, err error) {
	repos, self, err := s.Repos(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(repos)) {
		r := repos[name]
		refs, err := r.Mirror.Seen()
		if err != nil {
			return nil, fmt.Errorf("GitOpsRepo %q: %w", name, err)
		}
		list, err := r.Forge.Merged(ctx, refs)
		if err != nil {
			return nil, fmt.Errorf("GitOpsRepo %q: %w", name, err)
		}
		owners := r.Owners(refs)
		for _, m := range list {
			seed, _ := layout.SeedOfBranch(r.Base, m.Branch)
			of, err := owners.Of(ctx, seed)
			if err != nil {
				return nil, fmt.Errorf("GitOpsRepo %q: %w", name, err)
			}
			merged := &prMerged{}
			if c, err := r.Mirror.Commit(m.Merge); !m.Merge.IsZero() && err == nil {
				merged.Commit, merged.At = m.Merge.String(), c.Committer.When
				if len(c.Parents) > 1 {
					merged.By = c.Author.Name
				}
			}
			out = append(out, located{repo: r, owner: of, ours: of == self, refs: refs, merged: merged,
				proposal: forge.Proposal{Branch: m.Branch, Seed: seed, URL: m.URL, Carried: forge.Carried{Tiers: m.Tiers}}})
		}
	}
	return out, nil
}

// shut returns why a proposal must not be merged now; the reason is empty if it may be. What its
// branch holds now goes before what was reported of it.
func (l located) shut(gates controlplane.Gates) manifest.Problem {
	p := l.proposal
	if p.Differs != "" {
		return manifest.Problem{Reason: v1alpha1.ReasonProposalDiffers, Message: p.Differs}
	}
	gate := gates.Shut(p.Branch, l.owner.Owner)
	switch {
	case gate.Reason != "" || p.Stale:
	case l.outdated && !p.Edited:
		gate = manifest.Problem{Reason: v1alpha1.ReasonProposalOutdated, Message: "it carries an earlier plan, and is updated by the next pass"}
	case p.Edited && !l.repo.Forge.Amends():
		gate = manifest.Problem{Reason: v1alpha1.ReasonEditedOnPlainGit, Message: release.EditedOnPlainGit(p.Branch)}
	}
	return gate
}

// find finds a proposal by its branch or its short name, or by a tier that it carries.
func find(ctx context.Context, s *controlplane.Session, name string) (located, error) {
	all, err := proposals(ctx, s)
	if err != nil {
		return located{}, err
	}
	if l, ok := choose(all, name); ok {
		return l, nil
	}
	var names []string
	for _, l := range all {
		names = append(names, l.shortName())
	}
	if len(names) == 0 {
		return located{}, manifest.Problem{Reason: v1alpha1.ReasonUnknownProposal, Message: fmt.Sprintf("there is no proposal %q; none is open", name)}
	}
	return located{}, manifest.Problem{Reason: v1alpha1.ReasonUnknownProposal, Message: fmt.Sprintf("there is no proposal %q; there are: %s", name, some(manifest.Nearest(name, names)))}
}

// some joins the first names of a list, and says how many others there are.
func some(names []string) string {
	if len(names) <= maxNames {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), len(names)-maxNames)
}

func newPRShow() *cobra.Command {
	var session sessionFlags
	var output outputFlag
	cmd := &cobra.Command{
		Use:     "show PROPOSAL",
		Short:   "Show a proposal: what it changes and why, what came before and what comes next",
		Example: "  furrow pr show edge-5g/mgmt/00",
		Args:    exactly(1, "one proposal: its branch, or <seed>/<cluster>/<tier>"),
		RunE: session.with(func(cmd *cobra.Command, s *controlplane.Session, args []string) error {
			l, err := find(cmd.Context(), s, args[0])
			if err != nil {
				return err
			}
			r, err := readReview(cmd.Context(), l)
			if err != nil {
				return err
			}
			text, err := r.text(cmd.Context(), s)
			if err != nil {
				return err
			}
			view := viewOf(l)
			view.Changes = r.changes()
			required, err := l.repo.Forge.Requires(cmd.Context())
			if err != nil {
				return err
			}
			view.Requires = required.List()
			if view.Body, err = r.body(cmd.Context(), s); err != nil {
				return err
			}
			return output.write(cmd.OutOrStdout(), view, func(w io.Writer) { proposalTable(w, l, view.Requires, text) })
		}),
	}
	cmd.ValidArgsFunction = session.completeProposals
	session.add(cmd)
	output.add(cmd)
	return cmd
}

func newPRDiff() *cobra.Command {
	var session sessionFlags
	cmd := &cobra.Command{
		Use:     "diff PROPOSAL",
		Short:   "Show the lines that a proposal changes, object by object",
		Example: "  furrow pr diff edge-5g/mgmt/00",
		Args:    exactly(1, "one proposal: its branch, or <seed>/<cluster>/<tier>"),
		RunE: session.with(func(cmd *cobra.Command, s *controlplane.Session, args []string) error {
			l, err := find(cmd.Context(), s, args[0])
			if err != nil {
				return err
			}
			r, err := readReview(cmd.Context(), l)
			if err != nil {
				return err
			}
			if r.plan == nil {
				return manifest.Problem{Reason: v1alpha1.ReasonUnknownProposal, Path: l.proposal.Branch,
					Message: fmt.Sprintf("the repository has no plan of %s any more", l.shortName()), Next: fmt.Sprintf("Use git: git diff %s...%s", l.repo.Base, l.proposal.Branch)}
			}
			return show(cmd.OutOrStdout(), func(w io.Writer) { r.writeDiff(w) })
		}),
	}
	cmd.ValidArgsFunction = session.completeProposals
	session.add(cmd)
	return cmd
}

// proposalTable shows what a reviewer needs: what it is, where, and how to go on.
func proposalTable(w io.Writer, l located, requires []string, text string) {
	p := l.proposal
	state := prState(l)
	if p.Reason != "" {
		state += ": " + p.Reason
	}
	heading(w, p.Title)
	fmt.Fprintln(w)
	lines := [][]string{{"State", state}}
	if l.gate.Reason != "" {
		lines = append(lines, []string{"Gate", release.DoNotMerge + l.gate.Message})
	}
	if len(requires) > 0 {
		lines = append(lines, []string{"To merge", strings.Join(requires, ", ")})
	}
	lines = append(lines, l.asked()...)
	if !l.ours {
		lines = append(lines, []string{"Owner", l.ownerLabel()})
	}
	lines = append(lines, [][]string{
		{"Repository", l.repo.Name},
		{"Branch", p.Branch},
		{"Diff", "furrow pr diff " + l.shortName()},
	}...)
	if p.URL != "" {
		lines = append(lines, []string{"URL", p.URL})
	}
	stateRows(w, 1, lines)
	fmt.Fprintln(w)
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		indented := strings.TrimLeft(line, " ")
		paragraph(w, line[:len(line)-len(indented)]+"  ", line)
	}
}

func newPRMerge() *cobra.Command {
	var session sessionFlags
	var merge prMerge
	cmd := &cobra.Command{
		Use:   "merge PROPOSAL",
		Short: "Accept a proposal: merge its branch into the base branch",
		Long: `Merge accepts a proposal or, with --all, all open ones of this control plane; what other control
planes propose in the same repositories is merged only by its name. --seed, --cluster and --state
choose among them. What must not be merged now is left out, and
makes the command fail: a proposal whose gate fails, as the run reported it last, because
something that it waits for is not released any more, and one under which the base branch has
changed. --force merges the former all the same, and says what it skips. A proposal that a person
has edited is merged only by its name, and one that is not what was planned not at all.

What deletes something is merged only with --removals. --dry-run says what would be merged.`,
		Example: `  furrow pr merge edge-5g/mgmt/00
  furrow pr merge --all --seed web --dry-run
  furrow pr merge --all --removals`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case merge.all != (len(args) == 0) || len(args) > 1:
				return usageError{errors.New("name one proposal (<seed>/<cluster>/<tier>, <seed>/<group> or its branch), or --all")}
			case !merge.all && merge.filter.isSet():
				return usageError{errors.New("--seed, --cluster and --state are for --all")}
			}
			return nil
		},
		RunE: session.with(merge.run),
	}
	cmd.ValidArgsFunction = session.completeProposals
	session.add(cmd)
	merge.filter.add(cmd, &session)
	cmd.Flags().BoolVar(&merge.all, "all", false, "merge all open proposals of this control plane; rejected ones are left out")
	cmd.Flags().BoolVar(&merge.force, "force", false, "merge also what must not be merged now because its gate fails")
	cmd.Flags().BoolVar(&merge.removals, "removals", false, "merge also what deletes something")
	cmd.Flags().BoolVar(&merge.dryRun, "dry-run", false, "say what would be merged, and merge nothing")
	return cmd
}

// prMerge is furrow pr merge. The gates that it checks are those of the last report, and as old as
// that.
type prMerge struct {
	all, force, removals, dryRun bool
	filter                       prFilter
}

// run merges one proposal by its name, whosever it is, or all open ones of this control plane. Each
// is merged as it was when it was listed, or not at all. One that cannot be merged keeps no other
// from it.
func (m *prMerge) run(cmd *cobra.Command, s *controlplane.Session, names []string) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	var chosen []located
	if len(names) == 1 {
		l, err := find(ctx, s, names[0])
		if err != nil {
			return err
		}
		chosen = append(chosen, l)
	} else {
		all, err := proposals(ctx, s)
		if err != nil {
			return err
		}
		if chosen, err = m.choose(ctx, out, all); err != nil {
			return err
		}
	}
	var errs []error
	for _, l := range chosen {
		// With --all, one that cannot be merged does not keep the others from it.
		if err := m.mayMerge(ctx, l); err != nil {
			errs = append(errs, err)
			continue
		}
		did := "Merged"
		if m.dryRun {
			did = "Would merge"
			if err := refused(l); err != nil {
				errs = append(errs, err)
				continue
			}
		} else if err := patiently(cmd.ErrOrStderr(), l.proposal.Branch, func() error { return l.repo.Forge.Merge(ctx, l.proposal, person(ctx)) }); forge.IsQueued(err) {
			did = "Queued to merge"
		} else if err != nil {
			errs = append(errs, notMerged(l, err))
			continue
		}
		fmt.Fprintf(out, "%s %s into %s of %s.\n", did, l.proposal.Branch, l.repo.Base, l.repo.Name)
		if l.gate.Reason != "" {
			fmt.Fprintf(out, "Skipped its gate: %s.\n", strings.TrimSuffix(l.gate.Message, "."))
		}
	}
	return errors.Join(errs...)
}

// mergePatience is after how long a merge says what it waits for, and how often.
const mergePatience = 5 * time.Second

// patiently merges, and says what it waits for while the server takes its time: Gitea tests all open
// pull requests again after each merge, and merges none meanwhile.
func patiently(w io.Writer, branch string, merge func() error) error {
	done := make(chan error, 1)
	go func() { done <- merge() }()
	began, ticker := time.Now(), time.NewTicker(mergePatience)
	defer ticker.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-ticker.C:
			fmt.Fprintf(w, "Waiting for the server to merge %s, for %s now: after each merge it tests all open ones again.\n", branch, time.Since(began).Round(time.Second))
		}
	}
}

// choose returns the open proposals of this control plane that the filter matches, without removals
// unless they are asked for, and says what it leaves out.
func (m *prMerge) choose(ctx context.Context, w io.Writer, all []located) ([]located, error) {
	chosen := slices.DeleteFunc(all, func(l located) bool { return l.proposal.Rejected || foreign(l.proposal) })
	open := len(chosen)
	chosen = slices.DeleteFunc(chosen, func(l located) bool { return !l.ours })
	if others := open - len(chosen); others > 0 {
		fmt.Fprintf(w, "Left out: %s, not of this control plane. 'furrow pr list' says whose; merge one by its name.\n", plural(others, "proposal"))
	} else if open == 0 {
		fmt.Fprintln(w, "No proposal is open.")
		return nil, nil
	}
	ours := len(chosen)
	chosen = slices.DeleteFunc(chosen, func(l located) bool { return !m.filter.matches(l) })
	if len(chosen) == 0 && ours > 0 {
		fmt.Fprintf(w, "None of %s matches.\n", plural(ours, "proposal"))
	}
	if !slices.Contains(m.filter.states, "Edited") {
		all := len(chosen)
		chosen = slices.DeleteFunc(chosen, func(l located) bool { return l.proposal.Edited && l.proposal.Differs == "" })
		if edited := all - len(chosen); edited > 0 {
			fmt.Fprintf(w, "Left out: %s that a person has edited. Read it with 'furrow pr show', and merge it by its name.\n", plural(edited, "proposal"))
		}
	}
	if m.removals {
		return chosen, nil
	}
	var kept []located
	for _, l := range chosen {
		removes, err := l.repo.Removes(ctx, l.refs, l.proposal)
		if err != nil {
			return nil, err
		}
		if !removes {
			kept = append(kept, l)
		}
	}
	if removals := len(chosen) - len(kept); removals > 0 {
		fmt.Fprintf(w, "Left out: %s that %s something. --removals merges them too.\n", plural(removals, "proposal"), map[bool]string{true: "deletes", false: "delete"}[removals == 1])
	}
	return kept, nil
}

// mayMerge refuses what must not be merged now. Of one that is stale the forge says so,
// and no force helps.
func (m *prMerge) mayMerge(ctx context.Context, l located) error {
	if l.proposal.Differs != "" && !foreign(l.proposal) {
		return manifest.Problem{Reason: v1alpha1.ReasonProposalDiffers, Path: l.proposal.Branch,
			Message: fmt.Sprintf("%s is not merged: %s", l.shortName(), l.proposal.Differs), Next: "Read it with git, and delete its branch: " + layout.DeleteCommand(l.proposal.Branch)}
	}
	if !m.all && !m.removals && !l.proposal.Rejected {
		removes, err := l.repo.Removes(ctx, l.refs, l.proposal)
		if err != nil {
			return err
		}
		if removes {
			return manifest.Problem{Reason: v1alpha1.ReasonRemovalOpen, Path: l.proposal.Branch,
				Message: fmt.Sprintf("%s deletes something", l.shortName()), Next: fmt.Sprintf("Read it with 'furrow pr show %s', and merge it with --removals", l.shortName())}
		}
	}
	if l.gate.Reason == "" || l.proposal.Stale || m.force {
		return nil
	}
	next := "Merge it once 'furrow pr list' shows it as Open"
	if l.gate.Reason == v1alpha1.ReasonEditedOnPlainGit {
		next = "The next pass then proposes it anew"
	}
	return manifest.Problem{Reason: v1alpha1.ReasonGateShut, Path: l.proposal.Branch,
		Message: fmt.Sprintf("%s must not be merged now: %s", l.shortName(), strings.TrimSuffix(l.gate.Message, ".")), Next: next + "; --force merges it all the same"}
}

// refused returns the error of merging a proposal that cannot be merged as it was listed; nil where it
// can.
func refused(l located) error {
	switch {
	case l.proposal.Rejected:
		return fmt.Errorf("merge %s: %w", l.proposal.Branch, forge.ErrRejected)
	case l.proposal.Stale:
		return notMerged(l, fmt.Errorf("merge %s: %w", l.proposal.Branch, forge.ErrConflict))
	}
	return nil
}

// notMerged adds what comes next to a refusal of a proposal that is stale.
func notMerged(l located, err error) error {
	switch {
	case !forge.IsConflict(err):
		return err
	case l.gate.Reason != "":
		return fmt.Errorf("%w. As of the last pass: %s", err, l.gate.Message)
	case l.proposal.Edited:
		return fmt.Errorf("%w. A person has edited it, so Furrow leaves it alone: rebase it onto %s, or delete its branch: %s", err, l.repo.Base, layout.DeleteCommand(l.proposal.Branch))
	}
	return fmt.Errorf("%w. The next pass of the run that owns seed %s updates it", err, l.proposal.Seed)
}

func newPRReject() *cobra.Command {
	var session sessionFlags
	var reason string
	cmd := &cobra.Command{
		Use:     "reject PROPOSAL",
		Short:   "Reject a proposal until the seed changes or 'furrow retry'",
		Example: `  furrow pr reject edge-5g/mgmt/00 --reason "not before Monday"`,
		Args:    exactly(1, "one proposal: its branch, or <seed>/<cluster>/<tier>"),
		RunE: session.with(func(cmd *cobra.Command, s *controlplane.Session, args []string) error {
			l, err := find(cmd.Context(), s, args[0])
			if err != nil {
				return err
			}
			if err := l.repo.Forge.Reject(cmd.Context(), l.proposal, person(cmd.Context()), reason); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "Rejected %s. %s\n", l.proposal.Branch, l.comesBack())
			return nil
		}),
	}
	cmd.ValidArgsFunction = session.completeProposals
	session.add(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "why; shown to those who ask")
	return cmd
}

// comesBack says what brings the proposal back once it is rejected.
func (l located) comesBack() string {
	p := l.proposal
	_, alone := layout.TierOfBranch(l.repo.Base, p.Branch)
	switch {
	case foreign(p):
		return "It is not Furrow's, so its tiers are proposed only once its branch is deleted: " + layout.DeleteCommand(p.Branch)
	case p.Edited && p.Differs == "" && alone:
		return fmt.Sprintf("It comes back with 'furrow retry %s'. A person has edited it, so to have a change of the seed proposed, delete its branch: %s", p.Seed, layout.DeleteCommand(p.Branch))
	}
	changes := "the tier itself changes"
	if !alone {
		changes = "one of its tiers changes"
	}
	return fmt.Sprintf("It comes back when %s, or with 'furrow retry %s'.", changes, p.Seed)
}

// person is whom git says the user is.
func person(ctx context.Context) git.Person {
	return git.Person{
		Name:  cmp.Or(gitSetting(ctx, "user.name"), "furrow user"),
		Email: cmp.Or(gitSetting(ctx, "user.email"), "user@localhost"), When: time.Now(),
	}
}

// gitSetting returns a setting of git; empty where there is none.
func gitSetting(ctx context.Context, key string) string {
	out, err := exec.CommandContext(ctx, "git", "config", key).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
