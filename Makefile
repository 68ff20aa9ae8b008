# Every target works from a fresh clone with Go, git and make; the tools are built from their pinned modfiles.

GO       ?= go
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS  := -X github.com/furrow-dev/furrow/internal/cli.version=$(VERSION)
LINT     := $(GO) tool -modfile=tools/lint/go.mod golangci-lint

# The race detector needs cgo and a C compiler.
CC_FOUND = $(shell command -v $(firstword $(shell $(GO) env CC)))
RACE     ?= $(if $(and $(filter 1,$(shell $(GO) env CGO_ENABLED)),$(CC_FOUND)),-race)
# TEST_TIMEOUT bounds one package, TOTAL_TIMEOUT each of the runs.
TEST_TIMEOUT  ?= 15m
TOTAL_TIMEOUT ?= 75m
# Packages whose tests run on real servers, one after the other: they are not to share the cores.
ON_SERVERS := ./test/servers/... ./internal/forge/gitea ./internal/probe/flux ./test/install ./test/kubectl ./test/scale ./test/e2e ./test/demoreal
TIMEOUT  := $(if $(shell command -v timeout),timeout --foreground -s INT -k 60s $(TOTAL_TIMEOUT))

# The image, and what builds it: docker or podman.
IMAGE     ?= ghcr.io/furrow-dev/furrow
CONTAINER ?= docker

BENCH     ?= .
BENCHTIME ?= 1s

# A digest of what differs from HEAD, untracked files included.
STATE := { git diff HEAD; git ls-files -oz --exclude-standard | xargs -0 cksum; } | git hash-object --stdin

.DEFAULT_GOAL := help
.PHONY: help build image generate verify lint servers test bench demo demo-real

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/furrow, static, with the names by which kubectl calls it
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o bin/furrow .
	@ln -sf furrow bin/kubectl-furrow
	@ln -sf furrow bin/kubectl_complete-furrow

image: ## build the image $(IMAGE):$(VERSION)
	$(CONTAINER) build --build-arg VERSION=$(VERSION) -t $(IMAGE):$(VERSION) .

generate: ## write all generated files again
	$(GO) generate ./...

verify: ## what a change must pass: generated files, format, modules, vet, lint
	@before=$$($(STATE)); \
	$(MAKE) --no-print-directory generate || exit 1; \
	[ "$$before" = "$$($(STATE))" ] || { git status --short; \
		echo "verify: make generate changed the files above; commit what it writes" >&2; exit 1; }
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "$$unformatted"; \
		echo "verify: run gofmt -w on the files above" >&2; exit 1; }
	$(GO) mod tidy -diff
	$(GO) vet ./...
	$(LINT) run

lint: ## run golangci-lint
	$(LINT) run

# With FURROW_REQUIRE_SERVERS set, a server that cannot be built is an error; else its tests are skipped, loudly.
servers: ## build the real servers that tests run on, where they are missing (20 to 35 minutes, once)
	@$(GO) run ./test/servers/build || [ -z "$$FURROW_REQUIRE_SERVERS" ]

# What tests lacked is shown at the end: go test says nothing of tests that are skipped in packages that pass.
test: servers ## run all tests: with the race detector where there is a C compiler, the long histories, then on real servers
	@FURROW_SKIPPED=$$(mktemp) || exit 1; export FURROW_SKIPPED; \
	$(TIMEOUT) $(GO) test $(RACE) -short -timeout $(TEST_TIMEOUT) ./... && \
	$(TIMEOUT) $(GO) test -timeout $(TEST_TIMEOUT) ./internal/engine && \
	$(TIMEOUT) $(GO) test $(RACE) -p 1 -timeout $(TOTAL_TIMEOUT) $(ON_SERVERS); \
	code=$$?; sort -u "$$FURROW_SKIPPED"; rm -f "$$FURROW_SKIPPED"; exit $$code

bench: servers ## run the benchmarks (BENCH=regexp BENCHTIME=1s); they report medians and ratios
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchtime=$(BENCHTIME) -timeout 60m ./...

demo: build ## plant a simulated fleet and merge every proposal
	bin/furrow demo --merge

demo-real: build servers ## the demo on real servers: Gitea, Kubernetes and Flux, until it is interrupted
	@$(GO) build -o bin/demoreal ./test/demoreal
	@bin/demoreal -furrow bin/furrow
