# make test   everything CI runs: static checks, unit tests, the embedded Temporal server, end-to-end tests
# make build  bin/starter and bin/worker
#
# As root on Debian `make test` installs the servers the tests need; elsewhere it says what is missing and the tests that need it skip.

GO      ?= go
BIN     := bin
RACE    := ./bench/... ./drivers/... ./infra/... ./workers/... ./activities/... ./workflows/... ./starter/...
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
# How long the end-to-end tests may take: all nights of kills take hours, DURABENCH_RECOVERY=full make temporald e2e E2E_TIMEOUT=3h.
E2E_TIMEOUT ?= 30m
# The C SQLite has full-text search only when it is told to.
TAGS    := sqlite_fts5
LDFLAGS := -X github.com/durabench/durabench/infra/build.version=$(VERSION)

TOOLS   ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/durabench/bin
export PATH := $(PATH):$(TOOLS)
export DURABENCH_TOOLS := $(TOOLS)

.PHONY: test build deps check generated unit temporald e2e e2e-bench cross bench

test: deps check
	@$(MAKE) --no-print-directory -j2 temporald unit
	@$(MAKE) --no-print-directory e2e
	@$(MAKE) --no-print-directory cross generated

build:
	$(GO) build -trimpath -tags $(TAGS) -ldflags '$(LDFLAGS)' -o $(BIN)/starter ./starter
	$(GO) build -trimpath -tags $(TAGS) -ldflags '$(LDFLAGS)' -o $(BIN)/worker ./workers

deps:
	@sh scripts/test-deps.sh

check:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$unformatted" || { echo "not gofmt'ed:"; echo "$$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) vet -tags e2e,compare,mysql ./...
	$(GO) tool staticcheck ./...
	$(GO) tool workflowcheck ./workflows/...

# The assembly in the tree is what its generator writes.
generated:
	cd bench/vector/tile/gen && $(GO) vet ./...
	@old=$$(mktemp -d) && cp bench/vector/tile/*_amd64.* $$old && $(GO) generate ./bench/vector/tile && \
		for file in $$old/*; do cmp $$file bench/vector/tile/$${file##*/} || exit 1; done && rm -r $$old

unit:
	$(GO) test -race -tags $(TAGS) $(RACE)
	$(GO) test -run TestMemory ./bench/load
	$(GO) test -count 1 ./architecture/... ./configs/...
	CGO_ENABLED=0 $(GO) test ./drivers/sqlite/...

# The embedded Temporal server is a module of its own: it takes minutes to compile the first time, so all of this shares one set of flags.
temporald: export CGO_ENABLED = 0
temporald:
	cd infra/temporald && $(GO) build -trimpath -ldflags '-s -w' -o ../../$(BIN)/temporald .
	cd infra/temporald && $(GO) vet -trimpath ./... && $(GO) test -trimpath ./...

e2e: build
	DURABENCH_TEMPORALD=$(CURDIR)/$(BIN)/temporald DURABENCH_STARTER=$(CURDIR)/$(BIN)/starter DURABENCH_WORKER=$(CURDIR)/$(BIN)/worker \
		$(GO) test -tags e2e,$(TAGS) -count 1 -timeout $(E2E_TIMEOUT) ./e2e/... ./infra/temporal/... ./workflows/...

# What a run costs beside its legs.
e2e-bench: build
	DURABENCH_TEMPORALD=$(CURDIR)/$(BIN)/temporald DURABENCH_STARTER=$(CURDIR)/$(BIN)/starter DURABENCH_WORKER=$(CURDIR)/$(BIN)/worker \
		$(GO) test -tags e2e,$(TAGS) -run '^$$' -bench Orchestration -benchtime 1x -timeout 20m ./e2e

# Every platform we say we build for, without cgo.
cross:
	@set -e; for target in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64; do \
		echo "build $$target"; \
		CGO_ENABLED=0 GOOS=$${target%/*} GOARCH=$${target#*/} $(GO) build -o /dev/null ./starter; \
		CGO_ENABLED=0 GOOS=$${target%/*} GOARCH=$${target#*/} $(GO) build -o /dev/null ./workers; \
	done

bench:
	$(GO) test -tags $(TAGS) -run '^$$' -bench . -benchmem ./bench/... ./drivers/...
