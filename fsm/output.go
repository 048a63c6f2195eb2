package fsm

import (
	"strings"
	"unicode"
)

// maxEventOutput is how much text of one action goes into the event log. The rest is only in its file.
const maxEventOutput = 1 << 20

// output turns what an action prints into action_output events, and looks for text signals in it.
type output struct {
	e       *Executor
	signals *SignalScanner
	logged  int
	dropped bool
	batch   Batch
}

func newOutput(e *Executor, signals *SignalScanner) *output {
	return &output{e: e, signals: signals}
}

// write is called by the Runner, which does not return before the last call.
func (o *output) write(text string) {
	o.signals.Write(text)
	o.signals.Write("\n")
	if o.dropped {
		return
	}
	text = trimLines(text)
	if o.logged += len(text); o.logged > maxEventOutput {
		o.dropped = true
		if n := maxEventOutput - (o.logged - len(text)); n > 0 {
			if i := strings.LastIndexByte(text[:n], '\n'); i >= 0 {
				o.log(text[:i])
			}
		}
		o.log("[the rest of this output is only in the action's output file]")
		return
	}
	o.log(text)
}

func (o *output) log(text string) {
	o.e.machine.driver.call(func() {
		if o.e.machine.broken == nil {
			o.e.emitOutput(&o.batch, text)
			o.e.write(&o.batch)
		}
	})
}

// trimLines removes the white space at the end of every line.
func trimLines(text string) string {
	if !trailingSpace(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for rest, more := text, true; more; {
		var line string
		line, rest, more = strings.Cut(rest, "\n")
		b.WriteString(strings.TrimRightFunc(line, unicode.IsSpace))
		if more {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// trailingSpace is a quick look: false means that no line ends in white space.
func trailingSpace(text string) bool {
	for i := 0; i <= len(text); i++ {
		if i < len(text) && text[i] != '\n' {
			continue
		}
		if i == 0 {
			continue
		}
		if c := text[i-1]; c == ' ' || c == '\t' || c == '\v' || c == '\f' || c >= 0x80 {
			return true
		}
	}
	return false
}
