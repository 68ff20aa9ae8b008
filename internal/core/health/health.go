// Package health has what a health channel observes on a cluster, and draws the one verdict on a
// tier from it.
//
//	Reconciler, Creators ─▶ Judge ─▶ Verdict      is the tier on its cluster, and healthy?
//	Root ─▶ RootUnfit, RootUnknown                would what lands there be applied at all?
//
// Invariants:
//   - What was not observed is Unknown, and Unknown never passes a gate.
//   - A tier is Ready only if the live reconciler object is the one on base, ready for its
//     generation, at a revision whose content at the tier's paths is that of base. Conditions alone
//     do not suffice: for some seconds after a merge they are still those of what was there before.
//   - Failed is not final: the next observation may be better.
//
// What a reconciler says of itself is judged by its kind (package delivery). Everything here is a pure function of
// its arguments.
package health

// Reconciler is what a channel observed of one tier's reconciler object on the cluster whose reconciler acts for the
// tier.
type Reconciler struct {
	// Known is false when the cluster could not be asked; all else but Reason and Message is then
	// zero.
	Known bool
	// Found reports whether the object exists.
	Found bool
	// Deleting reports whether the object has a deletion timestamp.
	Deleting bool
	// Suspended is the object's spec.suspend.
	Suspended bool
	// Rendered is the live object's annotation furrow.dev/rendered.
	Rendered string
	// Spec is the live object's spec; the server may have added defaults.
	Spec map[string]any
	// Generation and ObservedGeneration are the object's, zero when absent. The reconciler moves
	// the latter, with Revision, when a reconciliation of that generation succeeds, and
	// when the spec is invalid for good.
	Generation, ObservedGeneration int64
	// Ready is the status of condition Ready: "True", "False", "Unknown" or, without that
	// condition, empty.
	Ready string
	// ReadyGeneration is the observedGeneration of condition Ready.
	ReadyGeneration int64
	// Reason and Message are those of condition Ready; where Known is false they say which cluster
	// cannot be asked, and why.
	Reason, Message string
	// Revision is status.lastAppliedRevision, "<branch>@sha1:<40 hex>".
	Revision string
	// AttemptedRevision is status.lastAttemptedRevision, in the same form.
	AttemptedRevision string
	// LastResult is the last conclusion on this very object, generation and spec that the
	// channel itself has seen, without a gap: ReconciliationSucceeded for Ready=True,
	// else the reason of Ready=False. Ready=Unknown and DependencyNotReady are not
	// conclusions and keep the one before; but it is forgotten once Ready has been
	// Unknown for 30 s, because reconciling a healthy object again takes seconds. While
	// it waits for a dependency, nothing is attempted and nothing is forgotten. It is
	// empty if there was no conclusion.
	LastResult string
}

// LeavesAll reports whether the reconciler would leave what it applied if its object were
// deleted now: nothing is pruned for one that is suspended.
func (r Reconciler) LeavesAll() bool { return r.Known && r.Found && !r.Deleting && r.Suspended }

// Root is what a channel observed of the root that syncs a directory of a cluster.
type Root struct {
	// Known is false when the cluster could not be asked; all else but Message is then zero.
	Known bool
	// Found reports whether some reconciler object of the cluster syncs the directory.
	Found bool
	// Name is the root's, as namespace/name.
	Name string
	// Path is the directory that it syncs, the one that was asked for or one above it:
	// without "./" and slashes at the ends, and empty for the whole repository.
	Path string
	// Suspended, Prune and Wait are fields of its spec.
	Suspended, Prune, Wait bool
	// Ready is the status of condition Ready, or empty; Reason and Message are its own.
	Ready, Reason, Message string
	// Source is the root's source object, as namespace/name, and SourceKind its kind.
	Source, SourceKind string
	// SourceFound reports whether the source object exists; URL and Branch are its spec's.
	SourceFound bool
	URL, Branch string
	// Ignore is the source's spec.ignore: lines as of a .gitignore.
	Ignore string
	// SourceSuspended is the source's spec.suspend.
	SourceSuspended bool
	// Verify says what the source verifies of commits.
	Verify Verify `json:",omitzero"`
	// SourceReady is the status of the source's condition Ready, SourceMessage its message.
	SourceReady, SourceMessage string
}

// Verify is how a source verifies the signatures of commits.
type Verify struct {
	// Mode is HEAD, Tag or TagAndHEAD; empty if it verifies nothing.
	Mode string
	// Secret has the public keys, as namespace/name, and Keys are their fingerprints, separated by blanks.
	Secret, Keys string
	// Unknown says why the keys are not known.
	Unknown string
	// Failed reports whether the source has refused the newest commit for its signature.
	Failed bool
}

// Creator is what a channel observed of one creator object on its management
// cluster, and of the API server of the cluster that it creates.
type Creator struct {
	// Name is the creator's kind and namespace/name, if the channel reports it.
	Name string
	// Known is false when the management cluster could not be asked; Message then names it, and why.
	Known bool
	// Found is false when its API server answered 404 for the creator.
	Found bool
	// Current reports whether the creator's expression holds, or its kind has none.
	Current bool
	// Answers reports whether the created cluster's API server answers /readyz.
	Answers bool
	// Message says what the creator is waiting for, for people.
	Message string
}
