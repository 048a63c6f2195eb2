# go build, go test and go vet work without this file; it only keeps the longer command lines.

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X loops/cmd/loops/cli.version=$(VERSION)
BIN     := bin/loops
CRASHES ?= 2000
FUZZTIME ?= 10s
TORTURES := ^(TestCrash|TestInterruptedAtEveryWrite|TestDamagedDatabase|TestTwoResumes|TestManyStarts|TestReusedPid|TestPausedRunner|TestRunTakenAway|TestContenders|TestCrashOfFork|TestJobsSurviveKills|TestArchivesOfTheReference|TestPowerCut|TestNamespaces|TestNamespacesAtOnce|TestHostile|TestVersions|TestSignalMatrix|TestPasswordOfTheStore|TestPagesInABrowser|TestTraceOfKilledRun|TestEventsOut)$$

.PHONY: all help check build test test-times flake race lint format tools golden generate bench release torture pictures fuzz mutants clean

all: build lint test

help: ## what there is to make
	@sed -n -E 's/^([a-z-]+):[^#]*## (.*)/\1	\2/p' Makefile | expand -t 12

check: ## the linters and every test this machine can run, a Mac and without root too; says what was skipped and why
	@.ci/check

build: ## the program, without cgo, as bin/loops
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/loops

test: bin/testlog ## every test there is; bin/test.log has all that they printed
	@GOFLAGS="$$(go env GOFLAGS) -v -timeout=60m" go test ./... > bin/test.log 2>&1; code=$$?; \
	bin/testlog failures bin/test.log; bin/testlog count bin/test.log; exit $$code

test-times: bin/testlog ## the slowest packages and tests of the last make test
	@bin/testlog slowest -n 20 bin/test.log

flake: ## the tests RUNS times (default: 5) in random order, while two processes keep two cores busy
	@.ci/flake $(RUNS)

bin/testlog: tools/testlog/main.go
	GOBIN=$(CURDIR)/bin go -C tools install ./testlog

race: ## the packages that start goroutines or may be called by several, under the race detector (needs a C compiler)
	go test -race -gcflags=modernc.org/sqlite/lib=-race=false -timeout 40m -skip "^($$(paste -sd'|' internal/testenv/race_skip.txt))\$$" $$(cat internal/testenv/race.txt)

lint: tools ## gofumpt, and golangci-lint with vet and staticcheck in it
	@unformatted=$$(bin/gofumpt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not formatted (make format):"; echo "$$unformatted"; exit 1; fi
	bin/golangci-lint run

format: tools ## gofumpt over all files
	bin/gofumpt -w $$(git ls-files '*.go')

tools: bin/.tools ## the developer tools of tools/go.mod, as bin/*

bin/.tools: tools/go.mod tools/go.sum
	GOBIN=$(CURDIR)/bin go -C tools install tool
	@touch $@

golden: ## all files that hold what tests expect, rewritten: look at the difference before it is committed
	go test $$(go list -f '{{range .TestImports}}{{if eq . "loops/internal/testenv"}}{{$$.ImportPath}} {{end}}{{end}}{{range .XTestImports}}{{if eq . "loops/internal/testenv"}}{{$$.ImportPath}} {{end}}{{end}}' ./... | xargs -n1 | sort -u) -update

generate: ## everything made by go:generate
	go generate ./...

mutants: ## takes each rule of fsm/testdata/mutants.txt out of the machine in turn, and names the test that notices; half an hour
	go -C tools build -o ../bin/mutants ./mutants && bin/mutants fsm/testdata/mutants.txt

bench: build ## the numbers, measured in one run and written to docs/performance.md, three of them to README.md
	go -C tools/bench build -o $(CURDIR)/bin/bench . && bin/bench -bin $(BIN) -write docs/performance.md -front README.md

release: bin/nfpm ## everything that users install, in dist/; IMAGE=1 adds the image for containers; RELEASE_URL is where dist will be found
	go -C tools/release build -o $(CURDIR)/bin/release . && bin/release -out dist -nfpm bin/nfpm $(if $(IMAGE),-image)

bin/nfpm: tools/release/go.mod tools/release/go.sum
	GOBIN=$(CURDIR)/bin go -C tools/release install tool

# What a person waits for: each test's name and what it says, without the thousands that only pass.
quiet = sed -u -E '/^=== |^ *--- PASS: .*\/|^PASS$$/d'

pictures: ## the pictures of the README and of the dashboard, and of all pages in docs/pictures/pages, from real runs; needs chromium
	go test ./cmd/loops -run TestPictures -count=1 -pictures "$(CURDIR)/docs/pictures"

torture: SHELL := bash
torture: .SHELLFLAGS := -eo pipefail -c
torture: ## kill, starve and damage runs for minutes; CRASHES random kills are shared by files and SQLite
	@echo "Kills, full and broken disks at every call of a run that changes files; each page of a database overwritten; $(CRASHES) random kills; 200 times two resumes; 1,000 starts; reused pids; paused owners; 100 contenders for overlapping scopes; the power cut at every flush of a logged disk; runs seen from other namespaces; 200 kills while a trace is sent, and 200 between an event and its delivery; hostile text through every command, in pipes and on a terminal, on each store:"
	go test ./cmd/loops -run '$(TORTURES)' -count 1 -timeout 60m -v -torture -crashes $$(($(CRASHES) / 2)) | $(quiet)
	@echo "Kills, full and broken disks and lost connections at the calls of each other command, on files, SQLite and PostgreSQL:"
	go test ./cmd/loops -run TestEachCommandCutShort -count 1 -timeout 90m -v -torture | $(quiet)
	@echo "Every script about runs and what surrounds them, on SQLite and PostgreSQL:"
	go test ./cmd/loops -run "TestScriptSQLite|TestScriptPostgres" -count 1 -timeout 60m -v -torture | $(quiet)
	@echo "A thousand runs for two workers, with the queue emptied in between; a hundred runs whose workers are killed:"
	go test ./cmd/loops -run "TestManyRuns|TestWorkersKilledAtRandom|TestWorkerWithoutDatabase" -count 1 -timeout 30m -v -torture | $(quiet)
	@echo "Each read of what is recorded of a run refused to each view:"
	go test ./cmd/loops -run TestUnreadableJournal -count 1 -timeout 30m -v -torture | $(quiet)
	@echo "Pipes, links, devices and endless files in place of each record:"
	go test ./cmd/loops -run TestSpecialFiles -count 1 -timeout 60m -v -torture | $(quiet)
	@echo "What 1,000 runs cost whose runners were killed and whose agents were cut off, beside what the agents were paid:"
	go test ./fsm -run TestCostsEqualTheLedger -count 1 -timeout 10m -v -ledgers 1000 | $(quiet)
	@echo "Conformance cases that wait for a minute:"
	go test ./cmd/loops -run 'TestConformance$$/^failure-prompt' -count 1 -timeout 10m -v -torture | $(quiet)
	@echo "1,000 starts in one second, kills while recording, every 31st byte of every file spoilt:"
	go test ./persistence/dirstore -run 'TestDir|TestStartsInOneSecond|TestKilled|TestCrash|Torn|TestSpoilt|TestFailingWrite|TestDamage|TestIndex|TestFilter|TestReaders' -count 1 -timeout 60m -v -torture -starts 1000 -damage-stride 31 | $(quiet)
	@echo "The same on SQLite and PostgreSQL; 200 times two resumes; failover to a standby:"
	go test ./persistence/sqlstore -run 'TestStore|TestGrouped|TestStartsInOneSecond|TestKilled|TestPaused|TestTwoResumes|TestLease|TestFenced|TestFailover|TestLost|TestServer|TestConnection|FuzzDatabase|TestMigrationKilled' -count 1 -timeout 60m -v -torture -starts 1000 -rounds 200 | $(quiet)
	@echo "Each agent CLI where one stands for all otherwise:"
	go test ./engine/action ./cmd/loops -run '^(TestCLI|TestDoctorWithCLIs|TestPlugins)' -count 1 -timeout 30m -v -every-cli | $(quiet)
	@echo "Workers that die at each save of files that travel; patterns of file names compared with bash; actions side by side:"
	go test ./engine ./engine/action -run '^(TestFiles(Travel|Refused)|TestUndoEachStep|TestGlobAsBash|TestActionsSideBySideKeepTheirExitCodes)$$' -count 1 -timeout 30m -v -torture | $(quiet)
	@echo "Hostile programs in each sandbox, with namespaces and without:"
	go test ./internal/sandbox -run '^(TestHostilePrograms|TestExampleOfAnAgent)' -count 1 -timeout 30m -v -torture | $(quiet)
	@echo "Very large and hostile loop files; each checkpoint of each trace lost:"
	go test ./fsm ./fsm/loopfile ./fsm/lint -run '^(TestHostile|TestHostileFiles|TestLarge|TestEveryCheckpointLostInTurn)$$' -count 1 -timeout 30m -v -torture | $(quiet)
	@echo "What is proven of 10,000 small machines, compared with all their runs:"
	go test ./internal/simulate -run 'TestProofAgainstAllRuns|TestProofOfBudgets' -count 1 -timeout 60m -v -torture | $(quiet)
	@echo "Random machines, with and without interruptions; the seed is printed where one fails:"
	go test ./fsm -run TestRandomMachines -count 1 -timeout 30m -v -machines 3000 -seed $$(date +%s) | $(quiet)
	@echo "Random loops that are paused, extended, stopped, killed and resumed at every moment, without and with limits:"
	go test ./fsm/simtest -run 'TestDisturbed|TestLimits' -count 1 -timeout 60m -v -seeds 20000 -seed $$(date +%s) | $(quiet)
	@echo "Checkpoints of other programs:"
	TMPDIR=$${TMPDIR:-/tmp} go test ./persistence/checkpoint -run 'Killed|NoRoom|ShortWrites|Spoilt|Torn' -count 1 -timeout 60m -v -every-step | $(quiet)

fuzz: ## every fuzz target for FUZZTIME
	@for package in $$(go list ./...); do \
	  for target in $$(go test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
	    echo "$$package $$target"; \
	    go test $$package -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) || exit 1; \
	  done; \
	done

clean:
	rm -rf bin
