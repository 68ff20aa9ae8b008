package architecture

// rule says something about a package and all packages below it.
type rule struct{ path, why string }

// forbidden is what core must not reach, directly or through a third-party library.
var forbidden = []rule{
	{"C", "C code can do anything"},
	{"crypto/rand", "random source"},
	{"crypto/tls", "socket"},
	{"database/sql", "socket"},
	{"hash/maphash", "random seed"},
	{"io/ioutil", "file system"},
	{"log", "logger"},
	{"math/rand", "random source"},
	{"net", "socket"},
	{"os", "file system, environment, process"},
	{"path/filepath", "file system, and results that differ between systems; use path"},
	{"plugin", "loads code from files"},
	{"syscall", "operating system"},
	{"testing", "belongs in test files"},

	{"github.com/go-git", "files and sockets"},
	{"github.com/go-logr", "logger"},
	{"golang.org/x/sys", "operating system"},
	{"k8s.io/apimachinery/pkg/util/net", "socket"},
	{"k8s.io/apimachinery/pkg/util/rand", "random source"},
	{"k8s.io/apimachinery/pkg/util/uuid", "random source"},
	{"k8s.io/apimachinery/pkg/util/wait", "clock"},
	{"k8s.io/client-go", "Kubernetes client"},
	{"k8s.io/klog", "logger"},
	{"sigs.k8s.io/controller-runtime", "Kubernetes client"},
}

// network is what the object database must not reach: remotes, sockets, and programs that open them.
var network = []rule{
	{"net", "socket"},
	{"crypto/tls", "socket"},
	{"os/exec", "process"},
	{"github.com/go-git/go-git/v5/plumbing/transport", "remote"},
	{"github.com/go-git/go-git/v5/plumbing/protocol", "remote"},
}

// harmless is below something forbidden, but only computes.
var harmless = []rule{
	{"net/netip", "addresses as values"},
	{"net/url", "parses strings"},
}

// leaves are libraries that do reach I/O and are not walked further, because core uses only their types and codecs.
// Their parts that do more are listed under forbidden. Keep the list short: a library that passes the walk (the YAML
// and JSON codecs do) needs no entry.
var leaves = []rule{
	{"k8s.io/apimachinery", "API types, labels, validation and patches; logs by klog, and knows net addresses"},
	{"k8s.io/apiextensions-apiserver", "validates values by schemas; counts by prometheus how long that takes"},
	{"k8s.io/api", "API types; how it compares tolerations logs by klog"},
	{"github.com/fluxcd/kustomize-controller/api", "API types; registers them in a scheme of controller-runtime"},
	{"github.com/fluxcd/source-controller/api", "API types; registers them in a scheme of controller-runtime"},
	{"github.com/fluxcd/pkg/apis", "API types that the two above are made of"},
	{"cel.dev/cel-go", "evaluates expressions over values; its protobuf runtime imports os"},
	{"github.com/google/cel-go", "evaluates expressions over values; its protobuf runtime imports os"},
}

// effects are functions of allowed packages that read or write the world outside. An empty list means all of them.
var effects = map[string][]string{
	"context": {"WithDeadline", "WithDeadlineCause", "WithTimeout", "WithTimeoutCause"},
	"fmt":     {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
	"time": {
		"After", "AfterFunc", "LoadLocation", "Local", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until",
	},
	"text/template": {"ParseFiles", "ParseGlob"},
	"crypto/rand":   {},
	"math/rand":     {},
	"math/rand/v2":  {},
}

type layer int

const (
	api layer = iota
	core
	edge
	engine
	frontEnd
	cli
	mainPkg
	test
)

// row is a package's row in the map of packages: its layer, and which packages of ours it may import.
type row struct {
	path  string
	layer layer
	// only lists all packages of ours that it may import; nil means any of a lower layer. Its own subfolders always.
	only []string
}

// rows has every package of ours; a folder's row holds for what is below it. Direction: api ← core ← edges ←
// engine ← front ends ← cli ← main. Nobody imports what lies in test.
var rows = []row{
	{"api", api, []string{}},
	{"templates", api, []string{}},
	{"config", api, []string{"api"}},

	{"internal/core/recent", core, []string{}},
	{"internal/core/window", core, []string{}},
	{"internal/core/merging", core, []string{}},
	{"internal/core/truncate", core, []string{}},
	{"internal/core/redact", core, []string{}},
	{"internal/core/githash", core, []string{}},
	{"internal/core/gitname", core, []string{}},
	{"internal/core/expression", core, []string{}},
	{"internal/core/validate", core, []string{}},
	{"internal/core/readiness", core, []string{"api", "internal/core/expression", "internal/core/manifest"}},
	{"internal/core/schema", core, []string{}},
	{"internal/core/manifest", core, []string{"api", "internal/core/schema", "internal/core/truncate"}},
	{"internal/core/plugin", core, []string{"api", "internal/core/manifest", "internal/core/redact", "internal/core/truncate"}},
	{"internal/core/catalog", core, []string{"api", "internal/core/gitname", "internal/core/manifest", "internal/core/plugin", "internal/core/readiness", "internal/core/truncate", "internal/core/window"}},
	{"internal/core/leaves", core, []string{}},
	{"internal/core/immutable", core, []string{"internal/core/leaves", "internal/core/manifest", "internal/core/validate"}},
	{"internal/core/change", core, []string{"internal/core/githash", "internal/core/immutable", "internal/core/leaves", "internal/core/manifest", "internal/core/catalog", "internal/core/recent", "internal/core/truncate"}},
	{"internal/core/health", core, []string{"api", "internal/core/manifest", "internal/core/merging", "internal/core/catalog", "internal/core/redact"}},
	{"internal/core/template", core, []string{"api", "internal/core/manifest", "internal/core/truncate"}},
	{"internal/core/override", core, []string{"api", "internal/core/manifest", "internal/core/catalog", "internal/core/schema", "internal/core/truncate"}},
	{"internal/core/installs", core, []string{"api", "internal/core/manifest"}},
	{"internal/core/placement", core, []string{"api", "internal/core/manifest", "internal/core/catalog", "internal/core/change", "internal/core/expression", "internal/core/installs", "internal/core/override"}},
	{"internal/core/makes", core, []string{"internal/core/installs", "internal/core/manifest", "internal/core/placement"}},
	{"internal/core/dependency", core, []string{"api", "internal/core/expression", "internal/core/installs", "internal/core/makes", "internal/core/manifest", "internal/core/catalog", "internal/core/placement"}},
	{"internal/core/kinds", core, []string{"api", "internal/core/manifest", "internal/core/catalog", "internal/core/placement"}},
	{"internal/core/layout", core, []string{
		"api", "internal/core/githash", "internal/core/manifest", "internal/core/catalog", "internal/core/placement",
		"internal/core/dependency", "internal/core/template",
	}},
	{"internal/core/delivery/flux", core, []string{
		"api", "internal/core/catalog", "internal/core/delivery", "internal/core/health", "internal/core/layout", "internal/core/manifest",
		"internal/core/merging", "internal/core/redact", "internal/core/template", "internal/core/truncate", "templates",
	}},
	{"internal/core/delivery/kinds", core, []string{"api", "internal/core/delivery"}},
	{"internal/core/delivery", core, []string{"internal/core/health", "internal/core/manifest", "internal/core/merging", "internal/core/template"}},
	{"internal/core/audit", core, []string{"internal/core/layout"}},
	{"internal/core/plan", core, []string{
		"api", "internal/core/githash", "internal/core/manifest", "internal/core/catalog", "internal/core/placement",
		"internal/core/delivery", "internal/core/dependency", "internal/core/kinds", "internal/core/makes", "internal/core/template", "internal/core/layout", "internal/core/change", "internal/core/immutable", "internal/core/readiness", "internal/core/validate", "internal/core/window",
	}},
	{"internal/core/release", core, []string{"api", "internal/core/change", "internal/core/manifest", "internal/core/plan", "internal/core/health", "internal/core/layout", "internal/core/githash", "internal/core/window"}},
	{"internal/core/review", core, []string{
		"internal/core/catalog", "internal/core/manifest", "internal/core/layout", "internal/core/template", "internal/core/change", "internal/core/plan", "internal/core/release", "internal/core/truncate",
	}},
	{"internal/core/pass", core, []string{"api", "internal/core", "templates"}},

	{"internal/render", edge, []string{"api", "internal/core", "internal/plugin"}},
	{"internal/plugin", edge, []string{"api", "internal/core"}},
	{"internal/backoff", edge, []string{}},
	{"internal/git/odb", edge, []string{"internal/core/githash", "internal/core/gitname"}},
	{"internal/git/signature", edge, nil},
	{"internal/git", edge, []string{"internal/core/githash", "internal/core/redact", "internal/core/truncate", "internal/backoff", "internal/git/odb", "internal/git/signature"}},
	{"internal/webhook", edge, nil},
	{"internal/draw", edge, []string{"internal/core"}},
	{"internal/forge", edge, []string{"internal/core/layout", "internal/core/manifest", "internal/core/merging", "internal/core/redact", "internal/core/template", "internal/core/truncate", "internal/backoff", "internal/git"}},
	{"internal/probe", edge, []string{"api", "internal/core", "internal/backoff", "internal/git/signature"}},
	{"internal/simulator", edge, []string{"api", "internal/core", "internal/probe"}},
	{"internal/state", edge, []string{"api", "internal/core/layout", "internal/core/manifest", "internal/core/release", "internal/core/truncate"}},

	{"internal/engine", engine, nil},
	{"internal/controlplane", engine, []string{"api", "internal/core", "internal/render", "internal/backoff", "internal/git", "internal/forge", "internal/probe", "internal/state", "internal/engine"}},
	{"controllers", frontEnd, nil},
	{"internal/standalone", frontEnd, nil},
	{"internal/demo", frontEnd, []string{"internal/controlplane"}},
	{"internal/web", cli, nil},
	{"internal/cli", cli, []string{
		"api", "templates", "config", "internal/core", "internal/render", "internal/plugin", "internal/backoff", "internal/git",
		"internal/forge", "internal/probe", "internal/simulator", "internal/engine", "internal/controlplane", "controllers",
		"internal/standalone", "internal/demo", "internal/draw", "internal/state", "internal/webhook", "internal/web",
	}},
	{".", mainPkg, []string{"internal/cli"}},
	{"test", test, nil},
}

// vague are names that say nothing of what a package owns.
var vague = []string{"common", "helper", "helpers", "misc", "shared", "util", "utils"}
