package agent

import (
	"encoding/json"
	"errors"
	"strings"
	"syscall"

	"loops/fsm/pyregexp"
)

// Kimi CLI, from the documentation of its print mode. Its successor, Kimi Code, takes prompts as an argument only and
// knows no --print: there, a host of the user's own configuration is what to use.
var kimi = &CLI{
	State:      []string{"~/.kimi"},
	Settings:   []string{"~/.kimi/config.toml", "~/.kimi/mcp.json"},
	Name:       "kimi",
	Aliases:    []string{"kimi-cli"},
	Program:    "kimi",
	Login:      "kimi",
	Stop:       syscall.SIGINT,
	Documented: true,
	Has:        kimiHas,
	Command:    kimiCommand,
	Stream:     func(r Request) Stream { return &kimiStream{req: r} },
}

var kimiHas = Features{Model: true, Agent: true, Session: true, Permissions: true}

func kimiCommand(r Request) (Command, error) {
	if err := checkWords("kimi", r); err != nil {
		return Command{}, err
	}
	if strings.TrimSpace(r.Text) == "" {
		return Command{}, errors.New("the prompt is empty, which kimi refuses")
	}
	if !r.Skip {
		return Command{},
			errors.New(
				`kimi uses its tools without asking wherever no user can be asked; say "permissions: skip" if it may`)
	}
	c := Command{Stdin: r.Text, Env: commonEnv(r), Ignored: ignored(r, kimiHas)}
	c.Args = []string{"--print", "--output-format", "stream-json", "--max-retries-per-step", "1"}
	for _, f := range []struct{ flag, value string }{
		{"--model", r.Model},
		{"--agent", r.Agent},
		{"--session", r.Session},
	} {
		if f.value != "" {
			c.Args = append(c.Args, f.flag, f.value)
		}
	}
	return c, nil
}

// kimiStream reads the messages of --output-format stream-json. No event ends them: an answer without a call of a tool
// is the end, if the exit code agrees.
type kimiStream struct {
	req Request
	out printed

	started bool
	session string
	last    string // message
	final   bool   // which called no tool
}

type kimiMessage struct {
	Role      string
	Content   json.RawMessage // a text, or a list of parts
	ToolCalls []struct{}      `json:"tool_calls"`
	SessionID string          `json:"session_id"`
}

func (s *kimiStream) Line(line []byte) (string, bool) {
	var m kimiMessage
	if !object(line, &m) {
		s.out.add(line)
		return "", false
	}
	text := ""
	switch m.Role {
	case "assistant":
		text = kimiText(m.Content)
		s.last, s.final = text, len(m.ToolCalls) == 0
		text = ended(text)
	case "tool":
		s.final = false
	case "meta":
		if m.SessionID != "" && len(m.SessionID) <= maxWord {
			s.session = m.SessionID
		}
	case "user", "system":
	default:
		return "", false
	}
	s.started = true
	return text, true
}

func kimiText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(orNull(raw), &text) == nil {
		return text
	}
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var b strings.Builder
	for _, part := range parts {
		var p struct{ Type, Text string }
		if object(part, &p) && p.Type == "text" {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// kimiResume finds the session in what it says at the end.
var kimiResume = pyregexp.Lazy(`kimi -r ([\w-]{1,128})`)

func (s *kimiStream) Done() bool { return false }

func (s *kimiStream) End(x Exit) Outcome {
	x = s.out.of(x)
	if m := kimiResume().FindStringSubmatch(x.Stderr); m != nil && s.session == "" {
		s.session = m[1]
	}
	o := Outcome{Text: s.last, Session: s.session, Coverage: None, Complete: s.final && x.Code == 0}
	if s.req.Judge && isObject(json.RawMessage(s.last)) {
		o.Answer = json.RawMessage(s.last)
	}
	switch {
	case !o.Complete:
		o.Failure = unexplained("kimi", x, s.started)
	case strings.TrimSpace(s.last) == "":
		o.Failure = &Failure{
			Class:  Other,
			Reason: "kimi ended without a message: the model refused, or had nothing to say",
		}
	}
	return o
}
