package agent

import (
	"encoding/json"
	"errors"
	"strings"
	"syscall"
)

// OpenCode, from its documentation of version 1 (opencode run --format json).
var opencode = &CLI{
	State:      []string{"~/.local/share/opencode", "~/.local/state/opencode", "~/.cache/opencode"},
	Name:       "opencode",
	Program:    "opencode",
	Login:      "opencode auth login",
	Stop:       syscall.SIGINT,
	Documented: true,
	Has:        opencodeHas,
	Command:    opencodeCommand,
	Stream:     func(r Request) Stream { return &opencodeStream{req: r} },
}

var opencodeHas = Features{
	Model: true, Agent: true, Effort: true, Session: true, Permissions: true, Cost: true,
	Usage: true, Live: true,
}

func opencodeCommand(r Request) (Command, error) {
	if err := checkWords("opencode", r); err != nil {
		return Command{}, err
	}
	if strings.TrimSpace(r.Text) == "" {
		return Command{}, errors.New("the prompt is empty, which opencode refuses")
	}
	c := Command{
		Stdin: r.Text, Args: []string{"run", "--format", "json"}, Env: commonEnv(r),
		Ignored: ignored(r, opencodeHas),
	}
	c.Env = append(c.Env, "OPENCODE_DISABLE_AUTOUPDATE=true")
	switch {
	case r.Judge: // it is to answer only
		c.Env = append(c.Env, `OPENCODE_PERMISSION={"*":"deny"}`)
	case r.Skip:
		c.Env = append(c.Env, `OPENCODE_PERMISSION={"*":"allow"}`)
	}
	for _, f := range []struct{ flag, value string }{
		{"--model", r.Model}, {"--agent", r.Agent}, {"--variant", r.Effort}, {"--session", r.Session},
	} {
		if f.value != "" {
			c.Args = append(c.Args, f.flag, f.value)
		}
	}
	return c, nil
}

// opencodeStream reads the events of opencode run --format json. Older versions print none that ends the stream: there
// the last step reports whether another one follows.
type opencodeStream struct {
	req Request
	out printed

	started bool
	session string
	last    string // message
	finish  string // reason of the last step that ended
	over    bool
	steps   int // that began
	ended   int
	usage   Usage
	cost    float64
	trouble string
	status  int
	denied  []string
}

type opencodeEvent struct {
	Type      string
	SessionID string `json:"sessionID"`
	Rejected  []string
	Part      struct {
		Text   string
		Reason string
		Cost   float64
		Tokens struct {
			Input, Output, Reasoning int64
			Cache                    struct{ Read, Write int64 }
		}
	}
	Error struct {
		Name string
		Data struct {
			Message    string
			StatusCode int
		}
	}
}

func (s *opencodeStream) Line(line []byte) (string, bool) {
	var e opencodeEvent
	if !object(line, &e) {
		s.out.add(line)
		return "", false
	}
	if e.SessionID != "" && len(e.SessionID) <= maxWord {
		s.session = e.SessionID
	}
	text := ""
	switch e.Type {
	case "text":
		s.last = e.Part.Text
		text = ended(e.Part.Text)
	case "step_start":
		s.steps++
		s.finish = ""
	case "step_finish":
		s.ended++
		s.finish = head(e.Part.Reason, maxWord)
		t := e.Part.Tokens
		s.usage = s.usage.plus(Usage{
			Input: max(t.Input, 0), Output: max(t.Output, 0) + max(t.Reasoning, 0),
			CacheRead: max(t.Cache.Read, 0), CacheWrite: max(t.Cache.Write, 0),
		})
		s.cost += max(e.Part.Cost, 0)
	case "error":
		s.trouble, s.status = e.Error.Data.Message, e.Error.Data.StatusCode
		if s.trouble == "" {
			s.trouble = e.Error.Name
		}
		if s.trouble == "" {
			s.trouble = "an error without a message"
		}
		s.trouble = head(s.trouble, maxSaid)
	case "done":
		s.over = true
		if len(e.Rejected) <= 64 {
			s.denied = e.Rejected
		}
	case "tool_use", "reasoning":
	default:
		return "", false
	}
	s.started = true
	return text, true
}

// Used implements [Meter].
func (s *opencodeStream) Used() (Usage, *float64, string) {
	if s.cost > 0 {
		cost := s.cost
		return s.usage, &cost, ""
	}
	return s.usage, nil, ""
}

func (s *opencodeStream) Done() bool { return s.over }

func (s *opencodeStream) End(x Exit) Outcome {
	x = s.out.of(x)
	o := Outcome{
		Text: s.last, Session: s.session, Model: s.req.Model, Usage: s.usage, Whole: s.usage, Coverage: None,
		Denied: s.denied,
	}
	o.Complete = s.over || s.finish != "" && s.finish != "tool-calls"
	switch {
	case o.Complete && s.ended > 0 && s.ended >= s.steps:
		o.Coverage = Complete
	case s.steps > 0 || s.ended > 0:
		o.Coverage = Partial
	}
	if s.cost > 0 {
		o.Cost = &s.cost
	}
	if s.req.Judge && isObject(json.RawMessage(s.last)) {
		o.Answer = json.RawMessage(s.last)
	}
	switch {
	case s.trouble != "":
		status, text := apiError(s.trouble)
		if s.status != 0 {
			status = s.status
		}
		o.Failure = failed(status, text)
	case !o.Complete:
		o.Failure = unexplained("opencode", x, s.started)
	case s.last == "":
		o.Failure = &Failure{
			Class:  Other,
			Reason: "opencode ended without a message: the model refused, or had nothing to say",
		}
	default:
		o.Failure = downgraded("opencode", x)
	}
	return o
}
