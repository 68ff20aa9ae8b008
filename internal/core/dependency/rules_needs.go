package dependency

// needRule is a rule about what objects need to become ready. needsOf finds that; the rule draws weak edges to it.
func needRule(name, doc, why string) Rule {
	return Rule{Name: name, Doc: doc, Why: why, OrderOnly: true, Once: true, Phase: Needs, Draw: (*World).drawNeeds}
}

var mounts = needRule(ruleMounts,
	"A workload is not in an earlier tier than what its pods name: Secrets, ConfigMaps, claims, networks, classes, a ServiceAccount, a scheduler, resources of nodes; "+
		"nor in an earlier one than what makes these.",
	"Its pods would not start before a later tier, which may wait for this one.")

var references = needRule(ruleReferences,
	"A custom resource, a HelmRelease or a Kustomization is not in an earlier tier than what it names in a field that is called like it, or by kind and name; nor in an earlier one than what makes that.",
	"It would not become ready before a later tier, which may wait for this one.")

var controller = needRule(ControllerRule,
	"A custom resource is not in an earlier tier than the workload that may write the status of its kind, and those behind the webhooks for its group.",
	"Nothing would act on it before a later tier, which may wait for this one.")

var storage = needRule(ruleStorage,
	"A claim is not in an earlier tier than its StorageClass and its volume, and a StorageClass not in an earlier one than its driver and what its parameters name.",
	"The claim would not be bound before a later tier, which may wait for this one.")

var routes = needRule(ruleRoutes,
	"A Service of type LoadBalancer is not in an earlier tier than what gives addresses, and an Ingress not in an earlier one than its class and the controller of that.",
	"It would get no address before a later tier, which may wait for this one.")

var bundle = needRule(ruleBundle,
	"A webhook configuration that fails closed, and a custom resource whose kind has a conversion webhook, is not in an earlier tier than the Certificate of cert-manager whose bundle the webhook asks for, and the workload that injects it.",
	"Until it has the bundle, no webhook can be called.")

var patches = needRule(rulePatches,
	"A Job that patches the bundle of certificates into a webhook configuration is in the tier of that.",
	"Without the configuration the Job fails, and without the bundle no webhook can be called.")

// The names of the rules that say what an object needs to become ready.
const (
	ruleMounts     = "mounts"
	ruleReferences = "references"
	ruleStorage    = "storage"
	ruleRoutes     = "routes"
	ruleBundle     = "bundle"
	rulePatches    = "patches"
)

// ControllerRule is the name of the rule about what writes the status of a custom resource.
const ControllerRule = "controller"
