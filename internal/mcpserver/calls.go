package mcpserver

import (
	"context"
	"encoding/json"
	"errors"

	"loops/engine"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/api"
	"loops/internal/app"
	"loops/internal/simulate"
	"loops/internal/view"
	"loops/internal/worker"
)

// A Session is what one call works with.
type Session struct {
	*app.Service
	Checks  app.CheckRequest                            // how loops are checked
	Desk    func(script string) (*simulate.Desk, error) // tries loops out, with verdicts from a script
	InWords func(err error) error                       // says an error, and what was noted before it, to an agent
}

// A Host is the program that the tools act through.
type Host struct {
	Session func() (*Session, error)
	// Begin has another process carry a run, and returns when it is on record. words are a command line that
	// asks for the same, for messages; a run that is bound ends with this program.
	Begin func(ctx context.Context, request engine.Request, words []string, bound bool) (*worker.Child,
		worker.ChildStart, error)
	// what the exit code of such a process means, and what it printed, if anything, for an agent
	Ended func(code int, said string) (meaning, notes string)
	// the names by which it is known whose agent this is; nil = it is not
	Known []string
	User  string // who answers through this server
}

// asked returns a tool that has its answer from a session.
func (h *Host) asked(ask func(context.Context, *Session, Values) (any, error)) answer {
	return func(ctx context.Context, v Values) (json.RawMessage, error) {
		s, err := h.Session()
		if err != nil {
			return nil, err
		}
		defer s.Close()
		var result any
		if err = s.checkNames(v); err == nil {
			result, err = ask(ctx, s, v)
		}
		if form, ok := errors.AsType[*AskUser](err); ok {
			return nil, form
		}
		if err != nil {
			return nil, s.InWords(err)
		}
		return value.AppendJSON(nil, result), nil
	}
}

// checkNames refuses names of loops that lead out of the project.
func (s *Session) checkNames(v Values) error {
	names := v.Texts("names")
	for _, argument := range []string{"name", "run"} {
		if v.Has(argument) {
			names = append(names[:len(names):len(names)], v.Text(argument))
		}
	}
	for _, name := range names {
		if err := s.Project.CheckInside(name); err != nil {
			return err
		}
	}
	return nil
}

func list(ctx context.Context, s *Session, _ Values) (any, error) {
	runs, err := s.OpenRuns(ctx, app.OpenFilter{}, true)
	if err == nil {
		err = runs.Unread()
	}
	if err != nil {
		return nil, err
	}
	loops, err := s.Loops(app.LoopFilter{})
	if err == nil {
		err = s.AddLast(ctx, loops)
	}
	if err != nil {
		return nil, err
	}
	return api.ListedAll{Loops: loops.Objects(), Runs: runs.Objects()}, nil
}

func status(ctx context.Context, s *Session, v Values) (any, error) {
	status, err := s.Status(ctx, v.Text("run"))
	if err != nil {
		return nil, err
	}
	return status.Object(), status.Unread()
}

func history(ctx context.Context, s *Session, v Values) (any, error) {
	h, err := s.History(ctx, app.HistoryQuery{
		Loop: v.Text("name"), Limit: v.Number("limit"), Since: v.Text("since"),
		Output: true,
	})
	if err != nil {
		return nil, err
	}
	return api.History{Runs: h.Objects()}, nil
}

func explain(ctx context.Context, s *Session, v Values) (any, error) {
	story, err := s.Explain(ctx, v.Text("run"), v.Text("step"))
	if err != nil {
		return nil, err
	}
	return view.Explanation(story), nil
}

func receipt(ctx context.Context, s *Session, v Values) (any, error) {
	r, err := s.Receipt(ctx, v.Text("run"))
	if err != nil {
		return nil, err
	}
	return view.Receipt(r), nil
}

func memory(_ context.Context, s *Session, v Values) (any, error) {
	m, err := app.FindMemory(s.Project, v.Text("name"))
	if err != nil {
		return nil, err
	}
	return m.Object(), nil
}

func stop(ctx context.Context, s *Session, v Values) (any, error) {
	told, err := s.Stop(ctx, v.Text("run"), app.Stopping{Grace: engine.StopGrace, AfterItem: v.Flag("after_item")},
		nil, nil)
	if err != nil {
		return nil, err // it names those that could not be stopped
	}
	return api.WereStopped{Stopped: told.StopObjects()}, nil
}

func pause(ctx context.Context, s *Session, v Values) (any, error) {
	told, err := s.Pause(ctx, v.Text("run"), nil)
	if err != nil {
		return nil, err
	}
	return api.WerePaused{Paused: told.PauseObjects()}, nil
}

func extend(ctx context.Context, s *Session, v Values) (any, error) {
	var by engine.Extend
	if err := by.Set(v.Text("limits")); err != nil {
		return nil, engine.Refuse(engine.Usage, "limits: %v", err)
	}
	told, err := s.Extend(ctx, v.Text("run"), by, nil)
	if err != nil {
		return nil, err
	}
	return api.WereExtended{Extended: told.ExtendObjects(s.Page)}, nil
}

// unblock continues runs that were suspended.
func (h *Host) unblock(ctx context.Context, s *Session, v Values) (any, error) {
	done, err := s.Unblock(ctx, v.Text("suspended_by"), h.continueRun)
	if err != nil {
		return nil, err
	}
	return app.UnblockedObject(done), nil
}

func unpause(ctx context.Context, s *Session, v Values) (any, error) {
	told, err := s.Unpause(ctx, v.Text("run"), nil)
	if err != nil {
		return nil, err
	}
	return api.WereUnpaused{Unpaused: told.UnpauseObjects()}, nil
}

func signal(ctx context.Context, s *Session, v Values) (any, error) {
	event := fsm.Signal{Name: v.Text("event"), From: "MCP"}
	if v.Has("data") {
		text, err := json.Marshal(v.Mapping("data"))
		if err == nil {
			event.Data, err = value.ParseJSON(text)
		}
		if err != nil {
			return nil, err
		}
	}
	sent, err := s.Signal(ctx, v.Text("run"), event)
	if err != nil {
		return nil, err
	}
	return sent.Object(), nil
}

func (h *Host) giveAnswer(ctx context.Context, s *Session, v Values) (any, error) {
	said := h.answerer()
	said.Choice, said.Address, said.Confirmed = v.Text("choice"), v.Text("question"), v.Flag("confirm")
	for name, raw := range v.Mapping("fields") {
		text, err := value.ParseJSON(raw)
		if err != nil {
			return nil, err
		}
		said.Fields[name] = value.Text(text)
	}
	if v.Flag("ask_user") {
		if said.Choice != "" {
			return nil, engine.Refuse(engine.Usage, "ask_user asks the user for the choice: leave choice out")
		}
		if _, err := askUser(ctx, s, v.Text("run"), &said); err != nil {
			return nil, err
		}
	}
	given, err := s.Answer(ctx, v.Text("run"), said)
	if err != nil {
		return nil, err
	}
	return api.Questions{Questions: given.Objects()}, nil
}
