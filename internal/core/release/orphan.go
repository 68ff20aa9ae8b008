package release

// DeletionEffect says what becomes of the objects that a reconciler object applied, once that is deleted in
// Git or on its cluster.
type DeletionEffect string

const (
	// EffectUnknown means that its cluster could not be asked.
	EffectUnknown DeletionEffect = ""
	// EffectNone means that there is no reconciler object.
	EffectNone DeletionEffect = "None"
	// EffectPrunes means that the reconciler deletes them, and waits for a cluster that is gone.
	EffectPrunes DeletionEffect = "Prunes"
	// EffectOrphans means that the reconciler leaves them.
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
