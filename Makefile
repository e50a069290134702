# The house's commands. `go test ./...` needs nothing but Go; the rest says what it needs.
GO      ?= go
TOOLS   := $(CURDIR)/internal/devtools/go.mod
TOOL     = $(GO) tool -modfile=$(TOOLS)
PKGS    := ./...

.PHONY: all test race lint fmt conformance crash cases mutate sim soak bench fuzz

all: test lint

# Everything a change must pass first.
test:
	$(GO) test $(PKGS)

# The same under the race detector; needs a C compiler. Packages with simulated
# time run on one processor there: with more, two of them can fire timers of one
# bubble at once, and Go's race runtime breaks down (golang/go#78156). Races are
# found all the same, by what happens before what.
BUBBLES = $(sort $(dir $(shell git grep -l '"testing/synctest"' -- '*_test.go')))
race:
	CGO_ENABLED=1 $(GO) test -race $(filter-out $(shell $(GO) list $(addprefix ./,$(BUBBLES))),$(shell $(GO) list $(PKGS)))
	CGO_ENABLED=1 $(GO) test -race -cpu 1 $(addprefix ./,$(BUBBLES))

# vet, staticcheck, gofumpt and the house's import rules.
lint:
	$(GO) vet $(PKGS)
	cd conformance && $(GO) vet $(PKGS)
	$(GO) vet -tags cases ./cases
	$(TOOL) staticcheck $(PKGS)
	$(TOOL) staticcheck -tags cases ./cases
	@out=$$($(TOOL) gofumpt -l $$(git ls-files '*.go')); \
	if [ -n "$$out" ]; then echo "not gofumpt-ed (run make fmt):"; echo "$$out"; exit 1; fi
	$(GO) test ./internal/lint

fmt:
	$(TOOL) gofumpt -w $$(git ls-files '*.go')

# The official Go and Java clients against our server, and ours beside them; for
# the Java part a JDK and maven.
conformance:
	cd conformance && $(GO) test -count=1 -timeout 20m -parallel 5 $(PKGS)

# Crash points on the in-memory file system and flipped bits in every file, many
# times the share in `make test`.
crash:
	$(GO) test -count=1 -timeout 15m ./internal/store/... -run 'TestCrash|TestBitFlips' -crash.points=10000

# Scripted faults with real processes, three times in a row; a table at the end.
cases:
	$(GO) test -tags cases -count=1 -v -timeout 30m ./cases

# Deliberate faults of internal/order, one per rule; each must be found by the
# test that it names.
mutate:
	$(GO) test -tags mutate -count=1 -timeout 30m -run TestMutate ./internal/order/mutations

# Whole systems of a broker, producers and consumers through two simulated minutes
# of faults each; every kind of fault at least 100 times.
sim:
	$(GO) test -count=1 -timeout 30m -run 'TestSim$$' -sim.seeds=1000

# The same with SEEDS seeds that make sim does not play.
SEEDS ?= 5000
soak:
	$(GO) test -count=1 -timeout 0 -run 'TestSim$$' -sim.first=1000 -sim.seeds=$(SEEDS)

bench:
	$(GO) test -run '^$$' -bench . -benchmem $(PKGS)

# Each fuzz target for a while: of every file's decoder, and of every frame's.
FUZZTIME ?= 10s
fuzz:
	@set -e; for pkg in $$($(GO) list $(PKGS)); do \
	for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
		echo "$$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg; \
	done; done
