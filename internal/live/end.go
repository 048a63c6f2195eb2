package live

import (
	"fmt"
	"io"
	"strings"

	"loops/fsm"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/terminal"
)

// Finish implements [Printer].
func (p *Text) Finish(o fsm.Outcome, resume string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.out.Flush()
	out, done, failed := p.out, inspect.Succeeded(o), inspect.EndKind(o) == "failed"
	if p.quiet {
		if done && o.Ignored == "" {
			return
		}
		out = p.err
	} else {
		p.flushHead()
	}
	if failed && !p.shown {
		p.showFailure(out)
	}
	if !p.quiet && p.costs.Total.Asked() {
		fmt.Fprintln(out)
		_ = terminal.WriteCosts(out, &p.costs, "STATE") // a screen that is gone is noticed by the sink
	}
	if o.Limited && o.Error == inspect.NoTransition {
		o.Error = inspect.RateLimited
	}
	if o.Error == inspect.NoTransition && p.judged != "" {
		o.Error += ": " + inspect.Untransitioned(p.loop, p.state, p.judged)
	}
	line := inspect.EndLine(o, p.max)
	style := p.paint.Amber
	switch {
	case done && resume == "" && o.Ignored == "":
		style = p.paint.Green
	case failed:
		style = p.paint.Red
	}
	if !p.quiet {
		fmt.Fprintln(out)
	}
	for part := range strings.SplitSeq(line, "\n") {
		terminal.SayLine(out, style(part))
	}
	if resume != "" {
		terminal.SayLine(out, "Resume with: "+resume)
	} else if !done && p.explain != "" && o.Message == "" {
		terminal.SayLine(out, "Explain with: "+p.explain)
	}
	if resume == "" && p.again != nil && o.Message == "" && o.Steps > 0 && inspect.Over(o) {
		terminal.SayLine(out, "Again from there: "+p.again(o.FailedItems))
	}
}

// Tree reports on the work tree: with --quiet only where something is left in it, or it could not be ended.
func (p *Text) Tree(t Tree) {
	if p.quiet && !t.Left {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.out.Flush()
	out := p.out
	if p.quiet {
		out = p.err
	}
	for _, line := range t.Lines {
		terminal.SayLine(out, line)
	}
}

// showFailure prints what the last action of a failed run printed, where the live line swallowed it.
func (p *Text) showFailure(out io.Writer) {
	said := strings.TrimSpace(p.errors)
	if said == "" {
		said = strings.TrimSpace(p.output)
	}
	if said == "" || (p.live == nil && !p.quiet) {
		return
	}
	terminal.SayLine(out, "The last action said:")
	for line := range strings.SplitSeq(humanize.LastLines(said, 40), "\n") {
		terminal.SayOutput(out, Indent, line)
	}
}
