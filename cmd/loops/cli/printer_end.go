package cli

import (
	"fmt"
	"io"
	"strings"

	"loops/fsm"
)

func (p *textPrinter) finish(o fsm.Outcome, resume string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.out.flush()
	out, code := p.out, codeOf(o)
	if p.quiet {
		if code == exitOK {
			return
		}
		out = p.err
	} else {
		p.flushHead()
	}
	if code == exitFailed && !p.shown {
		p.showFailure(out)
	}
	if !p.quiet && p.costs.asked() {
		fmt.Fprintln(out)
		_ = p.costs.write(out, "STATE") // a screen that is gone is noticed by the sink
	}
	if o.Limited && o.Error == noTransition {
		o.Error = rateLimited
	}
	line := endLine(o, p.max)
	if o.Error == noTransition && p.judged != "" {
		line += fmt.Sprintf(": the state %s has no way for the verdict %s; give it on_%s, or a route", p.state, p.judged, p.judged)
	}
	switch {
	case code == exitOK && resume == "":
		line = p.paint.green(line)
	case code == exitFailed:
		line = p.paint.red(line)
	default:
		line = p.paint.amber(line)
	}
	if !p.quiet {
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out, line)
	if resume != "" {
		fmt.Fprintln(out, "Resume with: "+resume)
	}
}

// tree tells of the work tree: with --quiet only where something is left in it, or it could not be ended.
func (p *textPrinter) tree(r treeReport) {
	if p.quiet && !r.Kept && r.err == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.out.flush()
	out := p.out
	if p.quiet {
		out = p.err
	}
	for _, line := range r.lines() {
		fmt.Fprintln(out, line)
	}
}

// noTransition is the error of a run whose last state led nowhere, as the reference tool words it.
const noTransition = "No valid transition"

// showFailure prints what the last action of a failed run said, where the live line swallowed it.
func (p *textPrinter) showFailure(out io.Writer) {
	said := strings.TrimSpace(p.errors)
	if said == "" {
		said = strings.TrimSpace(p.output)
	}
	if said == "" || (p.live == nil && !p.quiet) {
		return
	}
	fmt.Fprintln(out, "The last action said:")
	for line := range strings.SplitSeq(lastLines(said, 40), "\n") {
		fmt.Fprintln(out, indent+clean(line))
	}
}

// endWord says how a run ended, without where and when. maxSteps is 0 where it is not known.
func endWord(o fsm.Outcome, maxSteps int) string {
	steps := "steps"
	if maxSteps > 0 {
		steps = count(maxSteps, "step")
	}
	word := map[string]string{
		fsm.EndTerminal: "completed", fsm.EndMaxSteps: "stopped at its cap of " + steps,
		fsm.EndMaxIterations: "stopped at its cap of passes", fsm.EndTimeout: "timed out", fsm.EndInterrupted: "interrupted",
		fsm.EndUserStopped: "stopped", fsm.EndSystemSignal: "ended: its action was killed by a signal", fsm.EndError: "ended with an error",
		fsm.EndHandoff: "handed off", fsm.EndCycle: "ended: it went in circles", fsm.EndStall: "ended: it made no progress",
		fsm.EndHostPressure: "ended: the host was short of memory", fsm.EndHostBudget: "ended: its memory budget was used up",
		fsm.EndBudget: "stopped: its budget is used up",
	}[o.TerminatedBy]
	switch {
	case word == "":
		word = o.TerminatedBy
	case o.Failure && o.TerminatedBy == fsm.EndTerminal:
		word = "failed"
	}
	if o.Signal != "" {
		word += " by " + o.Signal
	}
	return word
}

// endLine says in one line how a run ended.
func endLine(o fsm.Outcome, maxSteps int) string {
	line := fmt.Sprintf("Loop %s: %s (%s, %s)", endWord(o, maxSteps), o.FinalState, count(o.Steps, "step"), duration(o.Duration))
	if o.Error != "" {
		line += "\nError: " + o.Error
	}
	if o.Continuation != "" {
		line += "\nTo continue: " + firstLine(o.Continuation)
	}
	return line
}
