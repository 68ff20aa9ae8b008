package catalog

import (
	"fmt"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// faults are the documents that cannot be used. What they declare is not gone: it is only not
// known.
//
// There are three degrees: a document whose name is known (named) explains what is missing by that
// name; one whose name is not known (unread) may explain anything; a file that was not read at all
// (lost) counts only for what is already planted, as there may be many of them that have nothing to
// do with Furrow.
type faults struct {
	named map[documentKey]fault
	// unread are documents whose names cannot be read either: each may declare anything.
	unread manifest.Problems
	// lost are files that are not read at all: what was declared there may be in use.
	lost []manifest.Source
}

// documentKey identifies a document of Furrow.
type documentKey struct{ kind, name string }

// fault is why a document cannot be used.
type fault struct {
	manifest.Problem
	// workload reports whether the document certainly declares no management cluster.
	workload bool
}

// add notes what is wrong with a document; the first problem counts.
func (f *faults) add(kind, name string, p manifest.Problem, workload bool) {
	key := documentKey{kind, name}
	if _, known := f.named[key]; !known {
		f.named[key] = fault{p, workload}
	}
}

// has reports whether any document of a kind has a fault.
func (f *faults) has(kind string) bool {
	for key := range f.named {
		if key.kind == kind {
			return true
		}
	}
	return false
}

// of returns why something that nobody declares may be declared all the same; empty when no
// document that cannot be used may declare it.
func (f *faults) of(kind, name string) string {
	if p, ok := f.named[documentKey{kind, name}]; ok {
		return fmt.Sprintf("%s %q cannot be used, see %s", kind, name, p.Source)
	}
	if len(f.unread) > 0 {
		return fmt.Sprintf("%s %q is not declared, unless in %s, which cannot be read", kind, name, f.unread[0].Source)
	}
	return ""
}

// Broken returns why a cluster that is not in the inventory may be declared all the same; empty
// when it is there, or no document that cannot be used may declare it.
func (inv *Inventory) Broken(cluster string) string {
	if _, there := inv.Clusters[cluster]; there {
		return ""
	}
	if p, ok := inv.faults.named[documentKey{"Cluster", cluster}]; ok {
		return fmt.Sprintf("its document at %s cannot be used: %s", p.Source, p.Message)
	}
	if len(inv.faults.unread) > 0 && !inv.implied[cluster] {
		return fmt.Sprintf("%s cannot be read and may declare it", inv.faults.unread[0].Source)
	}
	return ""
}

// BrokenOrLost says the same of a cluster on which something is planted: it was declared
// once, and may have been in a file that is not read any more.
func (inv *Inventory) BrokenOrLost(cluster string) string {
	_, there := inv.Clusters[cluster]
	if why := inv.Broken(cluster); why != "" || there || len(inv.faults.lost) == 0 || inv.implied[cluster] {
		return why
	}
	return fmt.Sprintf("%s cannot be read and may declare it", inv.faults.lost[0])
}

// MarkImplied records that a cluster had no document when it was last planned, so
// one which cannot be read is not treated as its own.
func (inv *Inventory) MarkImplied(cluster string) {
	if inv.implied == nil {
		inv.implied = map[string]bool{}
	}
	inv.implied[cluster] = true
}

// BrokenRepo says the same of a GitOps repository.
func (inv *Inventory) BrokenRepo(name string) string { return inv.faults.of("GitOpsRepo", name) }

// MayManage returns a document that cannot be used and may declare a management cluster; false when
// there is none.
func (inv *Inventory) MayManage() (manifest.Source, bool) {
	return inv.first(func(f fault) bool { return !f.workload })
}

// AnyBroken returns a document that cannot be used and may declare a cluster; false when there is
// none.
func (inv *Inventory) AnyBroken() (manifest.Source, bool) {
	return inv.first(func(fault) bool { return true })
}

// MayDeclareMore returns a document or file that cannot be used and may declare a cluster; false
// when there is none.
func (inv *Inventory) MayDeclareMore() (manifest.Source, bool) {
	if at, broken := inv.AnyBroken(); broken || len(inv.faults.lost) == 0 {
		return at, broken
	}
	return inv.faults.lost[0], true
}

// first returns the first document that cannot be used and may declare such a cluster.
func (inv *Inventory) first(such func(fault) bool) (manifest.Source, bool) {
	if unread := inv.faults.unread; len(unread) > 0 {
		return unread[0].Source, true
	}
	var at manifest.Source
	for key, f := range inv.faults.named {
		if key.kind == "Cluster" && such(f) && (at == (manifest.Source{}) || f.Source.Compare(at) < 0) {
			at = f.Source
		}
	}
	return at, at != (manifest.Source{})
}
