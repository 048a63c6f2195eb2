package main

import (
	"errors"
	"fmt"
	"strings"
)

// Loops whose memory grows with each step. What a step costs must not grow with it.

const (
	chainStates = 8000
	ownCaptures = 400
	messages    = 2400
)

// chainLoop is a loop of so many states. Each decides nothing and leads to the next one, and the last one to the first.
func chainLoop(states int) string {
	var t strings.Builder
	t.WriteString("name: chain\ninitial: s0\nmax_edge_revisits: 1000000\nstates:\n")
	for s := range states {
		fmt.Fprintf(&t, "  s%d: {next: s%d}\n", s, (s+1)%states)
	}
	t.WriteString("  end: {terminal: true}\n")
	return t.String()
}

// chain compares a step of such a loop, in five rounds, with one of two states.
func (b *bench) chain() (float64, error) {
	before, err1 := b.perStep(chainLoop(2), 5*chainStates)
	step, err2 := b.perStep(chainLoop(chainStates), 5*chainStates)
	after, err3 := b.perStep(chainLoop(2), 5*chainStates)
	return 2 * step / (before + after), errors.Join(err1, err2, err3)
}

// capturesOf is a loop of so many states that print 8 KB, which it may capture under names of their own.
func capturesOf(states int, capture bool) string {
	var t strings.Builder
	fmt.Fprintf(&t, "name: captures\ninitial: s0\nmax_steps: %d\nstates:\n", states+1)
	for s := range states {
		name := ""
		if capture {
			name = fmt.Sprintf("capture: c%d, ", s)
		}
		fmt.Fprintf(&t, "  s%d: {action: yes some text that fills a line of output | head -c 8192, %snext: s%d}\n", s,
			name, s+1)
	}
	fmt.Fprintf(&t, "  s%d: {terminal: true}\n", states)
	return t.String()
}

const messageLoop = `name: messages
initial: a
max_edge_revisits: 1000000
states:
  a: {action: echo some text that fills a line of output, capture: line, %snext: a}
  end: {terminal: true}
`

// capture compares a run of many captures with one that captures nothing.
func (b *bench) capture() (float64, error) {
	with, err1 := b.loop(capturesOf(ownCaptures, true), "--quiet")
	without, err2 := b.loop(capturesOf(ownCaptures, false), "--quiet")
	return with / without, errors.Join(err1, err2)
}

// message compares a run of many messages with one that appends none.
func (b *bench) message() (float64, error) {
	steps := []string{"--quiet", "--max-steps", fmt.Sprint(messages)}
	with, err1 := b.loop(fmt.Sprintf(messageLoop, `append_to_messages: "${captured.line.output}", `), steps...)
	without, err2 := b.loop(fmt.Sprintf(messageLoop, ""), steps...)
	return with / without, errors.Join(err1, err2)
}
