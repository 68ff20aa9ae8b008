package pass

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/delivery"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/merging"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
)

// rootKey returns the root that syncs a tier's reconciler file.
func (d *decider) rootKey(seed string, t *plan.Tier) (health.RootKey, bool) {
	file := t.ReconcilerFile()
	at := strings.LastIndex("/"+file, "/furrow/"+seed+"/")
	if at < 0 {
		return health.RootKey{}, false
	}
	key := health.RootKey{Cluster: t.Object.Cluster, Path: file[:max(at-1, 0)]}
	if cl, known := d.catalog().Inventory.Clusters[key.Cluster]; known {
		key.Source = cl.Source.Namespace + "/" + cl.Source.Name
	}
	return key, true
}

// judgeRoot finds out what keeps the root from syncing a new reconciler file: first what Git shows,
// then what the cluster does. It reports the first fault only: a root that does not exist in Git
// cannot be right on the cluster. Each question is asked only when those before it are answered.
func (d *tierDecider) judgeRoot(f *release.TierFacts) {
	key, ok := d.rootKey(d.plan.Seed, d.tier)
	if !ok {
		return
	}
	dir := cmp.Or(key.Path, ".")
	words := d.tier.Delivery().Words()
	have, root := d.at(d.tier.Repo, d.repo.Head, words.IgnoreFile, dir), d.root(key)
	if d.missing {
		return
	}
	if have[dir].IsZero() {
		f.RootUnfit = &manifest.Problem{Reason: v1alpha1.ReasonRootMissing, Cluster: key.Cluster, Repo: d.tier.Repo, Path: key.Path,
			Message: fmt.Sprintf("branch %s of %s has no directory %s for the root of cluster %s to sync", d.repo.Base, d.tier.Repo, key.Path, key.Cluster),
			Next:    fmt.Sprintf("Set the root up first (%s), or commit a README.md there", words.MakeRoot)}
		return
	}
	var ignores [2]string
	if hash := have[words.IgnoreFile]; !hash.IsZero() {
		ignores[0] = string(d.blob(d.tier.Repo, hash))
	}
	ignores[1] = root.Ignore
	if d.missing {
		return
	}
	dirOnBase := d.rootDir(d.tier.Repo, d.tier.Reconciler, key.Path, ignores, d.landing(ignores))
	if d.missing {
		return
	}
	if f.RootUnfit = d.rootInGit(key, dirOnBase.Folder).OrNil(); f.RootUnfit == nil {
		unfit, unknown := d.rootOnCluster(f.Base != release.BaseNothing)
		f.RootUnfit, f.RootUnknown = unfit.OrNil(), unknown.OrNil()
	}
	if f.RootUnfit == nil {
		f.RootUnfit = d.leftOut(key, root, dirOnBase.Ignored).OrNil()
	}
}

// landing returns the tier's files, where any may be ignored.
func (d *tierDecider) landing(ignores [2]string) []string {
	if ignores == [2]string{} {
		return nil
	}
	files := []string{d.tier.ReconcilerFile()}
	for _, o := range d.plan.Objects(d.tier) {
		files = append(files, d.tier.FilePath(o))
	}
	return files
}

// leftOut returns which file of a tier the reconciler would not read, and why: it would take a tier for
// healthy that is not whole.
func (d *tierDecider) leftOut(key health.RootKey, root health.Root, ignored map[string]IgnoredBy) manifest.Problem {
	words := d.tier.Delivery().Words()
	for _, file := range d.landing([2]string{words.IgnoreFile}) {
		var where string
		switch ignored[file] {
		case IgnoredByFile:
			where = fmt.Sprintf("%s on branch %s of %s", words.IgnoreFile, d.repo.Base, d.tier.Repo)
		case IgnoredBySource:
			where = fmt.Sprintf("%s of the %s %s on cluster %s", words.IgnoreField, words.Source, root.Source, key.Cluster)
		default:
			continue
		}
		return manifest.Problem{Reason: v1alpha1.ReasonRootIgnores, Cluster: key.Cluster, Path: file,
			Message: fmt.Sprintf("%s keeps %s from reading %s", where, words.Reconciler, file), Next: "Take the pattern out, or except that path after it"}
	}
	return manifest.Problem{}
}

// rootInGit returns what is wrong with the root's directory on base, which the reconciler builds as a whole.
func (d *tierDecider) rootInGit(key health.RootKey, folder delivery.Folder) manifest.Problem {
	in := func(p manifest.Problem) manifest.Problem {
		p.Cluster, p.Repo, p.Path = key.Cluster, d.tier.Repo, p.Source.File
		p.Message = fmt.Sprintf("branch %s of %s: %s: %s", d.repo.Base, d.tier.Repo, p.Source, p.Message)
		return p
	}
	if n := len(folder.Problems); n > 0 {
		unfit := in(folder.Problems[0])
		if n > 1 {
			unfit.Next += fmt.Sprintf("; and %d more like it", n-1)
		}
		return unfit
	}
	if claim, claimed := d.tier.Delivery().Claims(folder, d.tier.ReconcilerID(), d.tier.ReconcilerFile()); claimed {
		return in(claim)
	}
	return manifest.Problem{}
}

// hadRoot reports whether the root is found under which a tier's reconciler object was,
// or there never was one: base does not even have its directory.
func (d *tierDecider) hadRoot() bool {
	key, ok := d.rootKey(d.plan.Seed, d.tier)
	if !ok || d.root(key).Found {
		return true
	}
	dir := cmp.Or(key.Path, ".")
	return d.at(d.tier.Repo, d.repo.Head, dir)[dir].IsZero()
}

// rootOnCluster returns what is wrong with the root on the cluster, or why that is not known;
// nothing where there is no channel to ask. An update may be what repairs a root that cannot build,
// and is let through.
func (d *tierDecider) rootOnCluster(update bool) (unfit, unknown manifest.Problem) {
	key, ok := d.rootKey(d.plan.Seed, d.tier)
	if !ok || d.facts.Health.None {
		return unfit, unknown
	}
	root, want := d.wantedRoot(key)
	if update {
		root.Ready = ""
	}
	kind := d.tier.Delivery()
	return kind.RootUnfit(root, want), kind.RootUnknown(root, want)
}

// wantedRoot returns a root, and what Furrow wants of it. It asks how people merge only where the source verifies
// signatures.
func (d *tierDecider) wantedRoot(key health.RootKey) (health.Root, health.WantRoot) {
	root := d.root(key)
	want := health.WantRoot{
		Cluster: key.Cluster, Path: key.Path, Source: key.Source, URL: d.catalog().Repos[d.tier.Repo].Spec.URL, Branch: d.repo.Base,
		Repo: d.tier.Repo, SigningKey: d.repo.SigningKey, OwnKeys: d.repo.OwnKeys,
	}
	if root.Verifies() {
		want.Merging = d.merging(d.tier.Repo)
	}
	return root, want
}

// MergeBy says how the proposals of a repository may be merged.
type MergeBy struct {
	// Ways names the ways to merge whose signature all roots accept; any will do if it is empty.
	Ways []string `json:"ways,omitempty"`
	// Warnings say which other ways the repository allows.
	Warnings manifest.Problems `json:"warnings,omitempty"`
	// Refused says why nothing may be merged: by any way, a root would refuse the base branch. It has no
	// reason if something may be.
	Refused manifest.Problem `json:"refused,omitzero"`
}

// chooseWays finds out by which ways proposals may be merged. It asks the roots under which something is
// proposed. Where one of them verifies signatures, or Furrow signs, it also asks the others that apply
// something of the repository: they read the same branch.
func (d *decider) chooseWays() {
	d.ways = map[string]MergeBy{}
	if d.facts.Health.None {
		return
	}
	type tierOf struct {
		seed *Seed
		tier *plan.Tier
	}
	proposed, rest := map[string][]tierOf{}, map[string][]tierOf{}
	for _, name := range slices.Sorted(maps.Keys(d.seeds)) {
		s := d.seeds[name]
		for i, status := range s.Result.Tiers {
			switch t := &s.Plan.Tiers[i]; {
			case d.repo(t.Repo) == nil:
			case status.IsProposed():
				proposed[t.Repo] = append(proposed[t.Repo], tierOf{s, t})
			case s.Tiers[status.Tier].Base != release.BaseNothing:
				rest[t.Repo] = append(rest[t.Repo], tierOf{s, t})
			}
		}
	}
	for _, repo := range slices.Sorted(maps.Keys(proposed)) {
		roots := mergedBy{decider: d, repo: repo, seen: map[health.RootKey]bool{}}
		for _, of := range proposed[repo] {
			roots.add(of.seed, of.tier)
		}
		if roots.verifies || d.facts.Repos[repo].SigningKey != "" {
			for _, of := range rest[repo] {
				roots.add(of.seed, of.tier)
			}
		}
		if by := roots.by; by.Refused.Reason != "" || by.Ways != nil {
			d.ways[repo] = by
		}
	}
	if d.incomplete() {
		return
	}
	for _, s := range d.seeds {
		for repo, by := range d.ways {
			if s.Plan != nil && by.Refused.Reason != "" {
				s.Result.HoldMerges(s.Plan, repo, by.Refused)
			}
		}
	}
}

// mergedBy finds the ways to merge that all roots of a repository accept.
type mergedBy struct {
	*decider
	repo string
	by   MergeBy
	seen map[health.RootKey]bool
	// verifies reports whether one of the roots verifies signatures.
	verifies bool
	// narrowed has, of the roots that left fewer ways than those before them, which ways they accept, and
	// their Secrets.
	narrowed, secrets []string
}

// add takes in what the root of a tier accepts.
func (m *mergedBy) add(s *Seed, t *plan.Tier) {
	key, ok := m.rootKey(s.Name, t)
	if !ok || m.seen[key] {
		return
	}
	m.seen[key] = true
	root, want := m.decideTier(s.Plan, t, s.previous).wantedRoot(key)
	m.verifies = m.verifies || root.Verifies()
	accepted, problem := t.Delivery().MergeBy(root, want)
	switch {
	case m.by.Refused.Reason != "":
	case len(accepted) == 0 && root.Verify.Failed: // whatever is merged, it refuses the branch as before
	case len(accepted) == 0:
		m.by.Refused = problem
	default:
		m.narrow(t.Delivery().Words().Source, key.Cluster, root, accepted)
		if problem.Repo = m.repo; problem.Reason != "" && !slices.ContainsFunc(m.by.Warnings, func(had manifest.Problem) bool { return had.Next == problem.Next }) {
			m.by.Warnings = append(m.by.Warnings, problem)
		}
	}
	if m.by.Refused.Reason != "" {
		m.by.Ways, m.by.Warnings = nil, nil
	}
}

// narrow leaves the ways that one more root accepts.
func (m *mergedBy) narrow(source, cluster string, root health.Root, accepted []merging.Way) {
	first := m.by.Ways == nil
	var ways []string
	for _, w := range accepted {
		if first || slices.Contains(m.by.Ways, w.Name) {
			ways = append(ways, w.Name)
		}
	}
	if first || len(ways) < len(m.by.Ways) {
		m.narrowed = append(m.narrowed, fmt.Sprintf("the %s %s on cluster %s accepts what is merged by %s only", source, root.Source, cluster, merging.Names(accepted)))
		m.secrets = append(m.secrets, fmt.Sprintf("%s on cluster %s", root.Verify.Secret, cluster))
	}
	if m.by.Ways = ways; len(ways) == 0 {
		m.by.Refused = manifest.Problem{
			Reason: v1alpha1.ReasonRootVerification, Repo: m.repo,
			Message: "by any way to merge, a cluster would refuse the base branch: " + strings.Join(m.narrowed, ", and "),
			Next:    "Put the same public keys into the Secrets " + strings.Join(m.secrets, " and "),
		}
	}
}
