# Every target works from a fresh clone with Go, git and make; the tools are built from their pinned modfiles.

GO       ?= go
# The patch release that go.mod names, where it can be had; else the Go that is installed. GOTOOLCHAIN=local keeps that.
ifndef GOTOOLCHAIN
GOTOOLCHAIN := $(shell GOTOOLCHAIN=auto $(GO) version >/dev/null 2>&1 && echo auto || echo local)
endif
export GOTOOLCHAIN
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS  := -s -w -X github.com/furrow-dev/furrow/internal/cli.version=$(VERSION)
LINT     := $(GO) tool -modfile=tools/lint/go.mod golangci-lint
# The module of known vulnerabilities, as a folder.
VULNDB    = $(shell $(GO) mod download -modfile=tools/vuln/database.mod -json golang.org/x/vulndb | sed -n 's/.*"Dir": "\(.*\)",/\1/p')

# All is compiled in two ways and no third: as the product is, and with the race detector, which needs a C compiler.
PLAIN    := CGO_ENABLED=0 $(GO)
BUILD    := -trimpath -buildvcs=false
CC_FOUND  = $(shell command -v $(firstword $(shell $(GO) env CC)))
RACE     := $(if $(and $(filter 1,$(shell $(GO) env CGO_ENABLED)),$(CC_FOUND)),-race)
RACING   := $(if $(RACE),$(GO),$(PLAIN))
# The packages whose code or tests have goroutines, and those whose tests run on real servers. Few of the commands have
# any: the target test runs those that watch, run and read with the race detector too.
CONCURRENT := ./controllers/... ./internal/controlplane ./internal/engine ./internal/forge/... ./internal/git/... ./internal/simulator ./internal/probe/... ./internal/render/... ./internal/standalone
# The longest come first, so the others run beside them.
ON_SERVERS := ./test/e2e ./test/law ./internal/forge/gitea ./internal/probe/discover ./internal/probe/flux ./test/install ./test/kubectl ./test/scale
HARNESS    := ./test/servers ./test/servers/store
# A file that is there when the tests of the harness have passed as it is now.
HARNESS_PASSED = $${XDG_CACHE_HOME:-$$HOME/.cache}/furrow/passed-$(shell git ls-files -co --exclude-standard test/servers | xargs cat | git hash-object --stdin)
# The rest of the packages, and the engine without the race detector, with which it repeats itself less.
SEQUENTIAL  = $(filter-out $(shell $(GO) list $(CONCURRENT)),$(shell $(GO) list ./...)) ./internal/engine

# TIMEOUT bounds a run of tests, PACKAGE_TIMEOUT the tests of one package.
TIMEOUT         ?= 55m
PACKAGE_TIMEOUT ?= 45m
BOUNDED  := $(if $(shell command -v timeout),timeout --foreground -s INT -k 60s $(TIMEOUT))
PROGRAM   = furrow
# $(call tests,COMMANDS) runs commands that print the JSON of go test, shows it as go test does, counts the tests, and
# lists those that lacked something.
TESTSUM  := $(GO) tool -modfile=tools/test/go.mod gotestsum
define tests
@log=$$(mktemp); FURROW_BIN=$(CURDIR)/bin/$(PROGRAM) $(BOUNDED) $(TESTSUM) --format standard-quiet --format-hide-empty-pkg --hide-summary skipped --jsonfile $$log \
	--raw-command -- sh -c 'code=0; $(1) exit $$code'; \
code=$$?; sed -n 's/.*"Output":".*\(SKIPPED: [^"]*\)\\n".*/\1/p' $$log | sort -u; rm -f $$log; [ $$code = 0 ] || exit $$code
endef
# $(call gotest,GO FLAGS PACKAGES) is one of those commands.
gotest = $(1) || code=1;

# The slices of what is long; each takes some minutes. SEED is that of the first random history.
CRASHES := 4
SLICES  := crash-1 crash-2 crash-3 crash-4 disturbances front-ends histories strangers edge-calls object-database fuzz law scale upgrade demo
SLICE   ?= $(SLICES)
SEED    ?= 1
# How many histories with a stranger: 10,000 take about twenty minutes.
STRANGERS ?= 3000
ON_E2E  := $(PLAIN) test $(BUILD) -json -count=1 -timeout $(PACKAGE_TIMEOUT) ./test/e2e

# The image, and what builds it: docker or podman.
IMAGE     ?= ghcr.io/furrow-dev/furrow
CONTAINER ?= docker

BENCH     ?= .
BENCHTIME ?= 1s

# A digest of what differs from HEAD, untracked files included.
STATE := { git diff HEAD; git ls-files -oz --exclude-standard | xargs -0 cksum; } | git hash-object --stdin

.DEFAULT_GOAL := help
.PHONY: help build image generate verify lint vulnerabilities servers test test-servers law soak soak-slices soak-ready bench demo demo-real

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/furrow, static, with the names by which kubectl calls it
	$(PLAIN) build $(BUILD) -ldflags '$(LDFLAGS)' -o bin/furrow .
	@ln -sf furrow bin/kubectl-furrow
	@ln -sf furrow bin/kubectl_complete-furrow

image: ## build the image $(IMAGE):$(VERSION)
	$(CONTAINER) build --build-arg VERSION=$(VERSION) -t $(IMAGE):$(VERSION) .

generate: ## write all generated files again
	$(GO) generate ./...

verify: ## what a change must pass: generated files, format, modules, vet, lint, vulnerabilities
	@before=$$($(STATE)); \
	$(MAKE) --no-print-directory generate || exit 1; \
	[ "$$before" = "$$($(STATE))" ] || { git status --short; \
		echo "verify: make generate changed the files above; commit what it writes" >&2; exit 1; }
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "$$unformatted"; \
		echo "verify: run gofmt -w on the files above" >&2; exit 1; }
	$(GO) mod tidy -diff
	$(GO) vet ./...
	$(LINT) run
	@$(MAKE) --no-print-directory vulnerabilities

lint: ## run golangci-lint
	$(LINT) run

# A binary with its symbols names what is linked, which is less than what is required.
vulnerabilities: ## compare the binary and its Go with the database of known vulnerabilities
	$(PLAIN) build $(BUILD) -o bin/furrow-symbols .
	$(GO) tool -modfile=tools/vuln/go.mod govulncheck -db "file://$(VULNDB)/data/osv" -mode binary bin/furrow-symbols

# With FURROW_REQUIRE_SERVERS set, a server that cannot be built is an error; else its tests are skipped and listed.
servers: ## build the real servers that tests run on, where they are missing
	@$(GO) run ./test/servers/build || [ -z "$$FURROW_REQUIRE_SERVERS" ]

# Several packages mostly wait: for git, and for limits of time to pass.
test: build ## run the tests that need nothing but Go, git and make
	$(call tests,\
		$(call gotest,$(PLAIN) test $(BUILD) -json -short -p 4 -timeout $(PACKAGE_TIMEOUT) $(SEQUENTIAL))\
		$(call gotest,$(RACING) test $(BUILD) $(RACE) -json -short -p 4 -timeout $(PACKAGE_TIMEOUT) $(CONCURRENT))\
		$(call gotest,$(RACING) test $(BUILD) $(RACE) -json -short -timeout $(PACKAGE_TIMEOUT) ./internal/cli -run "Watch|Run|Reading"))
	@echo "Not covered: real servers (make test-servers), and what is long (make soak)."

# Results of tests on servers are not reused: go does not see all that they depend on. Stories mostly wait for servers, so
# more of them run at once than there are processors. The tests of what starts and builds
# the servers run when that has changed since they passed.
test-servers: build servers ## run the tests on real servers: etcd, Kubernetes, Flux, KWOK, Gitea
	$(call tests,\
		$(call gotest,$(PLAIN) test $(BUILD) -json -count=1 -p 2 -parallel 3 -timeout $(PACKAGE_TIMEOUT) $(ON_SERVERS))\
		$(call gotest,[ -e $(HARNESS_PASSED) ] || { $(PLAIN) test $(BUILD) -json -count=1 -timeout $(PACKAGE_TIMEOUT) $(HARNESS) && touch $(HARNESS_PASSED); }))
	@echo "Not covered: what is long (make soak)."

law: build servers ## apply real packages in the order of other tools, and write the table of docs/law.md
	FURROW_BIN=$(CURDIR)/bin/furrow $(PLAIN) test $(BUILD) -count=1 -timeout $(PACKAGE_TIMEOUT) ./test/law -run TestOrdersOfOtherToolsAreCompared -table $(CURDIR)/docs/law.md

soak: $(addprefix soak-,$(SLICE)) ## run what is long: all of it, or SLICE="crash-1 demo"; make soak-slices lists them

soak-slices:
	@echo $(SLICES)

# What is long runs a furrow with the race detector.
soak-%: PROGRAM = furrow-race
soak-%: export FURROW_SOAK = 1
soak-ready: servers
	$(RACING) build $(BUILD) $(RACE) -o bin/furrow-race .

soak-crash-%: soak-ready
	$(call tests,$(call gotest,$(ON_E2E) -run TestFurrowRecoversFromAKillAtAnyCall -part $*/$(CRASHES)))

soak-disturbances: soak-ready
	$(call tests,$(call gotest,$(ON_E2E) -run TestAControllerRecoversFromDisturbances))

soak-front-ends: soak-ready
	$(call tests,$(call gotest,$(ON_E2E) -run "TestAWorkloadBringsItsOwnCluster|TestAnEdgeHasItsOwnFlux"))

soak-histories:
	$(call tests,$(call gotest,$(PLAIN) test $(BUILD) -json -timeout $(PACKAGE_TIMEOUT) ./internal/engine -run Random -start $(SEED)))

soak-strangers:
	$(call tests,$(call gotest,$(PLAIN) test $(BUILD) -json -timeout 3h ./internal/engine -run RandomHistoriesWithAStranger -runs $(STRANGERS) -start $(SEED)))

soak-edge-calls:
	$(call tests,$(call gotest,$(PLAIN) test $(BUILD) -json -timeout $(PACKAGE_TIMEOUT) ./internal/engine -skip Random))

# All crashes, 10,000 commits, and some minutes of fuzzing.
soak-object-database:
	$(call tests,$(call gotest,$(PLAIN) test $(BUILD) -json -timeout $(PACKAGE_TIMEOUT) ./internal/git/odb))
	for fuzz in FuzzDelta FuzzParseTree FuzzGraft FuzzMerge; do \
		$(PLAIN) test $(BUILD) -run '^$$' -fuzz "^$$fuzz$$" -fuzztime 1m ./internal/git/odb || exit 1; done

# What people commit is text for parsers: of manifests, templates, expressions, annotations and patches.
FUZZ := manifest:FuzzParse manifest:FuzzText manifest:FuzzValues template:FuzzRender template:FuzzReconcilers expression:FuzzExpressions \
	placement:FuzzSeedRules placement:FuzzAnnotations dependency:FuzzMatchConditions dependency:FuzzDialects installs:FuzzProvides override:FuzzOverrides

soak-fuzz:
	for fuzz in $(FUZZ); do \
		$(PLAIN) test $(BUILD) -run '^$$' -fuzz "^$${fuzz#*:}$$" -fuzztime 1m ./internal/core/$${fuzz%:*} || exit 1; done

# The tests on servers apply each tier in fewer random orders, and always in the same.
soak-law: servers
	$(call tests,$(call gotest,$(PLAIN) test $(BUILD) -json -count=1 -timeout $(PACKAGE_TIMEOUT) ./test/law -run TestNoObjectOfARealPackageIsRejected -orders 20 -seed $(SEED)))

soak-scale: servers
	$(PLAIN) test $(BUILD) -run "^$$" -bench BenchmarkScale -benchtime 1x -timeout $(PACKAGE_TIMEOUT) ./test/scale

soak-upgrade: servers
	$(call tests,$(call gotest,$(PLAIN) test $(BUILD) -json -count=1 -timeout $(PACKAGE_TIMEOUT) ./test/install -run TestResourcesSurviveUpgradeAndUninstall))

soak-demo: soak-ready
	$(call tests,$(call gotest,$(PLAIN) test $(BUILD) -json -count=1 -timeout $(PACKAGE_TIMEOUT) ./test/demoreal))

bench: servers ## run the benchmarks (BENCH=regexp BENCHTIME=1s); they report medians and ratios
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchtime=$(BENCHTIME) -timeout 60m ./...

demo: build ## plant a simulated fleet and merge every proposal
	bin/furrow demo --merge

demo-real: build servers ## the demo on real servers: Gitea, Kubernetes and Flux, until it is interrupted
	@$(GO) build -o bin/demoreal ./test/demoreal
	@bin/demoreal -furrow bin/furrow
