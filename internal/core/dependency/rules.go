package dependency

// Rule is one dependency rule. Name, Doc and Why are for documentation and display; the reasons of
// its edges quote what in the manifest makes the one object wait for the other.
type Rule struct {
	Name string
	// Doc says in one sentence which object waits for which.
	Doc string
	// Why says in one sentence what would go wrong without the rule.
	Why string
	// Phase says which rules have drawn their edges before.
	Phase Phase
	// Draw draws the edges of all objects for which the rule is switched on (World.Sources), and
	// reports what it could not find.
	Draw func(*World)
}

// Phase is a group of rules. Phases run in order.
type Phase int

const (
	// ByName is for rules that need only what an object is and what it names.
	ByName Phase = iota
	// Installed is for rules about kinds that something installs: they ask what that needs itself.
	Installed
	// Backends is for rules by which something waits for the workload behind a Service.
	Backends
	// Admission is for rules about what admission does to other objects. They draw an edge one way
	// or the other, by what is drawn so far.
	Admission
	// Ordered is for orders that give way to what an API server needs.
	Ordered
	// Mounts is for rules about objects that all other rules may make later.
	Mounts
)

// Rules returns all the rules there are, in the order in which they run, which is that of their
// phases. An edge that two rules draw is there twice, with both whys. The next rule is one more
// line.
func Rules() []Rule {
	return []Rule{
		namespace,
		crd,
		cluster,
		declared,
		plugin,
		admission,
		provides,
		backend,
		conversion,
		apiservice,
		webhook,
		policy,
		waves,
		mounts,
	}
}
