package pull

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// record is what Git keeps of a pull request: what a forge cannot be asked later.
type record struct {
	// Number is zero until the server has given one.
	Number int64  `json:"number,omitempty"`
	URL    string `json:"url,omitempty"`
	// Head is the commit that was proposed last or, once closed, the one that the server shows.
	Head git.Hash `json:"head"`
	// Tiers are those that it counts for, with their digests. A closed one may count for two
	// digests of a tier (judge).
	Tiers []layout.Member `json:"tiers"`
	// Outcome is empty while it is open, and OutcomeNone where nobody has judged it.
	Outcome forge.Outcome `json:"outcome,omitempty"`
	// Undecided reports whether the server may yet say how it was closed: until then it counts as
	// Outcome says, and it is asked for again.
	Undecided bool `json:"undecided,omitempty"`
	// Shown reports whether people were shown that it must not be merged, and not yet that it may.
	Shown bool `json:"shown,omitempty"`
	// Unset is what it is opened with and is not known to have had (Attributes.list).
	Unset []string `json:"unset,omitempty"`
	// Closed is when that was, by the server's clock.
	Closed *time.Time `json:"closed,omitempty"`
	Merge  git.Hash   `json:"merge,omitzero"`
	Reason string     `json:"reason,omitempty"`
}

func (r record) isOpen() bool { return r.Outcome == "" }

// hasLanded reports whether base had all of it while the server still had it open: how it was closed
// is not known yet.
func (r record) hasLanded() bool { return r.Outcome == forge.OutcomeMerged && r.Closed == nil }

// isPending reports whether it is not known yet what became of it.
func (r record) isPending() bool { return r.isOpen() || r.Undecided || r.hasLanded() }

// carries reports whether it counts for a tier with a digest.
func (r record) carries(m layout.Member) bool { return slices.Contains(r.Tiers, m) }

// same reports whether two records are of one pull request. One that is being opened has no number
// yet, and is known by what it proposes.
func (r record) same(other record) bool {
	if r.Number == 0 || other.Number == 0 {
		return r.Head == other.Head && r.isOpen() && other.isOpen()
	}
	return r.Number == other.Number
}

// newer orders records, the newest first: one that has no number yet, then by when they were closed
// and by number.
func newer(a, b record) int {
	when := func(r record) time.Time {
		if r.Closed == nil {
			return time.Time{}
		}
		return *r.Closed
	}
	switch {
	case a.isOpen() != b.isOpen():
		return cmp.Compare(boolean(b.isOpen()), boolean(a.isOpen()))
	case (a.Number == 0) != (b.Number == 0):
		return cmp.Compare(boolean(b.Number == 0), boolean(a.Number == 0))
	}
	return cmp.Or(when(b).Compare(when(a)), cmp.Compare(b.Number, a.Number))
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// maxRecords bounds what is kept of one branch.
const maxRecords = 50

// records are all that is known of pull requests of our branches. They are kept on a branch for
// each owner, one file for each branch that ever had a proposal, so a restart, another token or
// another owner knows the same. Each owner writes its own branch, and reads all.
//
// It is not safe for use by several goroutines.
type records struct {
	mirror Mirror
	base   string
	// own is the branch that is written; empty until the first time.
	own string
	// read are the records branches as they were read, by name.
	read map[string]readBranch
	// of are the records of a branch of proposals, newest first.
	of map[string][]record
	// tiers are the branches on which a tier was proposed.
	tiers map[layout.Tier]map[string]bool
	// pending are the branches with a record about which the server has to be asked once it is not open
	// any more.
	pending map[string]bool
	// dirty are the branches about which more is known than was written.
	dirty map[string]bool
}

// readBranch is a records branch as it was read: its commit, and its records by branch of proposals.
type readBranch struct {
	at git.Hash
	of map[string][]record
}

func newRecords(m Mirror, base string) *records {
	return &records{
		mirror: m, base: base, read: map[string]readBranch{},
		of: map[string][]record{}, tiers: map[layout.Tier]map[string]bool{}, pending: map[string]bool{}, dirty: map[string]bool{},
	}
}

// load reads what has changed since the last time.
func (s *records) load(ctx context.Context, refs git.Refs) error {
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		if !layout.IsRecordsBranch(s.base, name) || s.read[name].at == refs[name] {
			continue
		}
		who, err := s.mirror.Identify(refs[name])
		if err == nil && who.Own {
			err = s.readBranch(ctx, name, refs[name])
		}
		if err != nil {
			return fmt.Errorf("read branch %s: %w", name, err)
		}
	}
	if _, there := refs[s.own]; !there && s.own != "" { // somebody deleted it
		s.rewrite()
	}
	return nil
}

// rewrite has the own branch written again with all that is known.
func (s *records) rewrite() {
	delete(s.read, s.own)
	for branch := range s.of {
		s.dirty[branch] = true
	}
}

// readBranch takes in the files of a records branch that differ from those that were read last.
func (s *records) readBranch(ctx context.Context, name string, tip git.Hash) error {
	tree, err := s.mirror.FS(ctx, tip)
	if err != nil {
		return err
	}
	tree = git.Bounded(tree, git.RecordBounds)
	if err := s.mirror.Prefetch(ctx, tip); err != nil {
		return err
	}
	changed := []string{"."}
	last, known := s.read[name]
	if !known {
		last.of = map[string][]record{}
	} else if changed, err = s.mirror.Changes(last.at, tip); err != nil {
		if git.IsUnknown(err) {
			changed = []string{"."}
		} else {
			return err
		}
	}
	last.at = tip
	s.dropRemoved(tree, changed, last.of, name == s.own)
	for _, path := range changed {
		if err := fs.WalkDir(tree, path, func(path string, entry fs.DirEntry, err error) error {
			switch branch, ours := layout.ProposalBranch(s.base, path); {
			case err != nil:
				return ignoreMissing(err)
			case entry.IsDir() || !ours:
				return nil
			default:
				return s.readFile(tree, path, branch, last.of, name == s.own)
			}
		}); err != nil {
			return err
		}
	}
	s.read[name] = last
	return nil
}

// dropRemoved forgets that a records branch says something of branches whose files it no longer has, of
// those at the paths that changed.
func (s *records) dropRemoved(tree fs.FS, changed []string, read map[string][]record, own bool) {
	for branch := range read {
		path, _ := layout.ProposalPath(s.base, branch)
		if !slices.ContainsFunc(changed, func(at string) bool { return at == "." || path == at || strings.HasPrefix(path, at+"/") }) {
			continue
		}
		if _, err := fs.Stat(tree, path); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		delete(read, branch)
		if own && len(s.of[branch]) == 0 {
			delete(s.dirty, branch)
		}
	}
}

// ignoreMissing lets what was removed be removed: its records are history all the same.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// readFile takes in one file of a records branch; read has what the branch said before. What another
// process changed in it counts, beside what this one has found out and not written yet.
func (s *records) readFile(tree fs.FS, path, branch string, read map[string][]record, own bool) error {
	data, err := fs.ReadFile(tree, path)
	if err != nil {
		return err
	}
	var theirs []record
	if err := yaml.Unmarshal(data, &theirs); err != nil {
		return nil // somebody else's file; ours is written over it when there is news
	}
	for _, r := range theirs {
		i := slices.IndexFunc(read[branch], r.same)
		if i >= 0 && reflect.DeepEqual(read[branch][i], r) {
			continue // no news
		}
		if r.Number == 0 && slices.ContainsFunc(s.of[branch], func(ours record) bool { return ours.Head == r.Head }) {
			continue // it was opened since
		}
		if ours, known := s.find(branch, r); known && !own && (ours.Outcome != "" || r.Outcome == "") {
			continue // another owner's word counts for what is not known here
		}
		s.set(branch, r)
	}
	read[branch] = theirs
	if own && reflect.DeepEqual(theirs, s.of[branch]) {
		delete(s.dirty, branch)
	}
	return nil
}

// find returns the record of the same pull request.
func (s *records) find(branch string, r record) (record, bool) {
	list := s.of[branch]
	if i := slices.IndexFunc(list, r.same); i >= 0 {
		return list[i], true
	}
	return record{}, false
}

// number returns the record of a branch by its number.
func (s *records) number(branch string, number int64) (record, bool) {
	return s.find(branch, record{Number: number})
}

// put notes what was found out of a pull request.
func (s *records) put(branch string, r record) {
	if had, known := s.find(branch, r); !known || !reflect.DeepEqual(had, r) {
		s.set(branch, r)
		s.dirty[branch] = true
	}
}

// set takes in a record, in the place of the one of the same pull request.
func (s *records) set(branch string, r record) {
	list := append([]record{r}, slices.DeleteFunc(slices.Clone(s.of[branch]), r.same)...)
	slices.SortStableFunc(list, newer)
	s.keep(branch, list[:min(len(list), maxRecords)])
	for _, m := range r.Tiers {
		if s.tiers[m.Tier] == nil {
			s.tiers[m.Tier] = map[string]bool{}
		}
		s.tiers[m.Tier][branch] = true
	}
}

// keep replaces the records of a branch.
func (s *records) keep(branch string, list []record) {
	if s.of[branch] = list; len(list) == 0 {
		delete(s.of, branch)
	}
	if slices.ContainsFunc(list, record.isPending) {
		s.pending[branch] = true
	} else {
		delete(s.pending, branch)
	}
}

// dropTiers forgets that tiers were proposed on a branch.
func (s *records) dropTiers(branch string, tiers []layout.Member) {
	for _, m := range tiers {
		if delete(s.tiers[m.Tier], branch); len(s.tiers[m.Tier]) == 0 {
			delete(s.tiers, m.Tier)
		}
	}
}

// drop forgets a record.
func (s *records) drop(branch string, r record) {
	if _, known := s.find(branch, r); known {
		s.keep(branch, slices.DeleteFunc(slices.Clone(s.of[branch]), r.same))
		s.dirty[branch] = true
	}
}

// dropAll forgets all records of a branch.
func (s *records) dropAll(branch string) {
	if len(s.of[branch]) > 0 {
		for _, r := range s.of[branch] {
			s.dropTiers(branch, r.Tiers)
		}
		s.keep(branch, nil)
		s.dirty[branch] = true
	}
}

// opening returns the record of a branch that has no number yet.
func (s *records) opening(branch string) (record, bool) {
	for _, r := range s.of[branch] {
		if r.Number == 0 {
			return r, true
		}
	}
	return record{}, false
}

// empty reports whether there are no records at all.
func (s *records) empty() bool {
	for _, list := range s.of {
		if len(list) > 0 {
			return false
		}
	}
	return true
}

// ofTier returns all records that count for a tier, the newest first.
func (s *records) ofTier(t layout.Tier) []onBranch {
	var out []onBranch
	for branch := range s.tiers[t] {
		for _, r := range s.of[branch] {
			if slices.ContainsFunc(r.Tiers, func(m layout.Member) bool { return m.Tier == t }) {
				out = append(out, onBranch{branch: branch, record: r})
			}
		}
	}
	slices.SortFunc(out, func(a, b onBranch) int {
		return cmp.Or(newer(a.record, b.record), cmp.Compare(a.branch, b.branch))
	})
	return out
}

// onBranch is a record with the branch of its pull request.
type onBranch struct {
	branch string
	record
	// plan is the one that a commit on base names, without a pull request.
	plan git.Hash
}

// update returns the move of an owner's branch to what is known now; false where all of it is there.
// A records branch has no past: its commit has no parent, so it does not grow.
func (s *records) update(refs git.Refs, owner string, by git.Person) (u git.Update, news bool, err error) {
	s.own = layout.RecordsBranch(s.base, owner)
	onto := refs[s.own]
	if !onto.IsZero() {
		who, err := s.mirror.Identify(onto)
		if err != nil {
			return u, false, err
		}
		if !who.Own { // nothing that somebody else wrote is kept
			onto = git.Hash{}
			s.rewrite()
		}
	}
	content := map[string][]byte{}
	var edits []git.Edit
	for _, branch := range slices.Sorted(maps.Keys(s.dirty)) {
		path, ok := layout.ProposalPath(s.base, branch)
		if kept, there := s.read[s.own].of[branch]; !ok || reflect.DeepEqual(kept, s.of[branch]) || !there && len(s.of[branch]) == 0 {
			delete(s.dirty, branch)
			continue
		}
		if len(s.of[branch]) == 0 {
			edits = append(edits, git.Edit{Path: path})
			continue
		}
		if content[path], err = yaml.Marshal(s.of[branch]); err != nil {
			return u, false, err
		}
	}
	if len(content)+len(edits) == 0 {
		return u, false, nil
	}
	u.Ref, u.Old = s.own, refs[s.own]
	if s.empty() {
		return u, !u.Old.IsZero(), nil // without records, no branch
	}
	for _, path := range slices.Sorted(maps.Keys(content)) {
		written, err := s.mirror.WriteTree(map[string][]byte{"file": content[path]})
		if err != nil {
			return u, false, err
		}
		blob := written.Objects[0]
		edits, u.Objects = append(edits, git.Edit{Path: path, Hash: blob, Mode: git.ModeFile}), append(u.Objects, blob)
	}
	meta := git.CommitMeta{Author: by, Message: "Record pull requests\n", AllowEmpty: true}
	grafted, err := s.mirror.Graft(onto, edits, meta)
	if err != nil {
		return u, false, err
	}
	if u.New, err = s.mirror.CommitTree(grafted.Tree, nil, meta); err != nil {
		return u, false, err
	}
	u.Objects = append(append(u.Objects, grafted.Objects[:len(grafted.Objects)-1]...), u.New)
	return u, true, nil
}
