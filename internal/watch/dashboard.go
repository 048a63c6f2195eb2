package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"github.com/gdamore/tcell/v3"
	"github.com/gdamore/tcell/v3/color"

	"loops/persistence"
)

// A ScreenSource knows what is shown, and does what keys ask for.
type ScreenSource interface {
	// View looks at the runs and returns what is to be shown, and whether it has changed since the last look.
	// The selected one is among them if it is recorded, even if it ended between two looks. Another selection
	// ends ctx.
	View(ctx context.Context, selected persistence.ID) (v View, changed bool)
	// Act does what a key asks for, and returns the result of it. It may be called while View runs.
	Act(ctx context.Context, c Command) (Done, error)
	// Show runs a pager or an editor, which has the terminal. It may be called while View runs.
	Show(ctx context.Context, c Command, terminal *os.File) error
}

// Done is the result of a key.
type Done struct {
	Text string // in a few words
	Page string // to be read on the whole screen; "" = nothing is
	Run  string // to be selected: it was started; "" = none was
}

// ScreenOptions are what is shown besides the runs, and how.
type ScreenOptions struct {
	First    string        // the row to begin on, "" = any
	Interval time.Duration // between two looks; one that takes long has a longer rest
	ASCII    bool          // the terminal has no other characters
	Colour   bool
	Terminal *os.File         // whose modes are kept; nil = they are not known
	Signals  <-chan os.Signal // those that end it
	Jobs     <-chan os.Signal // SIGTSTP and SIGCONT, as they come
	// stops a process, or for 0 all of the group, and returns when it continues; nil = that cannot be done
	Stop    func(pid int)
	Explain func(err error) string // as a text for users
}

// ErrGone means that the terminal is gone: no key can be pressed any more.
var ErrGone = errors.New("the terminal is gone")

// A ScreenError means that the terminal cannot be used.
type ScreenError struct{ Err error }

func (e *ScreenError) Error() string { return "the terminal cannot be used: " + e.Err.Error() }
func (e *ScreenError) Unwrap() error { return e.Err }

// A SignalError means that a signal ended it.
type SignalError struct{ Signal os.Signal }

func (e *SignalError) Error() string { return "stopped by " + e.Signal.String() }

// idle is how long watch rests between looks while nothing happens.
const idle = time.Second

// A board is the screen while it is shown. The goroutine of its run owns it; the looks and what keys do are
// goroutines that tell it by channels.
type board struct {
	src     ScreenSource
	options ScreenOptions
	screen  tcell.Screen
	model   *Model
	drawn   *Screen // what is there; nil = nothing

	views   chan View
	wants   chan persistence.ID // the run that is selected now
	poke    chan struct{}       // look now
	results chan result
	crashes chan string // of a goroutine
	busy    int         // keys whose work is not done
	leaving bool        // q was pressed while there is some
}

// A result is the result of a key, or of all of it.
type result struct {
	Done
	of  Command
	err error
}

// Show shows the runs on the terminal until a user leaves or a signal comes. Its error is a *ScreenError, a
// *SignalError or ErrGone.
func Show(ctx context.Context, src ScreenSource, o ScreenOptions) error {
	tty, err := tcell.NewDevTty()
	if err != nil {
		tty, err = tcell.NewStdIoTty()
	}
	if err != nil {
		return &ScreenError{err}
	}
	return ShowOn(ctx, src, o, tty)
}

// ShowOn is Show on one terminal, which is as it was when it returns, or panics.
func ShowOn(ctx context.Context, src ScreenSource, o ScreenOptions, tty tcell.Tty) error {
	options := []tcell.TerminfoScreenOption{tcell.OptNegotiation(false), tcell.OptSanitizeContent(true)}
	if !o.Colour {
		options = append(options, tcell.OptColors(0))
	}
	before := modes(o.Terminal)
	screen, err := tcell.NewTerminfoScreenFromTty(tty, options...)
	if err == nil {
		err = screen.Init()
	}
	if err != nil {
		return &ScreenError{err}
	}
	ui := &board{
		src: src, options: o, screen: screen, model: New(o.ASCII, o.First),
		views: make(chan View), wants: make(chan persistence.ID, 1), poke: make(chan struct{}, 1),
		results: make(chan result), crashes: make(chan string, 1),
	}
	ctx, cancel := context.WithCancel(ctx)
	looked, left := make(chan struct{}), make(chan result, 1)
	defer func() {
		cancel()
		crash := recover()
		if !restore(screen) {
			before.set()
		}
		if crash != nil {
			panic(crash)
		}
		select {
		case <-looked: // nothing uses the store any more
		case <-time.After(restoreWait):
		}
	}()
	go func() {
		defer close(looked)
		defer ui.guard()
		ui.look(ctx)
	}()
	go func() {
		defer ui.guard()
		left <- result{err: ui.run(ctx)}
	}()
	select {
	case r := <-left:
		return r.err
	case text := <-ui.crashes:
		panic(text)
	case s := <-ui.signal(ctx):
		cancel()
		select {
		case <-left:
		case <-time.After(restoreWait): // it hangs in a terminal that takes nothing
		}
		return &SignalError{s}
	}
}

// guard hands a crash of this goroutine to the one that can give the terminal back first.
func (ui *board) guard() {
	if crash := recover(); crash != nil {
		select {
		case ui.crashes <- fmt.Sprintf("%v\n\n%s", crash, debug.Stack()):
		default:
		}
	}
}

// look looks at the runs again and again, until ctx ends.
func (ui *board) look(ctx context.Context) {
	selected := persistence.ID(ui.options.First)
	for {
		begun := time.Now()
		// Another selection ends a long look at this one.
		now, cancel := context.WithCancel(ctx)
		picked := make(chan persistence.ID, 1)
		done := make(chan struct{})
		go func() {
			defer close(done)
			select {
			case id := <-ui.wants:
				picked <- id
				cancel()
			case <-now.Done():
			}
		}()
		view, changed := ui.src.View(now, selected)
		cancel()
		<-done
		select {
		case selected = <-picked:
			continue
		default:
		}
		took := time.Since(begun)
		select {
		case ui.views <- view:
		case <-ctx.Done():
			return
		}
		rest := ui.options.Interval
		if !changed {
			rest = max(rest, idle)
		}
		select {
		case <-ctx.Done():
			return
		case selected = <-ui.wants:
		case <-ui.poke:
		case <-time.After(max(rest, 30*took)):
		}
	}
}

// run does what keys and looks ask for.
func (ui *board) run(ctx context.Context) error {
	ui.draw()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case v := <-ui.views:
			before := ui.model.Selected()
			ui.model.Show(v)
			ui.want(before)
		case r := <-ui.results:
			ui.busy--
			text := r.Text
			if r.err != nil {
				text = ui.options.Explain(r.err)
			}
			ui.model.Say(text, r.err != nil)
			if r.Page != "" {
				ui.model.Read(r.of.Run, r.Page)
			}
			if r.Run != "" {
				ui.model.Select(r.Run)
				ui.ask(r.Run)
			}
			select {
			case ui.poke <- struct{}{}:
			default:
			}
		case s := <-ui.options.Jobs:
			if s == syscall.SIGTSTP {
				ui.suspend(os.Getpid())
				// it was stopped without a word, and the shell had the terminal since
			} else if ui.screen.Suspend() == nil {
				ui.resume()
			}
		case e, open := <-ui.screen.EventQ():
			if !open {
				return nil
			}
			if leave, err := ui.event(ctx, e); leave {
				return err
			}
		}
		ui.draw()
	}
}

// want has the looker look at the run that is selected, if it is not the one that was.
func (ui *board) want(before string) {
	if id := ui.model.Selected(); id != before {
		ui.ask(id)
	}
}

// ask has the looker look at a run next.
func (ui *board) ask(id string) {
	select {
	case <-ui.wants: // it was not taken yet
	default:
	}
	ui.wants <- persistence.ID(id)
}

// event does what a key means, or draws again for a new size.
func (ui *board) event(ctx context.Context, e tcell.Event) (leave bool, err error) {
	switch e := e.(type) {
	case *tcell.EventError:
		return true, ErrGone
	case *tcell.EventResize:
		ui.redraw()
	case *tcell.EventKey:
		key, known := keyOf(e)
		if !known {
			return false, nil
		}
		before := ui.model.Selected()
		c := ui.model.Press(key)
		ui.want(before)
		switch c.Verb {
		case None:
		case Quit:
			if ui.busy > 0 && !ui.leaving {
				ui.leaving = true
				ui.model.Say("What was asked for is still being done; q again leaves without waiting for it.", false)
				return false, nil
			}
			return true, nil
		case Redraw:
			ui.redraw()
		case Suspend:
			ui.suspend(0) // with the script that started it, if there is one
		case Log, Edit:
			ui.lend(ctx, c)
		default:
			ui.do(ctx, c)
		}
	}
	return false, nil
}

// do begins what a key asks for, beside the screen.
func (ui *board) do(ctx context.Context, c Command) {
	doing := map[Verb]string{
		Stop: "Stopping", Pause: "Pausing", Unpause: "Unpausing", Retry: "Waking", Resume: "Resuming",
		Start:  "Starting",
		Answer: "Answering", Explain: "Explaining",
	}[c.Verb]
	ui.model.Say(doing+" "+cmp.Or(c.Run, c.Text)+" …", false)
	ui.busy++
	ui.leaving = false
	go func() {
		defer ui.guard()
		done, err := ui.src.Act(ctx, c)
		select {
		case ui.results <- result{done, c, err}:
		case <-ctx.Done():
		}
	}()
}

// redraw has everything drawn again.
func (ui *board) redraw() {
	ui.drawn = nil
	ui.draw()
	ui.screen.Sync()
}

// draw brings the terminal up to date: only what has changed is written.
func (ui *board) draw() {
	w, h := ui.screen.Size()
	s := ui.model.Draw(w, h)
	old := ui.drawn
	if old != nil && (old.Width != s.Width || old.Height != s.Height) {
		old = nil
	}
	ui.drawn = s
	if old != nil && slices.Equal(old.Cells, s.Cells) {
		return
	}
	for y := range s.Height {
		for x := range s.Width {
			c := s.At(x, y)
			if c.Text == "" || old != nil && old.At(x, y) == c {
				continue // the second half of a character is drawn with it
			}
			ui.screen.Put(x, y, c.Text, tcellStyle(c.Style))
		}
	}
	ui.screen.Show()
}

func tcellStyle(s Style) tcell.Style {
	colours := [...]color.Color{
		NoColour: color.Default, Red: color.Maroon, Green: color.Green, Amber: color.Olive,
		Cyan: color.Teal,
	}
	return tcell.StyleDefault.Bold(s.Bold).Dim(s.Dim).Reverse(s.Reverse).Foreground(colours[s.Colour])
}

// keyOf is a key in the words of the model.
func keyOf(e *tcell.EventKey) (Key, bool) {
	if e.Key() == tcell.KeyRune {
		return Key(e.Str()), e.Modifiers()&(tcell.ModCtrl|tcell.ModAlt|tcell.ModMeta) == 0
	}
	key, known := map[tcell.Key]Key{
		tcell.KeyUp: Up, tcell.KeyDown: Down, tcell.KeyLeft: Left, tcell.KeyRight: Right,
		tcell.KeyPgUp: PageUp, tcell.KeyPgDn: PageDown, tcell.KeyHome: Home, tcell.KeyEnd: End,
		tcell.KeyTab: Tab, tcell.KeyBacktab: BackTab, tcell.KeyEnter: Enter, tcell.KeyEscape: Escape,
		tcell.KeyBackspace: Backspace, tcell.KeyCtrlC: CtrlC, tcell.KeyCtrlL: CtrlL, tcell.KeyCtrlU: CtrlU,
		tcell.KeyCtrlZ: CtrlZ,
		tcell.KeyF1:    "?",
	}[e.Key()]
	return key, known
}
