package dependency

import "sync"

// Rule is one dependency rule. Name, Doc and Why are for documentation and display; the reasons of
// its edges quote what in the manifest makes the one object wait for the other.
type Rule struct {
	Name string
	// Doc says in one sentence which object waits for which.
	Doc string
	// Why says in one sentence what would go wrong without the rule.
	Why string
	// OrderOnly reports whether the object may stay when what it waits for leaves.
	OrderOnly bool
	// Once reports whether the order matters only until the object that waits is there.
	Once bool
	// Phase says which rules have drawn their edges before.
	Phase Phase
	// Draw draws the edges of all objects for which the rule is switched on (World.Sources), and
	// reports what it could not find.
	Draw func(*World)
}

// TierOrder is what edges have as their rule that only keep the order of the tiers of an earlier plan.
const TierOrder = "tier"

// ruleNamed returns the rule of a name; one without properties if there is none, or no longer.
func ruleNamed(name string) Rule { return rulesByName()[name] }

var rulesByName = sync.OnceValue(func() map[string]Rule {
	rules := map[string]Rule{}
	for _, r := range Rules() {
		rules[r.Name] = r
	}
	return rules
})

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
	// Needs is for rules about what an object needs to become ready, which all other rules may make later.
	Needs
	// Last is for the rule about what nothing waits for.
	Last
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
		network,
		backend,
		conversion,
		apiservice,
		webhook,
		policy,
		waves,
		unknown,
		mounts,
		references,
		controller,
		storage,
		routes,
		bundle,
		patches,
		last,
	}
}
