package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"github.com/gdamore/tcell/v3"
	"github.com/gdamore/tcell/v3/color"

	"loops/fsm"
	"loops/internal/watch"
	"loops/persistence"
)

// watchIdle is how long watch rests between looks while nothing happens.
const watchIdle = time.Second

// A watchUI is the screen of loops watch. The goroutine of its run owns it; the looker and what keys do are goroutines that
// tell it by channels.
type watchUI struct {
	app    *app
	screen tcell.Screen
	model  *watch.Model
	drawn  *watch.Screen // what stands there; nil = nothing

	views   chan watch.View
	wants   chan persistence.ID // the run that is selected now
	poke    chan struct{}       // look now
	results chan watchResult
	crashes chan string    // of a goroutine
	jobs    chan os.Signal // of job control: stop, go on
	busy    int            // keys whose work goes on
	leaving bool           // q was pressed while there is some
}

// A watchResult is what came of a key, or of all of it.
type watchResult struct {
	text string
	err  error
}

// watchScreen shows the runs on the terminal until a person leaves or a signal comes.
func watchScreen(ctx context.Context, a *app, l *looker, o watchOptions, signals <-chan os.Signal) error {
	tty, err := tcell.NewDevTty()
	if err != nil {
		tty, err = tcell.NewStdIoTty()
	}
	if err != nil {
		return noScreen(err)
	}
	return watchOn(ctx, a, l, o, signals, tty)
}

func noScreen(err error) error {
	return failure(exitFailed, "the terminal cannot be used: %v; loops watch --once, or a pipe, prints lines", err)
}

// watchOn is watchScreen on one terminal, which is as it was when it returns, or panics.
func watchOn(ctx context.Context, a *app, l *looker, o watchOptions, signals <-chan os.Signal, tty tcell.Tty) error {
	options := []tcell.TerminfoScreenOption{tcell.OptNegotiation(false), tcell.OptSanitizeContent(true)}
	if !a.coloured(a.Out) {
		options = append(options, tcell.OptColors(0))
	}
	before := modes(a)
	screen, err := tcell.NewTerminfoScreenFromTty(tty, options...)
	if err == nil {
		err = screen.Init()
	}
	if err != nil {
		return noScreen(err)
	}
	ui := &watchUI{
		app: a, screen: screen, model: watch.New(a.watchASCII(), l.first),
		views: make(chan watch.View), wants: make(chan persistence.ID, 1), poke: make(chan struct{}, 1), results: make(chan watchResult), crashes: make(chan string, 1),
		jobs: make(chan os.Signal, 1),
	}
	ui.heedJobs()
	defer signal.Stop(ui.jobs)
	ctx, cancel := context.WithCancel(ctx)
	looked, left := make(chan struct{}), make(chan watchResult, 1)
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
		case <-time.After(watchRestore):
		}
	}()
	go func() {
		defer close(looked)
		defer ui.guard()
		ui.look(ctx, l, o.interval)
	}()
	go func() {
		defer ui.guard()
		left <- watchResult{err: ui.run(ctx, l)}
	}()
	select {
	case r := <-left:
		return r.err
	case text := <-ui.crashes:
		panic(text)
	case s := <-signals:
		cancel()
		select {
		case <-left:
		case <-time.After(watchRestore): // it hangs in a terminal that takes nothing
		}
		return exitError{code: codeOf(fsm.Outcome{Signal: signalName(s)})}
	}
}

// guard hands a crash of this goroutine to the one that can give the terminal back first.
func (ui *watchUI) guard() {
	if crash := recover(); crash != nil {
		select {
		case ui.crashes <- fmt.Sprintf("%v\n\n%s", crash, debug.Stack()):
		default:
		}
	}
}

// look looks at the runs again and again, until ctx ends.
func (ui *watchUI) look(ctx context.Context, l *looker, interval time.Duration) {
	selected := persistence.ID(l.first)
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
		view, changed := l.view(now, selected)
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
		rest := interval
		if !changed {
			rest = max(rest, watchIdle)
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

// view looks at the runs, and returns what is to be shown.
func (l *looker) view(ctx context.Context, selected persistence.ID) (v watch.View, changed bool) {
	v.Project = filepath.Base(l.Project.Dir)
	changed, err := l.look(ctx, selected)
	ended := 0 // the first that has; those in the queue come before it
	for _, w := range l.list() {
		row := w.row(l.Project)
		v.Runs = append(v.Runs, row)
		changed = changed || row.Health == watch.Waiting
		if w.ended.IsZero() {
			ended = len(v.Runs)
		}
	}
	for i, w := range l.waiters {
		v.Runs = slices.Insert(v.Runs, ended+i, queuedRow(l.Project, w))
	}
	if len(v.Runs) > 0 {
		id := string(selected)
		if i := slices.IndexFunc(v.Runs, func(r watch.Run) bool { return r.ID == id }); i < 0 {
			id = v.Runs[0].ID
		}
		if v.Detail = l.queuedDetail(id); v.Detail != nil {
			v.Now = time.Now()
			return v, changed
		}
		before := ""
		if len(l.detail) > 0 {
			before = fmt.Sprint(l.detail[0].id, l.detail[0].after)
		}
		var problem error
		v.Detail, problem = l.detailOf(ctx, l.runs[persistence.ID(id)])
		if err == nil {
			err = problem
		}
		changed = changed || before != fmt.Sprint(l.detail[0].id, l.detail[0].after)
	}
	if err != nil && ctx.Err() == nil {
		v.Problem = "the runs cannot be read now: " + oneLine(err) + "; trying again"
	}
	v.Now = time.Now()
	return v, changed
}

// run does what keys and looks ask for.
func (ui *watchUI) run(ctx context.Context, l *looker) error {
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
			text := r.text
			if r.err != nil {
				_, text = explain(r.err)
			}
			ui.model.Say(text, r.err != nil)
			select {
			case ui.poke <- struct{}{}:
			default:
			}
		case s := <-ui.jobs:
			if s == syscall.SIGTSTP {
				ui.suspend(os.Getpid())
			} else if ui.screen.Suspend() == nil { // it was stopped without a word, and the shell had the terminal since
				ui.resume()
			}
		case e, open := <-ui.screen.EventQ():
			if !open {
				return nil
			}
			if leave, err := ui.event(ctx, l, e); leave {
				return err
			}
		}
		ui.draw()
	}
}

// want has the looker look at the run that is selected, if it is not the one that was.
func (ui *watchUI) want(before string) {
	id := ui.model.Selected()
	if id == before {
		return
	}
	select {
	case <-ui.wants: // nobody has taken it yet
	default:
	}
	ui.wants <- persistence.ID(id)
}

// event does what a key means, or draws again for a new size.
func (ui *watchUI) event(ctx context.Context, l *looker, e tcell.Event) (leave bool, err error) {
	switch e := e.(type) {
	case *tcell.EventError:
		return true, failure(exitHangup, "") // nobody can press a key any more
	case *tcell.EventResize:
		ui.redraw()
	case *tcell.EventKey:
		key, known := watchKey(e)
		if !known {
			return false, nil
		}
		before := ui.model.Selected()
		c := ui.model.Press(key)
		ui.want(before)
		switch c.Verb {
		case watch.None:
		case watch.Quit:
			if ui.busy > 0 && !ui.leaving {
				ui.leaving = true
				ui.model.Say("What was asked for goes on still; q again leaves without waiting for it.", false)
				return false, nil
			}
			return true, nil
		case watch.Redraw:
			ui.redraw()
		case watch.Suspend:
			ui.suspend(0) // with the script that started it, if there is one
		default:
			ui.do(ctx, l, c)
		}
	}
	return false, nil
}

// do begins what a key asks for, beside the screen.
func (ui *watchUI) do(ctx context.Context, l *looker, c watch.Command) {
	doing := map[watch.Verb]string{watch.Stop: "Stopping", watch.Pause: "Pausing", watch.Unpause: "Unpausing", watch.Retry: "Waking"}[c.Verb]
	ui.model.Say(doing+" "+c.Run+" …", false)
	ui.busy++
	ui.leaving = false
	go func() {
		defer ui.guard()
		text, err := l.act(ctx, c)
		select {
		case ui.results <- watchResult{text, err}:
		case <-ctx.Done():
		}
	}()
}

// redraw has everything drawn again.
func (ui *watchUI) redraw() {
	ui.drawn = nil
	ui.draw()
	ui.screen.Sync()
}

// draw brings the terminal up to date: only what has changed is written.
func (ui *watchUI) draw() {
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

func tcellStyle(s watch.Style) tcell.Style {
	colours := [...]color.Color{watch.NoColour: color.Default, watch.Red: color.Maroon, watch.Green: color.Green, watch.Amber: color.Olive, watch.Cyan: color.Teal}
	return tcell.StyleDefault.Bold(s.Bold).Dim(s.Dim).Reverse(s.Reverse).Foreground(colours[s.Colour])
}

// watchKey is a key in the words of the model.
func watchKey(e *tcell.EventKey) (watch.Key, bool) {
	if e.Key() == tcell.KeyRune {
		return watch.Key(e.Str()), e.Modifiers()&(tcell.ModCtrl|tcell.ModAlt|tcell.ModMeta) == 0
	}
	key, known := map[tcell.Key]watch.Key{
		tcell.KeyUp: watch.Up, tcell.KeyDown: watch.Down, tcell.KeyLeft: watch.Left, tcell.KeyRight: watch.Right,
		tcell.KeyPgUp: watch.PageUp, tcell.KeyPgDn: watch.PageDown, tcell.KeyHome: watch.Home, tcell.KeyEnd: watch.End,
		tcell.KeyTab: watch.Tab, tcell.KeyBacktab: watch.BackTab, tcell.KeyEnter: watch.Enter, tcell.KeyEscape: watch.Escape,
		tcell.KeyBackspace: watch.Backspace, tcell.KeyCtrlC: watch.CtrlC, tcell.KeyCtrlL: watch.CtrlL, tcell.KeyCtrlU: watch.CtrlU, tcell.KeyCtrlZ: watch.CtrlZ,
		tcell.KeyF1: "?",
	}[e.Key()]
	return key, known
}
