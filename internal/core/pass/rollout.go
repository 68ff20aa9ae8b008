package pass

import (
	"fmt"
	"maps"
	"slices"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/core/window"
)

// observeRollout reads the record of a seed's rollout, and asks for the time zones of its windows. A
// record that cannot be read pauses the rollout: it may say so.
func (d *decider) observeRollout(s *Seed) error {
	zones := window.Zones(s.Plan.Rollout.Windows())
	for _, zone := range zones {
		d.zone(zone)
	}
	for _, repo := range d.recordRepos(s) {
		r := d.repo(repo)
		if r == nil {
			continue
		}
		branch := layout.RolloutBranch(r.Base, s.Name)
		at := r.Refs[branch]
		if at.IsZero() {
			continue
		}
		if s.recorded == nil {
			s.recorded = map[string]layout.Hash{}
		}
		s.recorded[repo] = at
		if !r.IsOwn(branch) && !r.Signed[branch].Good() {
			continue // somebody else's, which is written over
		}
		d.missing = false
		hash := d.at(repo, at, release.RecordFile)[release.RecordFile]
		var data []byte
		if !d.missing && !hash.IsZero() {
			data = d.blob(repo, hash)
		}
		if d.missing || s.record != nil {
			continue
		}
		record, err := release.DecodeRecord(s.Name, branch, data)
		if err != nil {
			s.record = &release.Record{Seed: s.Name, Paused: &release.Request{Why: "its record cannot be read"}}
			s.unreadable = true
			return fmt.Errorf("seed %q: branch %s: %w", s.Name, branch, manifest.About(manifest.Problem{Seed: s.Name, Repo: repo, Path: branch}, err))
		}
		s.record = record
	}
	return nil
}

// recordRepos returns the repositories that may have the record: that of the plan in force, which is
// the seed's home, first, and those of the plans before it.
func (d *decider) recordRepos(s *Seed) []string {
	repos := s.Plan.Repos()
	if s.previous != nil {
		for _, name := range slices.Sorted(maps.Keys(s.previous.Commits)) {
			if !slices.Contains(repos, name) {
				repos = append(repos, name)
			}
		}
	}
	return repos
}

// recordRollout writes the record where it has changed, to the seed's home.
func (d *decider) recordRollout(s *Seed) []Action {
	repos := s.Plan.Repos()
	if s.unreadable || len(repos) == 0 {
		return nil
	}
	var record *release.Record
	if s.Result.Rollout != nil {
		record = s.Result.Rollout.Record
	}
	home := repos[0]
	if d.repo(home) == nil {
		return nil
	}
	var out []Action
	for _, repo := range d.recordRepos(s) {
		r := d.repo(repo)
		if r == nil {
			continue
		}
		a := Action{Verb: Drop, Repo: repo, Seed: s.Name, Branch: layout.RolloutBranch(r.Base, s.Name), Old: s.recorded[repo]}
		switch {
		case repo == home && !record.Empty():
			if !a.Old.IsZero() && record.Equal(s.record) {
				continue
			}
			a.Verb, a.Rollout = RecordRollout, record
		case a.Old.IsZero():
			continue
		}
		out = append(out, a)
	}
	return out
}

// RecordOf returns a copy of the record of the seed's rollout, the repository that it belongs to, and
// the commit that has it there.
func (s *Seed) RecordOf(f *Facts) (record *release.Record, home string, at layout.Hash, err error) {
	repos := s.Plan.Repos()
	switch {
	case s.unreadable:
		return nil, "", at, s.Failure
	case len(repos) == 0:
		return nil, "", at, manifest.OfSeed(v1alpha1.ReasonNothingToDo, s.Name, "its plan is empty", "")
	case f.Repos[repos[0]] == nil:
		return nil, "", at, manifest.OfSeed(v1alpha1.ReasonUnknownRepository, s.Name, fmt.Sprintf("GitOpsRepo %q is not declared", repos[0]), "Declare it, and ask again.")
	case f.Repos[repos[0]].Failure != nil:
		return nil, "", at, f.Repos[repos[0]].Failure
	}
	record = &release.Record{Seed: s.Name}
	if s.record != nil {
		copied := *s.record
		copied.Skips = slices.Clone(copied.Skips)
		record = &copied
	}
	return record, repos[0], s.recorded[repos[0]], nil
}

// addChecks adds what the checks of the forge say of proposals that Furrow may merge, and reports
// whether it added any.
func (d *decider) addChecks(s *Seed) bool {
	found := false
	for i, status := range s.Result.Tiers {
		if !status.NeedsChecks {
			continue
		}
		repo := s.Plan.Tiers[i].Repo
		r := d.facts.Repos[repo]
		branch := layout.TierBranch(r.Base, status.Tier)
		if status.Group != "" {
			branch = layout.GroupBranch(r.Base, s.Name, status.Group)
		}
		checks := d.checks(repo, branch, r.Proposals[branch].Head)
		if checks == nil {
			continue
		}
		facts := s.Tiers[status.Tier]
		proposal := *facts.Proposal
		proposal.Checks = checks
		facts.Proposal = &proposal
		s.Tiers[status.Tier] = facts
		found = true
	}
	return found
}
