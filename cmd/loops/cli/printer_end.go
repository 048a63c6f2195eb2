package cli

import (
	"fmt"
	"io"
	"strings"

	"loops/fsm"
	"loops/internal/phrase"
	"loops/internal/plain"
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
	if !p.quiet && p.costs.Asked() {
		fmt.Fprintln(out)
		_ = writeCosts(out, &p.costs, "STATE") // a screen that is gone is noticed by the sink
	}
	if o.Limited && o.Error == noTransition {
		o.Error = rateLimited
	}
	line := endLine(o, p.max)
	if o.Error == noTransition && p.judged != "" {
		line += fmt.Sprintf(": the state %s has no way for the verdict %s; give it on_%s, or a route", plain.Line(p.state), plain.Line(p.judged), plain.Line(p.judged))
	}
	style := p.paint.amber
	switch {
	case code == exitOK && resume == "":
		style = p.paint.green
	case code == exitFailed:
		style = p.paint.red
	}
	if !p.quiet {
		fmt.Fprintln(out)
	}
	for part := range strings.SplitSeq(line, "\n") {
		sayLine(out, style(part))
	}
	if resume != "" {
		sayLine(out, "Resume with: "+resume)
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
		sayLine(out, line)
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
	sayLine(out, "The last action said:")
	for line := range strings.SplitSeq(phrase.LastLines(said, 40), "\n") {
		sayOutput(out, indent, line)
	}
}

// endWord says how a run ended, without where and when. maxSteps is 0 where it is not known.
func endWord(o fsm.Outcome, maxSteps int) string {
	steps := "steps"
	if maxSteps > 0 {
		steps = phrase.Count(maxSteps, "step")
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

// endLine says in one line how a run ended, and in one more each its error and how it would be continued.
func endLine(o fsm.Outcome, maxSteps int) string {
	line := fmt.Sprintf("Loop %s: %s (%s, %s)", plain.Line(endWord(o, maxSteps)), plain.Line(o.FinalState), phrase.Count(o.Steps, "step"), phrase.Duration(o.Duration))
	if o.Error != "" {
		line += "\nError: " + plain.Line(o.Error)
	}
	if o.Continuation != "" {
		line += "\nTo continue: " + plain.Line(phrase.FirstLine(o.Continuation))
	}
	return line
}
