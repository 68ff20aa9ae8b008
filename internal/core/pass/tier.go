package pass

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/githash"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
)

// tierDecider gathers the facts of one tier. It is made anew for each tier, and asks through its
// decider, which notes what is missing.
type tierDecider struct {
	*decider
	repo     *Repo
	plan     *plan.Plan
	tier     *plan.Tier
	name     layout.Tier
	previous *Previous
	paths    []string
	// have is what base has at the tier's paths.
	have map[string]layout.Hash
}

// decideTier begins to gather the facts of a tier, whose repository can be used.
func (d *decider) decideTier(pl *plan.Plan, t *plan.Tier, p *Previous) *tierDecider {
	d.missing = false
	return &tierDecider{decider: d, repo: d.facts.Repos[t.Repo], plan: pl, tier: t, name: pl.Name(t), previous: p, paths: t.Paths()}
}

// tierFacts gathers what is known of every tier of a plan, but for roots and closed proposals; nil
// while something is missing. It goes through all tiers even then, so one round asks about all
// of them.
func (d *decider) tierFacts(pl *plan.Plan, p *Previous) (map[layout.Tier]release.TierFacts, error) {
	facts := make(map[layout.Tier]release.TierFacts, len(pl.Tiers))
	complete := true
	for i := range pl.Tiers {
		t := &pl.Tiers[i]
		if d.repo(t.Repo) == nil {
			why := manifest.Problem{Message: "which cannot be used"}
			if r := d.facts.Repos[t.Repo]; r != nil && r.Failure != nil {
				failed := r.Failure.Problem()
				why.Message, why.Next = why.Message+": "+failed.Message, failed.Next
			}
			return nil, inRepo(v1alpha1.ReasonRepositoryBroken, pl.Seed, t.Repo, why.Message, why.Next)
		}
		td := d.decideTier(pl, t, p)
		f, err := td.gather()
		if err != nil {
			return nil, fmt.Errorf("seed %q, %s: %w", pl.Seed, t, manifest.About(manifest.Problem{Seed: pl.Seed, Cluster: t.Cluster, Repo: t.Repo}, err))
		}
		facts[td.name] = f
		complete = complete && !d.missing
	}
	if !complete {
		return nil, nil
	}
	return facts, nil
}

// gather returns early wherever something is missing: what it has then is thrown away, and it is
// called again when that is known. So it asks for health only once it is clear that health decides
// anything.
func (d *tierDecider) gather() (release.TierFacts, error) {
	var f release.TierFacts
	if d.have = d.at(d.tier.Repo, d.repo.Head, d.paths...); d.missing {
		return f, nil
	}
	if f.Base, f.BaseDetail = d.base(); d.missing {
		return f, nil
	}
	if f.Base == release.BaseForeign {
		if err := d.explainForeign(&f); err != nil || d.missing {
			return f, err
		}
	}
	if f.Base != release.BaseAmended && f.BaseDetail != "" {
		if f.Foreign = d.foreignFiles(d.tier, d.previous); len(f.Foreign) > 0 {
			f.BaseDetail += ": " + listed(f.Foreign)
		}
	}
	if c, ok := d.proposalFor(d.plan, d.previous, d.tier, d.name); ok {
		f.Proposal = &release.Proposal{
			Group: c.group, Branch: c.branch, Digest: c.digest, Edited: c.Edited, Unknown: !d.repo.Amends, Rejected: c.Rejected, Reason: c.Reason,
			Stale: c.Stale, Behind: d.isBehind(c.Proposal), Outside: d.outside(c.Proposal), Differs: difference(c.Proposal, c.branch),
		}
	}
	switch {
	case d.missing:
	case release.BaseState(d.tier, f) != "":
		f.Health = d.verdict()
	case d.tier.Gone():
		f.LeftBehind, f.Unprotected = d.leftBehind().OrNil(), d.unprotected().OrNil()
	default:
		f.RootNotAsked, f.Unprotected, f.OnlyMoves = true, d.unprotected().OrNil(), d.onlyMoves()
	}
	return f, nil
}

func reconcilerKey(t *plan.Tier) health.ReconcilerKey {
	return health.ReconcilerKey{Cluster: t.Object.Cluster, Namespace: t.Object.Namespace, Name: t.Object.Name}
}

// creatorKeys name the creators of a tier and the Secrets through which their clusters are
// reached: only those that may be read, whatever a plan says, because anyone who may write to
// its branch can change a plan.
func (d *decider) creatorKeys(t *plan.Tier) []health.CreatorKey {
	keys := make([]health.CreatorKey, 0, len(t.Creates))
	for _, c := range t.Creates {
		key := health.CreatorKey{Cluster: t.Cluster, Object: c.Object, Creates: c.Cluster}
		if d.catalog().Inventory.MayReadKubeConfig(c.KubeConfig.Cluster, c.KubeConfig.Namespace, catalog.Creation{Object: c.Object, On: t.Cluster}) {
			key.KubeConfig = health.SecretKey(c.KubeConfig)
		}
		keys = append(keys, key)
	}
	return keys
}

// base returns what base has at the tier's paths. Hashes are compared, path by path: with the
// entries, and if they differ, with what earlier plans of the seed had there. Content that no plan
// ever had is not Furrow's. Where only some paths are as in an earlier plan and nothing is foreign,
// it counts as earlier: a person may have removed one of them.
func (d *tierDecider) base() (release.Base, string) {
	equal, nothing := true, true
	for _, e := range d.tier.Entries {
		equal = equal && d.have[e.Path] == e.Hash
		nothing = nothing && d.have[e.Path].IsZero()
	}
	switch {
	case nothing:
		return release.BaseNothing, ""
	case equal:
		return release.BaseEntries, ""
	}
	versions := d.past(d.tier.Repo, d.previous.commit(d.tier.Repo), d.paths...)
	for _, at := range d.paths {
		planned := func(had map[string]layout.Hash) bool { return had[at] == d.have[at] }
		if !d.have[at].IsZero() && !slices.ContainsFunc(versions, planned) {
			return release.BaseForeign, fmt.Sprintf("%s on branch %s of %s holds what Furrow did not put there", at, d.repo.Base, d.tier.Repo)
		}
	}
	return release.BaseEarlier, ""
}

// maxAmendedPlans is how many earlier plans' proposals are asked for what base has.
const maxAmendedPlans = 5

// explainForeign finds out how content that no plan has came to be on base: a person made it of a
// proposal before it was merged, or asks for it to be replaced, as the open proposal does that was
// made when they asked. For the former it asks the forge what merged proposals of the tier were
// when they were merged, for the present entries first and then for those of a few earlier plans.
// What is left without an explanation stays foreign, and holds the tier.
func (d *tierDecider) explainForeign(f *release.TierFacts) error {
	t := d.tier
	proposal, open := d.proposalFor(d.plan, d.previous, t, d.name)
	replacing := open && !proposal.Rejected && proposal.digest == t.Digest()
	if d.retriesTier(t.Repo, d.previous, d.name) || replacing && !proposal.Stale {
		f.Base = release.BaseEarlier
		return nil
	}
	digests := d.earlierDigests()
	if d.missing {
		return nil
	}
	for i, digest := range digests {
		landing, landed, err := d.landed(digest)
		switch {
		case err != nil || d.missing:
			return err
		case !landed:
			continue
		case i > 0 || t.Gone():
			f.Base, f.BaseDetail = release.BaseEarlier, ""
		default:
			f.Base = release.BaseAmended
			how := "a person changed it in " + landing.URL + " before merging"
			if landing.Claimed != "" { // what Furrow made would be what is planned
				how = fmt.Sprintf("%s was merged in %s; it says that it is Furrow's, and holds something else than planned", landing.Claimed, landing.URL)
			}
			f.BaseDetail = fmt.Sprintf("%s; git diff origin/%s origin/%s -- %s %s shows how",
				how, layout.PlanBranch(d.repo.Base, d.plan.Seed), d.repo.Base, t.Dir(), t.ReconcilerFile())
		}
		return nil
	}
	return nil
}

// earlierDigests returns the digests of the tier in the plan in force and in those before it.
func (d *tierDecider) earlierDigests() []string {
	digests := []string{d.tier.Digest()}
	add := func(entries map[string]layout.Hash) {
		if digest := plan.EntriesDigest(entries); !slices.Contains(digests, digest) {
			digests = append(digests, digest)
		}
	}
	for i, had := range d.past(d.tier.Repo, d.previous.commit(d.tier.Repo), d.paths...) {
		if i == maxAmendedPlans {
			break
		}
		add(pick(had, d.paths))
	}
	if d.tier.Orphan != nil {
		add(pick(nil, d.paths))
	}
	return digests
}

// pick returns what entries have at paths.
func pick(entries map[string]layout.Hash, paths []string) map[string]layout.Hash {
	out := make(map[string]layout.Hash, len(paths))
	for _, at := range paths {
		out[at] = entries[at]
	}
	return out
}

// same reports whether both have the same at paths.
func same(a, b map[string]layout.Hash, paths []string) bool {
	return !slices.ContainsFunc(paths, func(at string) bool { return a[at] != b[at] })
}

// landed reports whether what base has of the tier is what the newest merged proposal with
// these entries was when it was merged. by is how it came to be so: of several that landed with this
// content one after the other, the first that base still has.
func (d *tierDecider) landed(digest string) (by Landing, landed bool, err error) {
	closed := d.closed(d.tier.Repo, d.name, digest, d.paths)
	if closed.Failure != nil {
		return by, false, closed.Failure
	}
	for i, l := range closed.Landings {
		if l.Have == nil || !same(l.Have, d.have, d.paths) {
			break
		}
		if landed = true; i == 0 || l.OnBase {
			by = l
		}
	}
	return by, landed, nil
}

// foreignFiles returns the files at a tier's paths on base that no plan of the seed has put there.
func (d *decider) foreignFiles(t *plan.Tier, p *Previous) []string {
	r := d.facts.Repos[t.Repo]
	have := map[string]layout.Hash{}
	for _, root := range t.Paths() {
		maps.Copy(have, d.files(t.Repo, r.Head, root))
	}
	files := slices.Sorted(maps.Keys(have))
	if d.missing {
		return nil
	}
	for _, had := range d.past(t.Repo, p.commit(t.Repo), files...) {
		files = slices.DeleteFunc(files, func(at string) bool { return had[at] == have[at] })
	}
	return files
}

// isBehind reports whether a proposal is to follow the base branch.
func (d *tierDecider) isBehind(proposal Proposal) bool {
	return d.catalog().Repos[d.tier.Repo].Spec.Update == v1alpha1.UpdateWhenBehind && proposal.Base != d.repo.Head
}

// outside names what merging a proposal would change beside the paths of its tiers. One
// that nobody has edited changes nothing else, as long as it is not stale.
func (d *tierDecider) outside(proposal Proposal) string {
	if !proposal.Edited || proposal.Stale {
		return ""
	}
	var paths []string
	for _, m := range proposal.Tiers {
		if t, planned := d.plan.Find(m.Tier.Cluster, m.Tier.Ordinal); planned {
			paths = append(paths, t.Paths()...)
		}
	}
	within := func(at string) bool {
		return slices.ContainsFunc(paths, func(own string) bool { return at == own || strings.HasPrefix(at, own+"/") })
	}
	var out []string
	for _, at := range proposal.Paths {
		switch {
		case within(at):
		case slices.ContainsFunc(paths, func(own string) bool { return strings.HasPrefix(own, at+"/") }):
			// a directory that has more than the tier, or not
			out = append(out, slices.DeleteFunc(d.changedBelow(proposal.Head, at), within)...)
		default:
			out = append(out, at)
		}
	}
	slices.Sort(out)
	return listed(out)
}

// changedBelow returns the files below a directory that a commit and base have different.
func (d *tierDecider) changedBelow(commit layout.Hash, dir string) []string {
	on, in := d.files(d.tier.Repo, d.repo.Head, dir), d.files(d.tier.Repo, commit, dir)
	changed := map[string]bool{}
	for at, hash := range on {
		changed[at] = in[at] != hash
	}
	for at, hash := range in {
		changed[at] = on[at] != hash
	}
	maps.DeleteFunc(changed, func(_ string, differs bool) bool { return !differs })
	return slices.Sorted(maps.Keys(changed))
}

// maxListed is how many paths a message names.
const maxListed = 5

// listed joins paths for a message, which names maxListed of them.
func listed(paths []string) string {
	rest := ""
	if n := len(paths) - maxListed; n > 0 {
		paths, rest = paths[:maxListed], fmt.Sprintf(" and %d more", n)
	}
	return manifest.Printable(strings.Join(paths, ", ")) + rest
}

// cluster returns a cluster that is asked for something.
func (d *decider) cluster(name string) health.Cluster {
	return health.Cluster{Cluster: name, Abandoned: d.abandoned[name]}
}

// leftBehind returns why a tier that is to go should not go as things are. What is left there is
// what people want of a cluster that they have given up.
func (d *tierDecider) leftBehind() manifest.Problem {
	if !d.reconciler(reconcilerKey(d.tier)).LeavesAll() || d.abandoned[d.tier.Cluster] {
		return manifest.Problem{}
	}
	k, kind := d.tier.Object, d.tier.Delivery()
	words := kind.Words()
	return manifest.Problem{Reason: v1alpha1.ReasonReconcilerSuspended, Cluster: k.Cluster, Object: k.Namespace + "/" + k.Name,
		Message: fmt.Sprintf("%s %s/%s on cluster %s is suspended, and %s leaves everything there when it goes", words.Object.Kind, k.Namespace, k.Name, k.Cluster, words.Reconciler),
		Next:    "Resume it first: " + kind.Resume(k.Namespace, k.Name)}
}

// verdict judges a tier that is on base.
func (d *tierDecider) verdict() health.Verdict {
	v := d.judge()
	if d.tier.Gone() && v.Phase == health.Unknown && d.clusterGone(d.tier.Object.Cluster) {
		return health.Verdict{Phase: health.Absent, Reason: v1alpha1.ReasonGone, On: d.tier.Object.Cluster, Message: "gone with its cluster"}
	}
	return v
}

// judge asks for what is observed and for what is wanted, and lets package health compare the two.
// A channel that is missing, or that failed, makes every tier Unknown, and never unhealthy.
func (d *tierDecider) judge() health.Verdict {
	if d.facts.Health.None {
		return health.Verdict{Phase: health.Unknown, Reason: v1alpha1.ReasonNoChannel, Message: "no health channel is set up"}
	}
	if failure := d.facts.Health.Failure; failure != nil {
		return health.Verdict{Phase: health.Unknown, Reason: failure.Problem().Reason, Message: failure.Message}
	}
	observed := d.reconciler(reconcilerKey(d.tier))
	want := d.want(observed, true)
	var creators []health.Creator
	for _, key := range d.creatorKeys(d.tier) {
		creators = append(creators, d.creator(key))
	}
	if d.missing {
		return health.Verdict{}
	}
	v := health.Judge(d.tier.Delivery().Judge(observed, want), observed, creators, want)
	if v.AwaitsRoot {
		unfit, unknown := d.rootOnCluster(false)
		if unfit.Reason+unknown.Reason != "" {
			v.Message += "; " + unfit.Text() + unknown.Text()
		}
	}
	return v
}

// want returns what base has of a tier: the plan's entries, maybe amended, or something else.
func (d *tierDecider) want(observed health.Reconciler, entries bool) health.Want {
	want := health.Want{Gone: d.tier.Gone(), At: map[string]health.Match{}, Reconciler: d.cluster(d.tier.Object.Cluster), Creators: d.cluster(d.tier.Cluster)}
	if want.Gone {
		want.RootFound = d.hadRoot()
	} else {
		file := d.tier.ReconcilerFile()
		object := d.reconcilerObject(d.tier.Repo, file, d.have[file])
		want.Rendered, want.Spec = object.rendered, object.spec
		if entries {
			want.Edited = d.amended(object)
		}
	}
	want.At[observed.Revision] = d.match(observed.Revision)
	if observed.AttemptedRevision != observed.Revision {
		want.At[observed.AttemptedRevision] = d.match(observed.AttemptedRevision)
	}
	return want
}

// clusterGone reports whether a cluster which the plan creates has no creator any more,
// or none yet: nobody answers there, and nothing is left to ask for. That the root is
// found shows that it is the creator's cluster which was asked.
func (d *tierDecider) clusterGone(cluster string) bool {
	for i := range d.plan.Tiers {
		t := &d.plan.Tiers[i]
		for _, key := range d.creatorKeys(t) {
			if key.Creates == cluster {
				root, ok := d.rootKey(d.plan.Seed, t)
				c := d.creator(key)
				return c.Known && !c.Found && ok && d.root(root).Found
			}
		}
	}
	return false
}

// match compares what the reconciler has at the tier's paths, at the revision that it reports,
// with what base has there. The revision must not be from before base last changed there: content
// that was replaced and came back is not the same, because the reconciler may not have applied
// what was in between. For a revision that is not a state of base along first parents, only the
// content counts.
//
// Comparing commit ids instead would make each tier Progressing whenever anything else in the
// repository changes.
func (d *tierDecider) match(revision string) health.Match {
	_, digits, ok := strings.Cut(revision, "@sha1:")
	if !ok { // most often because there is none yet
		return health.MatchUnknown
	}
	commit, err := githash.Parse(digits)
	if err != nil {
		return health.MatchUnknown
	}
	since := d.since(d.tier.Repo, commit, d.paths...)
	switch {
	case since.Unknown:
		return health.MatchUnknown
	case since.OnBase:
		if slices.ContainsFunc(d.paths, func(at string) bool { return since.Changed[at] }) {
			return health.Differs
		}
		return health.Matches
	}
	if there := d.at(d.tier.Repo, commit, d.paths...); !same(there, d.have, d.paths) {
		return health.Differs
	}
	return health.Matches
}

// reconcilerObject is what counts of a reconciler object in Git.
type reconcilerObject struct {
	rendered string
	spec     map[string]any
}

// reconcilerObject reads the reconciler object that a file holds. One that a person left
// out, or that is none, is never the live one.
func (d *decider) reconcilerObject(repo, at string, hash layout.Hash) reconcilerObject {
	object := reconcilerObject{rendered: "none on the base branch"}
	if hash.IsZero() {
		return object
	}
	if known, ok := d.memo.objects.Get(hash); ok {
		return known
	}
	data := d.blob(repo, hash)
	if _, answered := d.facts.Repos[repo].Blobs[hash]; !answered {
		return object
	}
	if objects, err := manifest.Parse(at, data); err == nil && len(objects) == 1 {
		object = reconcilerObject{objects[0].Annotation(v1alpha1.AnnotationRendered), objects[0].Map("spec")}
	}
	d.memo.objects.Put(hash, object)
	return object
}

// amended returns what is wrong with a reconciler object that a person amended.
func (d *tierDecider) amended(object reconcilerObject) string {
	file := d.tier.ReconcilerFile()
	if d.have[file] == d.tier.ReconcilerHash() || object.spec == nil {
		return ""
	}
	planned := d.reconcilerObject(d.tier.Repo, file, d.tier.ReconcilerHash())
	if planned.spec == nil {
		return ""
	}
	if err := d.tier.Delivery().CheckAmended(object.spec, planned.spec); err != nil {
		return fmt.Sprintf("the tier's health is unknown because a person changed %s: %v. Correct it on branch %s, or run 'furrow retry %s' to propose what was planned", file, err, d.repo.Base, d.plan.Seed)
	}
	return ""
}
