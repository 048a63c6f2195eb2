package view

import (
	"io"

	"loops/engine"
	"loops/internal/humanize"
	"loops/internal/terminal"
)

// A Page is where views write: what for, and how a command is written in a text.
type Page struct {
	Out     *terminal.Sink
	Err     io.Writer // beside the answer
	Paint   terminal.Paint
	Day     terminal.Day                       // of the event printed last
	Columns int                                // of a terminal; 0 = out is not one
	Command func(words ...string) string       // returns a command line that works where it is shown
	Remedy  func(r engine.Remedy) string       // likewise
	Text    func(t engine.Text) terminal.Block // shows a text of the engine
}

// CommandWith is a command line whose flags stand before its arguments, of which each may begin with "-".
func (p *Page) CommandWith(verb string, flags []string, args ...string) string {
	for _, f := range flags {
		verb += " " + humanize.ShellWord(f)
	}
	return p.Command(append([]string{verb}, args...)...)
}
