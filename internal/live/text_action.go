package live

import (
	"io"
	"strings"
	"time"

	"loops/fsm"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/terminal"
)

func (p *Text) startAction(e fsm.Event, pad string) {
	action := inspect.Text(e.Get("action"))
	lines := []string{humanize.Cut(humanize.PlainLine(humanize.FirstLine(action)), 100)}
	if p.verbose {
		lines = strings.Split(strings.TrimRight(action, "\n| "), "\n")
		for i := range lines[1:] {
			lines[i+1] = pad + Indent + "| " + lines[i+1]
		}
	}
	switch {
	case p.head != "":
	case p.acted: // a second action in one state
		p.head = pad + Indent + "also"
	default: // after a wait
		p.head = pad + Indent + "now"
	}
	p.acted = true
	p.action = lines
	if p.live == nil {
		p.flushHead()
		return
	}
	what := lines[0]
	if p.loop != nil && e.Depth == 0 {
		if st := p.loop.States[p.state]; st != nil && st.Title() != "" {
			what = humanize.PlainLine(st.Title())
		}
	}
	p.live.set(p.place+" > "+what, e.Time)
}

func (p *Text) showOutput(pad, lines string) {
	p.readStderr()
	if p.live != nil {
		p.live.last = humanize.PlainLine(humanize.Uncoloured(lastLine(lines)))
		return
	}
	p.flushHead()
	p.block(pad+Indent, lines)
}

// block prints lines of output, with their colours, and with something in front of each, in one write.
func (p *Text) block(front, lines string) {
	var b strings.Builder
	for line := range strings.SplitSeq(lines, "\n") {
		b.WriteString(front)
		b.WriteString(humanize.Colours(line))
		b.WriteByte('\n')
	}
	io.WriteString(p.out, b.String()) //nolint:errcheck // a sink never fails
}

func (p *Text) endAction(e fsm.Event, pad string) {
	p.readStderr()
	p.flushHead()
	if p.live != nil {
		p.live.erase()
		p.live.head = ""
	}
	ms, _ := e.Get("duration_ms").(int64)
	line := "(" + humanize.Duration(time.Duration(ms)*time.Millisecond) + ")"
	code := terminal.ValueText(e.Get("exit_code"))
	failed := code != "0" && code != ""
	switch {
	case inspect.TimedOut(e):
		line += " " + p.paint.Red(inspect.Timeout(e))
	case code == "1": // an ordinary no, as its verdict
		line += " " + p.paint.Amber("exit: "+code)
	case failed:
		line += " " + p.paint.Red("exit: "+code)
	}
	switch {
	case p.live == nil && (failed || p.verbose):
		p.showErrors(pad)
	case p.live != nil && p.output != "": // the live line had them one at a time
		p.block(pad+Indent, humanize.LastLines(p.output, liveTail))
	}
	p.print(pad + Indent + line)
	if skipped := inspect.Text(e.Get("skipped")); skipped != "" {
		p.print(pad + Indent + p.paint.Amber("skipped of what the host printed: "+skipped))
	}
}

// showErrors prints the end of what an action wrote to standard error.
func (p *Text) showErrors(pad string) {
	p.shown = true
	text := strings.TrimSpace(p.errors)
	if text == "" || p.said.Covers(text) {
		return
	}
	if !p.verbose {
		text = humanize.LastLines(text, 10)
	}
	p.block(pad+Indent+"! ", text)
}

// Stderr shows what an action that runs wrote to standard error: whole lines, joined by \n.
func (p *Text) Stderr(file, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stderr(file, text)
}

func (p *Text) stderr(file, text string) {
	p.said.Add(file, text)
	switch {
	case p.quiet:
	case p.live != nil:
		p.live.last = "! " + humanize.PlainLine(humanize.Uncoloured(lastLine(text)))
	default:
		p.flushHead()
		p.block(Indent+p.paint.Dim("! "), text)
		p.out.Flush()
	}
}

// readStderr shows what was written to standard error by now.
func (p *Text) readStderr() {
	if p.tail != nil {
		p.tail.Read(p.stderr)
	}
}

// lastLine is the last line of a text that is not empty.
func lastLine(text string) string {
	text = strings.TrimRight(text, "\n \t")
	return text[strings.LastIndexByte(text, '\n')+1:]
}
