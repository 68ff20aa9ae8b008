package release

// DeletionEffect is what a reconciler object, in Git or on its cluster, would do with what it
// applied when it is deleted.
type DeletionEffect string

const (
	// EffectUnknown means that its cluster could not be asked.
	EffectUnknown DeletionEffect = ""
	// EffectNone means that the object does not exist.
	EffectNone DeletionEffect = "None"
	// EffectPrunes means that it would delete them, and wait for a cluster that is gone.
	EffectPrunes DeletionEffect = "Holds"
	// EffectOrphans means that it would leave them.
	EffectOrphans DeletionEffect = "Orphans"
)

// OrphansFirst is about the removal of a tier from an abandoned cluster that a hub reconciles. It
// reports whether the entries that orphan its objects come next; otherwise the tier is removed from
// base. base is the reconciler object there, live the one on the hub; removing means that the
// removal is proposed.
//
// Removing the tier at once would not do: the hub's reconciler object has a finalizer, so on its
// deletion the hub would wait for ever to delete objects on a cluster that no longer answers.
//
// An object that is being deleted already, and hangs, takes a changed spec: its file goes back to
// base. What was proposed for it to go stays when the hub falls silent.
func OrphansFirst(base, live DeletionEffect, removing bool) bool {
	switch live {
	case EffectNone:
		return false
	case EffectOrphans:
		return base == EffectPrunes // which the hub has not applied, or must apply again
	case EffectPrunes:
		return true
	}
	return base == EffectPrunes || base == EffectOrphans && !removing
}
