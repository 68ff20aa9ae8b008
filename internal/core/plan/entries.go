package plan

import (
	"path"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/delivery"
	"github.com/furrow-dev/furrow/internal/core/delivery/kinds"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// Mode says what lies at an entry's path.
type Mode string

const (
	// ModeTree is a directory.
	ModeTree Mode = "tree"
	// ModeFile is a regular file.
	ModeFile Mode = "file"
)

// Entry is a file or directory that a tier has on the base branch. A directory is one entry, by the
// hash of its Git tree: two directories are equal if the hashes are, whatever the number of files.
type Entry struct {
	Path string `yaml:"path"`
	Mode Mode   `yaml:"mode"`
	// Hash is its Git object id; empty if the path must not exist.
	Hash layout.Hash `yaml:"hash,omitempty"`
}

// entry returns the tier's first entry of a mode; without one it is empty.
func (t *Tier) entry(mode Mode) Entry {
	for _, e := range t.Entries {
		if e.Mode == mode {
			return e
		}
	}
	return Entry{}
}

// setHash sets the hash of the first entry of a mode.
func (t *Tier) setHash(mode Mode, hash layout.Hash) {
	t.Entries = slices.Clone(t.Entries)
	for i := range t.Entries {
		if t.Entries[i].Mode == mode {
			t.Entries[i].Hash = hash
			return
		}
	}
}

// Dir returns the directory of the tier's objects.
func (t *Tier) Dir() string { return t.entry(ModeTree).Path }

// DirHash returns the Git tree id of the tier's objects.
func (t *Tier) DirHash() layout.Hash { return t.entry(ModeTree).Hash }

// ReconcilerFile returns the file of the reconciler object; empty where somebody else's reconciler
// reads the tier.
func (t *Tier) ReconcilerFile() string { return t.entry(ModeFile).Path }

// ReconcilerHash returns the Git blob id of the reconciler object.
func (t *Tier) ReconcilerHash() layout.Hash { return t.entry(ModeFile).Hash }

// Paths returns those of all entries, sorted.
func (t *Tier) Paths() []string {
	paths := make([]string, len(t.Entries))
	for i, e := range t.Entries {
		paths[i] = e.Path
	}
	slices.Sort(paths)
	return paths
}

// With returns the tier with the entries that a base branch has at its paths.
func (t *Tier) With(have map[string]layout.Hash) *Tier {
	out := *t
	out.Entries = slices.Clone(t.Entries)
	for i := range out.Entries {
		out.Entries[i].Hash = have[out.Entries[i].Path]
	}
	return &out
}

// Want returns what base is to have at the tier's paths; an empty hash means that nothing is there.
func (t *Tier) Want() map[string]layout.Hash {
	want := make(map[string]layout.Hash, len(t.Entries))
	for _, e := range t.Entries {
		want[e.Path] = e.Hash
	}
	return want
}

// Digest returns the digest of the tier's entries, by which its proposals are known.
func (t *Tier) Digest() string { return EntriesDigest(t.Want()) }

// Gone reports whether the plan removes the whole tier from the base branch.
func (t *Tier) Gone() bool {
	return !slices.ContainsFunc(t.Entries, func(e Entry) bool { return !e.Hash.IsZero() })
}

// FilePath returns the path of an object's file.
func (t *Tier) FilePath(o Object) string { return path.Join(t.Dir(), o.File) }

// gone returns the tier with nothing of it on the base branch.
func (t *Tier) gone() Tier {
	out := *t
	out.Entries = slices.Clone(t.Entries)
	for i := range out.Entries {
		out.Entries[i].Hash = layout.Hash{}
	}
	out.Contents, out.Object.Rendered, out.Leaving, out.Orphan = "", "", nil, nil
	return out
}

// Delivery returns what is known of the kind of reconciler; nil if this version does not know it.
func (t *Tier) Delivery() delivery.Kind { return kinds.All[t.Reconciler] }

// ReconcilerID is the identity of the reconciler object.
func (t *Tier) ReconcilerID() manifest.ID {
	kind := t.Delivery().Words().Object
	return manifest.ID{Group: kind.Group, Kind: kind.Kind, Namespace: t.Object.Namespace, Name: t.Object.Name}
}

// checkTier refuses a tier that this version could not have written.
func (p *Plan) checkTier(t *Tier) error {
	if t.Delivery() == nil {
		return invalid("%s: %s has the reconciler %q, which is unknown", layout.PlanFile, t, t.Reconciler)
	}
	if err := p.checkEntries(t, t.Entries); err != nil || t.Orphan == nil {
		return err
	}
	before := t.Orphaning()
	if before.Gone() || !slices.Equal(before.Paths(), t.Paths()) {
		return invalid("%s: %s has an orphan without its entries", layout.PlanFile, t)
	}
	return p.checkEntries(t, before.Entries)
}

// checkEntries wants a directory and a file of the tier's own, both of them or neither with a hash.
// A plan is read from a branch, where anybody who can push may have written it: without this check,
// its removal could delete what is not Furrow's.
func (p *Plan) checkEntries(t *Tier, entries []Entry) error {
	dir, root := "/"+p.Name(t).Dir(""), "/furrow/"+p.Seed+"/"
	var modes []Mode
	for _, e := range entries {
		own := false
		switch e.Mode {
		case ModeTree:
			own = strings.HasSuffix("/"+e.Path, dir)
		case ModeFile:
			own = strings.Contains("/"+e.Path, root)
		default:
			return invalid("%s: %s has an entry of mode %q, which is unknown", layout.PlanFile, t, e.Mode)
		}
		switch {
		case !own || strings.Contains(e.Path, ".."):
			return invalid("%s: %s has the path %q, which is not its own", layout.PlanFile, t, e.Path)
		case e.Hash.IsZero() != entries[0].Hash.IsZero():
			return invalid("%s: %s has a hash for only some of its entries", layout.PlanFile, t)
		}
		modes = append(modes, e.Mode)
	}
	if !slices.Equal(modes, []Mode{ModeTree, ModeFile}) {
		return invalid("%s: %s has entries of modes %q, not one tree and one file", layout.PlanFile, t, modes)
	}
	return nil
}
