# go build, go test and go vet work without this file; it only keeps the longer command lines.

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X loops/cmd/loops/cli.version=$(VERSION)
BIN     := bin/loops
CRASHES ?= 200
FUZZTIME ?= 10s

.PHONY: all build test race lint format tools generate bench torture fuzz clean

all: build lint test

build: ## the program, without cgo, as bin/loops
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/loops

test: ## every test there is
	go test ./...

race: ## what shares memory between goroutines, under the race detector (needs a C compiler)
	go test -race ./fsm/... ./persistence/... ./reconcile/... ./internal/... ./cmd/loops/cli

lint: tools ## vet, staticcheck, gofumpt, golangci-lint
	go vet ./...
	bin/staticcheck ./...
	@unformatted=$$(bin/gofumpt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not formatted (make format):"; echo "$$unformatted"; exit 1; fi
	bin/golangci-lint run

format: tools ## gofumpt over all files
	bin/gofumpt -w $$(git ls-files '*.go')

tools: bin/.tools ## the developer tools of tools/go.mod, as bin/*

bin/.tools: tools/go.mod tools/go.sum
	GOBIN=$(CURDIR)/bin go -C tools install tool
	@touch $@

generate: ## everything made by go:generate
	go generate ./...

bench: build ## the table of numbers, as ratios measured in one run
	go run ./bench -bin $(BIN)

torture: ## kill the program with SIGKILL at CRASHES random moments
	go test ./cmd/loops -run TestCrash -count 1 -timeout 60m -v -crashes $(CRASHES) | grep -v '^ *--- PASS\|^=== '

fuzz: ## every fuzz target for FUZZTIME
	@for package in $$(go list ./...); do \
	  for target in $$(go test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
	    echo "$$package $$target"; \
	    go test $$package -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) || exit 1; \
	  done; \
	done

clean:
	rm -rf bin
