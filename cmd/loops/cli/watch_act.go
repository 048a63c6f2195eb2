package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/inspect"
	"loops/internal/live"
	"loops/internal/terminal"
	"loops/internal/view"
	"loops/internal/watch"
	"loops/persistence"
)

// A watchScreen is what the screen of watch shows, with what its keys do.
type watchScreen struct {
	*watch.Monitor
	app  *program
	jobs *jobControl
}

// Act does what stop, pause, unpause, retry-now, resume -b, run -b, answer and explain do, and returns what
// they would have printed.
func (l watchScreen) Act(ctx context.Context, c watch.Command) (watch.Done, error) {
	switch c.Verb {
	case watch.Resume:
		return l.begin(ctx, engine.Request{Resume: &engine.ResumeRequest{Run: c.Run}}, "resume", c.Run)
	case watch.Start:
		name, input, given := strings.Cut(c.Text, " ")
		request, words := &engine.StartRequest{Loop: name}, []string{"run", "--", name}
		if input = strings.TrimSpace(input); given && input != "" {
			request.Input, words = &input, append(words, input)
		}
		return l.begin(ctx, engine.Request{Start: request}, words...)
	case watch.Explain, watch.Answer:
		return l.serve(ctx, c)
	}
	text, err := l.command(ctx, c)
	return watch.Done{Text: text}, err
}

// begin has another process carry a run, as run -b does.
func (l watchScreen) begin(ctx context.Context, request engine.Request, words ...string) (watch.Done, error) {
	id, err := (&served{app: l.app}).beginDetached(ctx, request, words)
	return watch.Done{Text: "Run " + id + " is running in the background.", Run: id}, err
}

// serve does what prints its answer.
func (l watchScreen) serve(ctx context.Context, c watch.Command) (done watch.Done, err error) {
	var said, printed bytes.Buffer
	a := (&served{app: l.app}).asking(&said)
	a.out = terminal.NewSink(&printed)
	s, err := a.service()
	if err != nil {
		return done, a.spoken(err, &said)
	}
	defer s.Close()
	if c.Verb == watch.Explain {
		story, err := s.Explain(ctx, c.Run, "")
		if err != nil {
			return done, a.spoken(err, &said)
		}
		a.page().PrintExplanation(story, false)
		a.out.Flush()
		return watch.Done{Page: printed.String()}, nil
	}
	given, err := s.Answer(ctx, c.Run, engine.Answer{
		Choice: c.Text, Address: c.Question, From: l.app.sender(),
		Known: l.app.identity(), Fields: c.Fields, Confirmed: true,
	})
	if err != nil {
		return done, a.spoken(err, &said)
	}
	given.Print(ctx)
	a.out.Flush()
	return watch.Done{Text: oneLine(errors.New(printed.String()))}, nil
}

// Show has the log of a run in $PAGER, or its loop in $VISUAL or $EDITOR.
func (l watchScreen) Show(ctx context.Context, c watch.Command, onTerminal *os.File) error {
	programs := watch.Programs{
		Dir: l.app.Dir, Env: l.app.Env, Terminal: onTerminal, Give: l.jobs.Give, Stopped: func() {
			l.jobs.Stop(os.Getpid())
		},
	}
	if c.Verb == watch.Edit {
		path, err := l.Project.Resolve(c.Text)
		if err != nil {
			return l.app.refused(err)
		}
		return programs.Edit(ctx, path)
	}
	return programs.Page(ctx, func(w io.Writer) error {
		var said bytes.Buffer
		a := (&served{app: l.app}).asking(&said)
		a.out = terminal.NewSink(w)
		err := runLogs(ctx, a, []string{c.Run}, live.ActionLogOptions{})
		a.out.Flush()
		return a.spoken(err, &said)
	})
}

// command asks the process of a run for something, and returns what the command of that name would have printed.
func (l watchScreen) command(ctx context.Context, c watch.Command) (string, error) {
	found, err := l.Store.Runs(ctx, persistence.Query{ID: persistence.ID(c.Run)})
	if err != nil {
		return "", l.Store.Failed(err)
	}
	if found = project.Current(found); len(found) == 0 {
		return "", failure(engine.NotFound, "run %s is no longer recorded", c.Run)
	}
	r := found[0]
	suspended := c.Verb == watch.Stop && r.Ended == fsm.EndSuspended // it would continue by itself
	if c.Verb != watch.Unpause && !suspended && !project.Alive(r) {
		return "", failure(engine.NotFound, "run %s is %s", r.ID, inspect.Outcome(r))
	}
	e := engine.New(l.Project, l.app.engineOptions())
	defer e.Close()
	s, err := e.Ask(ctx, r.ID, engine.Command{Kind: commandKinds[c.Verb]})
	if err != nil {
		return "", l.app.refused(err)
	}
	text := map[watch.Verb]func() string{
		watch.Stop:    func() string { return view.StoppedText(l.app.page(), s, engine.StopGrace) },
		watch.Pause:   func() string { return view.PausedText(l.app.page(), s) },
		watch.Unpause: func() string { return view.UnpausedText(l.app.page(), r) },
		watch.Retry:   func() string { return view.WokenText(s) },
	}[c.Verb]()
	if s.Unrecorded != nil {
		text += fmt.Sprintf(" It could not be recorded (%s): the process was sent %s.", oneLine(s.Unrecorded), s.Signal)
	}
	return text, nil
}

// commandKinds are what the keys ask for.
var commandKinds = map[watch.Verb]persistence.CommandKind{
	watch.Stop: persistence.CommandStop, watch.Pause: persistence.CommandPause,
	watch.Unpause: persistence.CommandUnpause, watch.Retry: persistence.CommandWake,
}
