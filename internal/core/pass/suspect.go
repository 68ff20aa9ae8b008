package pass

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/githash"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/core/review"
)

// verifyPlans verifies the plans that nobody vouches for, before anything of them is proposed or
// judged: whoever may push to a plan branch may have written what is there. Each is made again, once
// (plan.Verify). One that does not come out the same is not used. The seed is planned anew from what
// people have merged (plan.FromBase).
func (d *decider) verifyPlans() {
	if d.suspects == nil && !d.judgeSuspects() {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(d.suspects)) {
		p, suspect := d.previous[name], d.suspects[name]
		if p.Verified || p.replaced != nil {
			continue
		}
		d.missing = false
		switch {
		case p.Err != nil:
		case d.facts.ControlPlane.Unread != "" && !suspect.Confirmed:
			p.Err = Fail(d.unverifiable(p), true)
		case !suspect.Confirmed || p.spoiled || d.leavesOut(p, suspect):
			d.replace(p, suspect.Claims || p.spoiled)
		case !d.missing:
			p.Verified = true
			d.signAnew(p)
		}
	}
}

// signAnew has a verified plan committed again where only signed commits count as Furrow's.
func (d *decider) signAnew(p *Previous) {
	for _, b := range p.suspected {
		if len(d.facts.Repos[b.Repo].OwnKeys) == 0 {
			continue
		}
		if p.Older == nil {
			p.Older = map[string]*plan.Plan{}
		}
		p.Older[b.Repo], p.plans[b.Repo] = b.Plan, nil
	}
}

// judgeSuspects asks for what is needed to verify the suspect plans, and makes them again once all of it
// is known. It reports whether it did.
func (d *decider) judgeSuspects() bool {
	suspected := false
	for _, p := range d.previous {
		p.Verified = p.Plan != nil && !p.Foreign && len(p.suspected) == 0
		suspected = suspected || len(p.suspected) > 0
	}
	if !suspected {
		d.suspects = map[string]*plan.Suspect{}
		return true
	}
	verify, suspects, in := false, map[string]*plan.Suspect{}, plan.Input{
		Catalog: d.catalog(), Owner: d.facts.Self.Owner, Origin: d.facts.Self.Origin, Revision: d.facts.ControlPlane.Revision,
		Previous: map[string]*plan.Previous{}, Strict: d.catalog().Strict(d.facts.Strict), Memo: &d.memo.plans,
	}
	for _, name := range slices.Sorted(maps.Keys(d.previous)) {
		p := d.previous[name]
		if p.Plan == nil || p.Err != nil {
			continue
		}
		previous := &plan.Previous{Plan: p.Plan, Others: p.Others, Older: p.Older, Base: d.basePaths(p), Blobs: map[layout.Hash][]byte{}}
		if in.Previous[name] = previous; p.Foreign {
			continue
		}
		if p.Verified {
			continue
		}
		suspects[name] = d.suspect(p)
		if known, rejected := d.memo.rejected[name]; rejected && known.key == d.suspectKey(p) {
			suspects[name].Claims = known.claims
			continue
		}
		previous.Suspect, verify = suspects[name], true
	}
	if d.incomplete() {
		return false
	}
	if verify {
		plan.Verify(in)
	}
	d.memo.rejected = map[string]rejected{}
	for name, suspect := range suspects {
		if !suspect.Confirmed {
			d.memo.rejected[name] = rejected{d.suspectKey(d.previous[name]), suspect.Claims}
		}
	}
	d.suspects = suspects
	return true
}

// rejected is a plan that was made again and did not come out the same.
type rejected struct {
	key    string
	claims bool
}

// suspectKey names what the verification of a plan depends on, apart from other plans: two equal keys give
// the same verdict.
func (d *decider) suspectKey(p *Previous) string {
	key := []string{d.facts.ControlPlane.Version, d.facts.ControlPlane.Revision}
	for _, repo := range slices.Sorted(maps.Keys(p.Commits)) {
		if r := d.repo(repo); r != nil {
			key = append(key, repo, p.Commits[repo].String(), r.Head.String())
		}
	}
	return strings.Join(key, "\n")
}

// suspect reads the plan's tiers from base and from its branches.
func (d *decider) suspect(p *Previous) *plan.Suspect {
	suspect := &plan.Suspect{Base: map[string]plan.Base{}}
	for _, b := range p.suspected {
		p.spoiled = p.spoiled || b.Unreadable != ""
	}
	for _, repo := range p.Plan.Repos() {
		if r := d.repo(repo); r != nil {
			suspect.Base[repo] = d.baseOf(p, repo, r)
		}
	}
	return suspect
}

// baseOf reads the plan's tiers from a base branch. It also notes whether the plan's commit lacks files
// that the plan names: these could never be proposed.
func (d *decider) baseOf(p *Previous, repo string, r *Repo) plan.Base {
	base := plan.Base{Same: map[string]bool{}, Files: map[string]layout.Hash{}, Reconcilers: map[string]layout.Hash{}, Moving: map[layout.Hash]layout.Hash{}, Orphans: map[string]bool{}}
	clusters := map[string]map[string]layout.Hash{} // the tiers of each, by directory
	for i := range p.Plan.Tiers {
		t := &p.Plan.Tiers[i]
		if t.Repo != repo {
			continue
		}
		dir, name := path.Split(t.Dir())
		if dir = path.Clean(dir); clusters[dir] == nil {
			clusters[dir] = map[string]layout.Hash{}
		}
		d.missing = false
		have := d.at(repo, r.Head, t.Paths()...)
		base.Reconcilers[t.ReconcilerFile()] = have[t.ReconcilerFile()]
		if at := p.Commits[repo]; !t.Gone() {
			clusters[dir][name] = t.DirHash()
			written := d.at(repo, at, t.Paths()...)
			p.spoiled = p.spoiled || !d.missing && !same(written, t.Want(), t.Paths())
		}
		d.moving(&base, p.Plan, t)
		p.spoiled = p.spoiled || d.keepsInVain(p.Plan, t, r.Head)
		base.Orphans[t.ReconcilerFile()] = t.Orphan != nil && d.orphans(t, have)
	}
	for _, dir := range slices.Sorted(maps.Keys(clusters)) {
		d.missing = false
		switch have := d.at(repo, r.Head, dir)[dir]; {
		case d.missing || have.IsZero():
		case have == githash.Dirs(clusters[dir]):
			base.Same[dir] = true
		default:
			maps.Copy(base.Files, d.files(repo, r.Head, dir))
		}
	}
	return base
}

// keepsInVain reports whether a plan claims that a reconciler keeps an object which leaves, and the object lacks the
// annotation. The content is that of base if the object goes now, else that of the plan. The deletion guard believes
// such a claim.
func (d *decider) keepsInVain(pl *plan.Plan, t *plan.Tier, head layout.Hash) bool {
	vain := func(o plan.Object, hash layout.Hash) bool {
		if !o.Kept || hash.IsZero() {
			return false
		}
		d.missing = false
		data := d.blob(t.Repo, hash)
		return !d.missing && !plan.Keeps(o.File, data, o.ID)
	}
	for _, o := range pl.Objects(t) {
		if o.Leaving && vain(o, o.Hash) {
			return true
		}
	}
	return t.Leaving != nil && slices.ContainsFunc(t.Leaving.Objects, func(o plan.Object) bool {
		at := t.FilePath(o)
		return vain(o, d.at(t.Repo, head, at)[at])
	})
}

// moving notes which contents of a tier carry the annotation of a move or for another seed, and the contents without
// it.
func (d *decider) moving(base *plan.Base, pl *plan.Plan, t *plan.Tier) {
	for _, o := range pl.Objects(t) {
		if o.HandedTo == "" {
			continue
		}
		d.missing = false
		data := d.blob(t.Repo, o.Hash)
		if d.missing || !plan.Protected(o.File, data, o.ID) {
			continue
		}
		if objects, err := manifest.Parse(o.File, data); err == nil && len(objects) == 1 {
			if bytes, err := objects[0].WithoutAnnotation(plan.Protection).Bytes(); err == nil {
				base.Moving[o.Hash] = githash.Blob(bytes)
			}
		}
	}
	for _, m := range pl.MovesOn(t) {
		for _, o := range pl.Objects(t) {
			if o.ID != m.Object {
				continue
			}
			d.missing = false
			data := d.blob(t.Repo, o.Hash)
			if d.missing || !plan.Protected(o.File, data, o.ID) {
				continue
			}
			if objects, err := manifest.Parse(o.File, data); o.Hash != m.Content && err == nil && len(objects) == 1 {
				bytes, err := objects[0].WithoutAnnotation(plan.Protection).Bytes()
				if before := githash.Blob(bytes); err == nil && before == m.Content {
					base.Moving[o.Hash] = before
				}
				continue
			}
			base.Moving[o.Hash] = m.Content
		}
	}
}

// orphans reports whether a tier's entries before it goes are those of base, except that the reconciler
// object leaves its objects on the cluster.
func (d *decider) orphans(t *plan.Tier, have map[string]layout.Hash) bool {
	before, file := t.Orphaning(), t.ReconcilerFile()
	if have[t.Dir()] != before.DirHash() || have[file].IsZero() {
		return false
	}
	if have[file] == before.ReconcilerHash() {
		return true
	}
	d.missing = false
	data := d.blob(t.Repo, have[file])
	if d.missing {
		return false
	}
	orphaned, err := t.Delivery().Orphaned(file, data)
	return err == nil && githash.Blob(orphaned.Bytes) == before.ReconcilerHash()
}

// leavesOut reports whether base has files of earlier plans that a plan does not name: what is planted
// there would go without being asked for.
func (d *decider) leavesOut(p *Previous, suspect *plan.Suspect) bool {
	for _, repo := range p.Plan.Repos() {
		var files []string
		for _, at := range suspect.Unaccounted {
			if !suspect.Base[repo].Files[at].IsZero() {
				files = append(files, at)
			}
		}
		if len(files) == 0 {
			continue
		}
		for _, had := range d.past(repo, p.commit(repo), files...) {
			if slices.ContainsFunc(files, func(at string) bool { return had[at] == suspect.Base[repo].Files[at] }) {
				return true
			}
		}
	}
	return false
}

// replace exchanges a plan that cannot be used for one made from base. It first asks for the seed's files
// there.
func (d *decider) replace(p *Previous, warn bool) {
	d.missing = false
	asked := d.asked
	var tiers []plan.PlantedTier
	for _, repo := range slices.Sorted(maps.Keys(d.facts.Repos)) {
		if r := d.repo(repo); r != nil {
			tiers = append(tiers, d.plantedIn(p, repo, r)...)
		}
	}
	if d.asked > asked {
		return
	}
	stays := map[manifest.ID]bool{}
	if s, ok := d.catalog().Seed(p.Plan.Seed); ok {
		for _, o := range s.Objects() {
			stays[o.ID] = true
		}
	}
	last, base := p.Plan, plan.FromBase(p.Plan, d.facts.Self, tiers, stays)
	if len(stays) == 0 && !p.spoiled && d.removes(p, base) {
		p.Verified = true
		return
	}
	p.replaced, p.Plan, p.Older, p.Verified = last, base, nil, false
	p.tiers, p.released, p.passed = nil, false, nil
	if warn {
		p.warning = d.unverified(p)
	}
}

// removes reports whether a removal takes away exactly the seed's tiers on base, the last tier first.
func (d *decider) removes(p *Previous, base *plan.Plan) bool {
	if !p.Plan.Removal || len(p.Older) > 0 || !p.Plan.Covers(plan.Remove(base, "")) {
		return false
	}
	for i := range p.Plan.Tiers {
		t := &p.Plan.Tiers[i]
		known := d.suspects[p.Plan.Seed].Base[t.Repo]
		_, planted := base.Find(t.Cluster, t.Ordinal)
		if t.Orphan != nil && !known.Orphans[t.ReconcilerFile()] || !planted && !same(d.at(t.Repo, d.facts.Repos[t.Repo].Head, t.Paths()...), nil, t.Paths()) {
			return false
		}
	}
	return true
}

// plantedIn returns the tiers of a seed on a base branch, as far as any plan of Furrow brought them.
func (d *decider) plantedIn(p *Previous, repo string, r *Repo) []plan.PlantedTier {
	seed, prefix := p.Plan.Seed, d.catalog().Repos[repo].Spec.Path
	dirs := map[string]bool{}
	for name, cl := range d.catalog().Inventory.Clusters {
		if cl.Repo == repo {
			dirs[path.Dir(layout.Tier{Seed: seed, Cluster: name}.Dir(prefix))] = true
		}
	}
	for i := range p.Plan.Tiers {
		if t := &p.Plan.Tiers[i]; t.Repo == repo {
			dirs[path.Dir(p.Plan.Name(t).Dir(prefix))] = true
		}
	}
	found := map[layout.Tier]map[string]layout.Hash{}
	have := d.at(repo, r.Head, slices.Sorted(maps.Keys(dirs))...)
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		if have[dir].IsZero() {
			continue
		}
		for at, hash := range d.files(repo, r.Head, dir) {
			number, file, _ := strings.Cut(strings.TrimPrefix(at, dir+"/tier-"), "/")
			ordinal, err := strconv.Atoi(number)
			name := layout.Tier{Seed: seed, Cluster: path.Base(path.Dir(dir)), Ordinal: ordinal}
			if err != nil || file == "" || path.Join(name.Dir(prefix), file) != at {
				continue
			}
			if found[name] == nil {
				found[name] = map[string]layout.Hash{}
			}
			found[name][file] = hash
		}
	}
	var out []plan.PlantedTier
	for _, name := range slices.SortedFunc(maps.Keys(found), layout.Tier.Compare) {
		if t, ok := d.plantedTier(p, repo, r, name, found[name]); ok {
			out = append(out, t)
		}
	}
	return out
}

// plantedTier returns one tier on base; false if none of its files is Furrow's, or if nobody knows which
// reconciler object applies it.
func (d *decider) plantedTier(p *Previous, repo string, r *Repo, name layout.Tier, files map[string]layout.Hash) (plan.PlantedTier, bool) {
	prefix := d.catalog().Repos[repo].Spec.Path
	out := plan.PlantedTier{Files: map[string]plan.Planted{}}
	dir := name.Dir(prefix)
	for file, had := range d.ours(p, repo, r, dir, files) {
		o, known := d.plantedObject(repo, file, files[file], had)
		if !known {
			continue
		}
		planted := plan.Planted{ID: o.ID, Hash: files[file], Before: files[file]}
		if o.Annotation(plan.Protection) == "disabled" {
			if bytes, err := o.WithoutAnnotation(plan.Protection).Bytes(); err == nil {
				planted.Before = githash.Blob(bytes)
			}
		}
		out.Files[file] = planted
	}
	if len(out.Files) == 0 {
		return out, false
	}
	last, planned := p.Plan.Find(name.Cluster, name.Ordinal)
	tier, known := plan.TierOn(d.catalog(), name)
	switch {
	case known && tier.Repo == repo:
		out.Tier = tier
	case planned && last.Repo == repo && last.Dir() == dir && d.applies(repo, r, last):
		out.Tier = *last
		out.Leaving, out.Orphan, out.Creates = nil, nil, nil
	default:
		return out, false
	}
	file := out.ReconcilerFile()
	hash := d.at(repo, r.Head, file)[file]
	out.Entries = []plan.Entry{{Path: dir, Mode: plan.ModeTree}, {Path: file, Mode: plan.ModeFile, Hash: hash}}
	out.Object.Rendered = d.reconcilerObject(repo, file, hash).rendered
	for _, f := range out.Files {
		if catalog.IsCreator(f.ID.GroupKind()) {
			out.Creates = append(out.Creates, d.creation(last, f.ID, name.Cluster))
		}
	}
	slices.SortFunc(out.Creates, func(a, b plan.Creates) int { return a.Object.Compare(b.Object) })
	return out, true
}

// creation returns the cluster that a planted creator makes: as a plan has it, or as is usual.
func (d *decider) creation(last *plan.Tier, id manifest.ID, on string) plan.Creates {
	if last != nil {
		for _, c := range last.Creates {
			if c.Object == id && c.Cluster == id.Name {
				return c
			}
		}
	}
	_, declared := d.catalog().Inventory.Clusters[id.Name]
	return plan.Creates{Cluster: id.Name, Object: id, Declared: declared, KubeConfig: plan.KubeConfig{Cluster: on, Namespace: id.Namespace, Name: id.Name + "-kubeconfig"}}
}

// plantedObject returns the object of a file. One that people have made unreadable still holds what it had by the
// newest plan.
func (d *decider) plantedObject(repo, file string, hashes ...layout.Hash) (manifest.Object, bool) {
	for _, hash := range hashes {
		if objects, err := manifest.Parse(file, d.blob(repo, hash)); err == nil && len(objects) == 1 {
			return objects[0], true
		}
	}
	return manifest.Object{}, false
}

// ours returns, of the files of a directory, those that any plan of the seed had there, and what the newest one had.
// People may have changed them since: they still hold what is planted.
func (d *decider) ours(p *Previous, repo string, r *Repo, dir string, files map[string]layout.Hash) map[string]layout.Hash {
	have := d.at(repo, r.Head, dir)[dir]
	for _, had := range d.past(repo, p.commit(repo), dir) {
		if had[dir] == have {
			return files
		}
	}
	paths := make([]string, 0, len(files))
	for _, file := range slices.Sorted(maps.Keys(files)) {
		paths = append(paths, path.Join(dir, file))
	}
	out := map[string]layout.Hash{}
	for _, had := range d.past(repo, p.commit(repo), paths...) {
		for file := range files {
			if hash := had[path.Join(dir, file)]; !hash.IsZero() && out[file].IsZero() {
				out[file] = hash
			}
		}
	}
	return out
}

// applies reports whether the reconciler object that a plan names is on base and applies the tier's
// directory. For clusters that left the inventory, nothing else shows what is theirs.
func (d *decider) applies(repo string, r *Repo, t *plan.Tier) bool {
	file := t.ReconcilerFile()
	hash := d.at(repo, r.Head, file)[file]
	if hash.IsZero() {
		return false
	}
	objects, err := manifest.Parse(file, d.blob(repo, hash))
	if err != nil || len(objects) != 1 {
		return false
	}
	return t.Delivery().Applies(objects[0], t.Object.Namespace, t.Object.Name, t.Dir())
}

// unverified warns of a plan that is not used, and names its author. What a plan has for a cluster whose document cannot
// be used cannot be made again, so such a plan may well be Furrow's own.
func (d *decider) unverified(p *Previous) *manifest.Problem {
	for _, t := range p.replaced.Tiers {
		if why := d.catalog().Inventory.BrokenOrLost(t.Cluster); why != "" && !p.spoiled {
			what := fmt.Sprintf("cannot be verified while the document of cluster %s cannot be used (%s), so the seed is planned anew", t.Cluster, why)
			out := d.suspicious(p, p.replaced, what, "Correct that document. If that commit is not Furrow's, find out who pushed it.")
			return &out
		}
	}
	out := d.suspicious(p, p.replaced, "is not a plan that this control plane makes, so it was not used, and the seed is planned anew",
		"Find out who pushed it; let only Furrow push to furrow/**.")
	return &out
}

// unverifiable explains why a plan has to wait: the control plane cannot be read now.
func (d *decider) unverifiable(p *Previous) manifest.Problem {
	return d.suspicious(p, p.Plan, "cannot be verified while the control plane cannot be read, so nothing is proposed or merged",
		"It goes on once the control plane can be read. If that commit is not Furrow's, find out who pushed it.")
}

// suspicious returns a problem with the commit and author of a plan, or of a commit without a readable one.
func (d *decider) suspicious(p *Previous, last *plan.Plan, what, next string) manifest.Problem {
	b := p.suspected[0]
	for _, one := range p.suspected {
		if one.Unreadable != "" || one.Plan == last {
			b = one
		}
	}
	branch := layout.PlanBranch(d.facts.Repos[b.Repo].Base, b.Seed)
	out := manifest.OfSeed(v1alpha1.ReasonPlanNotVerified, b.Seed, fmt.Sprintf("%s on branch %s of %s %s", b.pushed(), branch, b.Repo, what), next)
	out.Repo, out.Path = b.Repo, branch
	return out
}

// pushed names the commit of a plan, and who it says made it.
func (b *PlanOnBranch) pushed() string {
	if b.Author == "" {
		return fmt.Sprintf("commit %s", b.Commit)
	}
	return fmt.Sprintf("commit %s by %s", b.Commit, manifest.Printable(b.Author))
}

// blamed adds the commit to the problem that a plan is another control plane's: whoever may push to the
// branch can write any owner into it.
func (p *Previous) blamed(err error) error {
	problem, ok := errors.AsType[manifest.Problem](err)
	if !ok || p == nil || problem.Reason != v1alpha1.ReasonForeignOwner || len(p.suspected) == 0 {
		return err
	}
	problem.Message += " (" + p.suspected[len(p.suspected)-1].pushed() + ")"
	return problem
}

// planWarning returns the warning that the next plan carries.
func (p *Previous) planWarning() *plan.Warning {
	if p.warning == nil {
		return nil
	}
	return &plan.Warning{Reason: p.warning.Reason, Object: fmt.Sprintf("seed %q", p.warning.Seed), Message: p.warning.Message + ". " + p.warning.Next}
}

// tooEarly reports whether a plan that this process did not make takes something away although the rest of
// it is not released. Furrow makes no such plan.
func (p *Previous) tooEarly() bool {
	rest := *p.Plan
	if len(p.suspected) == 0 || p.replaced != nil || rest.Removal || !slices.ContainsFunc(rest.Tiers, func(t plan.Tier) bool { return t.Leaving != nil }) {
		return false
	}
	rest.Tiers = slices.DeleteFunc(slices.Clone(p.Plan.Tiers), func(t plan.Tier) bool { return t.Leaving != nil || t.Gone() })
	return !release.AllReleased(&rest, p.tiers)
}

// knownBefore reports whether the control plane's history has the seed; true if there is no history.
// Furrow must not remove what another control plane planted, whatever a plan says.
func (d *decider) knownBefore(p *Previous) bool {
	from := p.Plan.From
	if !d.facts.ControlPlane.History {
		return true
	}
	if name := path.Base(from); name != p.Plan.Seed && strings.TrimSuffix(name, path.Ext(name)) != p.Plan.Seed {
		return false
	}
	return d.commit(d.facts.ControlPlane.Revision, review.Causes(path.Clean(from)), false) != nil
}
