package main

import (
	"errors"
	"fmt"
	"strconv"
)

const (
	transitions = 200
	decisions   = 20_000
)

// Two states that act and go to each other until the step cap ends the run, so that one file serves every length.
const shellLoop = `name: shell
initial: a
max_edge_revisits: 1000000
states:
  a: {action: "true", next: b}
  b: {action: "true", next: a}
  end: {terminal: true}
`

const decisionLoop = `name: decision
initial: a
max_edge_revisits: 1000000
states:
  a:
    evaluate: {type: output_contains, source: "${state.name}", pattern: a}
    on_yes: b
    on_no: end
  b:
    evaluate: {type: output_contains, source: "${state.name}", pattern: b}
    on_yes: a
    on_no: end
  end: {terminal: true}
`

const oneLoop = `name: one
initial: a
states:
  a: {action: "true", next: end}
  end: {terminal: true}
`

const manyLines = `for ((i = 1; i <= 20000; i++)); do echo "line $i of twenty thousand"; done`

const linesLoop = "name: lines\ninitial: a\nstates:\n  a:\n    action: '" + manyLines +
	"'\n    next: end\n  end: {terminal: true}\n"

const bigOutputLoop = `name: big
initial: a
states:
  a:
    action: yes some text that fills a line of output | head -c 60000000
    capture: all
    next: end
  end: {terminal: true}
`

const bigCaptureLoop = `name: capture
initial: a
max_edge_revisits: 1000
states:
  a:
    action: yes some text that fills a line of output | head -c 10000000
    capture: all
    next: b
  b: {action: "true", next: c}
  c: {action: "true", next: b}
  end: {terminal: true}
`

var measures = []measure{
	{"a shell transition, durable, over a bare spawn: files", 1.25, times, func(b *bench) (float64, error) {
		return b.shellTransition("")
	}},
	{"the same: SQLite", 1.35, times, func(b *bench) (float64, error) { return b.shellTransition("sqlite") }},
	{"the same: PostgreSQL on loopback", 1.6, times, func(b *bench) (float64, error) {
		return b.shellTransition("postgres")
	}},
	{"a shell transition in the sandbox workspace, over one without", 1.06, times, (*bench).sandboxed},
	{"guard and snapshots of a step that changes a file of 1,000", 10e-3, millis, func(b *bench) (float64, error) {
		return b.guarded(1000)
	}},
	{"the same of 10,000", 40e-3, millis, func(b *bench) (float64, error) { return b.guarded(10_000) }},
	{"a transition without an action", 20e-6, micros, func(b *bench) (float64, error) {
		return b.perStep(decisionLoop, decisions)
	}},
	{"the same, grouped: files", 10e-6, micros, func(b *bench) (float64, error) { return b.decision("") }},
	{"the same, grouped: SQLite", 60e-6, micros, func(b *bench) (float64, error) { return b.decision("sqlite") }},
	{"a transition with set", 20e-6, micros, func(b *bench) (float64, error) { return b.perStep(setLoop, decisions) }},
	{"a transition of a chain of 8,000 states without an action, over one of two states", 1.7, times, (*bench).chain},
	{"a step with a capture of 8 KB, of 400 with names of their own, over one without", 2, times, (*bench).capture},
	{"a step with a message, of 2,400, over one without", 1.25, times, (*bench).message},
	{"for_each over 1,000 items, over as many bare spawns", 1.3, times, (*bench).eachOverSpawns},
	{"the same, two at once, over xargs -P2", 1.3, times, (*bench).eachOverXargs},
	{"for_each over 20,000 items (100,000 with -long), peak resident", 40, mega, (*bench).listPeak},
	{"the journal of one item", 600, octets, (*bench).listJournal},
	{
		"resume of that, killed at the last item, until it begins, above a bare spawn", 50e-3, millis,
		(*bench).listResume,
	},
	{"parallel of 3 × sleep 1, above a bare spawn", 1.05, millis, (*bench).sleeps},
	{"signal, until the next state begins: files", 50e-3, millis, func(b *bench) (float64, error) {
		return b.sent("", waitingLoop, "signal", "news")
	}},
	{"the same: SQLite", 200e-3, millis, func(b *bench) (float64, error) {
		return b.sent("sqlite", waitingLoop, "signal", "news")
	}},
	{"the same: PostgreSQL", 200e-3, millis, func(b *bench) (float64, error) {
		return b.sent("postgres", waitingLoop, "signal", "news")
	}},
	{"answer, until the next state begins: files", 50e-3, millis, func(b *bench) (float64, error) {
		return b.sent("", askingLoop, "answer", "good")
	}},
	{"the same: SQLite", 200e-3, millis, func(b *bench) (float64, error) {
		return b.sent("sqlite", askingLoop, "answer", "good")
	}},
	{"the same: PostgreSQL", 200e-3, millis, func(b *bench) (float64, error) {
		return b.sent("postgres", askingLoop, "answer", "good")
	}},
	{"submit, until a worker begins the run, median of 20", 0.1, millis, (*bench).submitted},
	{"a shell transition of a run that a worker carries, over one of run", 1.1, times, (*bench).carried},
	{"a worker is killed, until another one has its run, lease 6 s", 4, millis, (*bench).workerKilled},
	{"the process of a run is killed, until its worker continues it", 8, millis, (*bench).childKilled},
	{"a worker that carries a run is told to end, until it has", 1, millis, (*bench).drained},
	{"stop of a queued run", 1, millis, (*bench).withdrawn},
	{"start: loops version, above a Go program that does nothing", 2e-3, millis, (*bench).start},
	{"the program, stripped", 22, mega, (*bench).size},
	{"a loop of one state, start to end, above a bare spawn", 8e-3, millis, func(b *bench) (float64, error) {
		return b.above(oneLoop, "true")
	}},
	{"20,000 lines of output, above bash alone", 50e-3, millis, func(b *bench) (float64, error) {
		return b.above(linesLoop, manyLines)
	}},
	{"60 MB of output, peak resident", 30, mega, func(b *bench) (float64, error) {
		return b.peak(bigOutputLoop)
	}},
	{"a prompt, durable, above its host alone", 15e-3, millis, (*bench).promptAbove},
	{"100 MB of stream of a host, peak resident", 40, mega, (*bench).promptPeak},
	{"a hundred thousand transitions, peak resident", 20, mega, func(b *bench) (float64, error) {
		return b.longRun(100_000)
	}},
	{"a million transitions, peak resident", 20, mega, func(b *bench) (float64, error) {
		if !b.long {
			return 0, &missingError{"it takes 20 seconds each time: -long", true}
		}
		return b.longRun(1_000_000)
	}},
	{"export, 200,000 transitions, peak resident", 60, mega, func(b *bench) (float64, error) {
		return b.peakOfPast("export", "decision", "-o", "past.tar.zst", "--force")
	}},
	{"explain, the same", 60, mega, func(b *bench) (float64, error) { return b.peakOfPast("explain", "decision") }},
	{"fork in the middle of it", 60, mega, func(b *bench) (float64, error) {
		return b.peakOfPast("fork", "decision", "--at", strconv.Itoa(manySteps/2), "--dry-run")
	}},
	{"a 10 MB capture, then 100 shell transitions", 0.3, millis, func(b *bench) (float64, error) {
		return b.loop(bigCaptureLoop, "--max-steps", "101")
	}},
	{"run, until it begins beside 1,000 runs that died", 60e-3, millis, (*bench).beginBesideDead},
	{"resume beside a journal of 100 MB, above a bare spawn", 20e-3, millis, (*bench).resume},
	{"list --running, beside 1,000 runs that died", 60e-3, millis, (*bench).listBesideDead},
	{"history, newest 20 of 10,000 runs", 12e-3, millis, func(b *bench) (float64, error) {
		return b.inArchive(10_000, "history", "one", "--limit", "20")
	}},
	{
		"history, newest 20 of 1,000 runs with two captures of 50 KB each", 15e-3, millis,
		func(b *bench) (float64, error) {
			return b.besideLarge("history", "one", "--limit", "20")
		},
	},
	{"list --running, beside those", 15e-3, millis, func(b *bench) (float64, error) {
		return b.besideLarge("list", "--running")
	}},
	{"list, beside 10,000 runs", 15e-3, millis, func(b *bench) (float64, error) {
		return b.inArchive(10_000, "list")
	}},
	{"status of a loop with 1,000 runs: files", 15e-3, millis, func(b *bench) (float64, error) {
		return b.inArchive(1000, "status", "one")
	}},
	{"list --running, beside 1,000 runs: files", 15e-3, millis, func(b *bench) (float64, error) {
		return b.inArchive(1000, "list", "--running")
	}},
	{"status of a loop with 1,000 runs: SQLite", 15e-3, millis, func(b *bench) (float64, error) {
		return b.inDatabase(1000, "status", "one")
	}},
	{"list --running, beside 1,000 runs: SQLite", 15e-3, millis, func(b *bench) (float64, error) {
		return b.inDatabase(1000, "list", "--running")
	}},
	{"attach, until it shows a running run", 100e-3, millis, (*bench).attach},
	{"report of 10,000 steps", 1, millis, (*bench).report},
	{"the page of that report", 5, mega, (*bench).reportSize},
	{"history, newest 20 of 100,000 runs", 30e-3, millis, func(b *bench) (float64, error) {
		return b.inArchive(100_000, "history", "one", "--limit", "20")
	}},
	{"the same, the first time after a run ended", 150e-3, millis, func(b *bench) (float64, error) {
		return b.afterRun(100_000, "history", "one", "--limit", "20")
	}},
	{"watch, 20 running runs, of one core: files", 3, share, func(b *bench) (float64, error) {
		return b.watchShare("")
	}},
	{"the same: in SQLite", 3, share, func(b *bench) (float64, error) { return b.watchShare("sqlite") }},
	{"the same: in PostgreSQL", 3, share, func(b *bench) (float64, error) { return b.watchShare("postgres") }},
	{"100 runs that wait in the queue, of one core: files", 0.5, share, func(b *bench) (float64, error) {
		return b.queueShare("")
	}},
	{"the same, in SQLite", 0.5, share, func(b *bench) (float64, error) { return b.queueShare("sqlite") }},
	{"validate, 106 loops", 150e-3, millis, func(b *bench) (float64, error) { return b.validateCatalog() }},
	{"validate, one of them", 12e-3, millis, func(b *bench) (float64, error) { return b.validateCatalog("loop-007") }},
	{"validate, the largest of them (160 states, 115 KB)", 12e-3, millis, func(b *bench) (float64, error) {
		return b.validateCatalog("loop-105")
	}},
	{"validate, a loop that runs itself twice", 50e-3, millis, func(b *bench) (float64, error) {
		return b.validate(recursive)
	}},
	{"validate, 10,000 states", 300e-3, millis, func(b *bench) (float64, error) { return b.validate(largeLoop()) }},
}

// perStep is the time of one step: a run of n+1 steps less a run of one, over n.
func (b *bench) perStep(loop string, n int, flags ...string) (float64, error) {
	long, err1 := b.loop(loop, append([]string{"--max-steps", fmt.Sprint(n + 1)}, flags...)...)
	once, err2 := b.loop(loop, append([]string{"--max-steps", "1"}, flags...)...)
	return (long - once) / float64(n), errors.Join(err1, err2)
}

// above is what a run of a one-state loop takes longer than bash alone with the same script.
func (b *bench) above(loop, script string) (float64, error) {
	before, err1 := b.spawns(script, 1)
	r, err2 := b.loop(loop)
	after, err3 := b.spawns(script, 1)
	return r - ((before + after) / 2).Seconds(), errors.Join(err1, err2, err3)
}
