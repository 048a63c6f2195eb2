package views

import (
	"io"

	"loops/engine"
	"loops/internal/ui"
)

// A Page is where views write: what for, and how a command stands in a text.
type Page struct {
	Out     *ui.Sink
	Err     io.Writer // beside the answer
	Paint   ui.Paint
	Columns int                          // of a terminal; 0 = out is none
	Command func(words ...string) string // returns a command line that works where it is shown
	Remedy  func(r engine.Remedy) string // likewise
	Text    func(t engine.Text) ui.Block // shows a text of the engine
}
