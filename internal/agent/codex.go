package agent

import (
	"encoding/json"
	"errors"
	"strings"
	"syscall"
)

// Codex CLI: driven for real at 0.169.0. It has no flag for how often it tries again; left to itself it gives up on
// its API after 6 to 26 seconds, and on a network that is not there never.
var codex = &CLI{
	State: []string{"~/.codex", "$CODEX_HOME"},
	Settings: []string{
		"~/.codex/config.toml", "~/.codex/AGENTS.md", "~/.codex/rules", "~/.codex/prompts",
		"$CODEX_HOME/config.toml",
	},
	Name:    "codex",
	Program: "codex",
	Login:   "codex login",
	Stop:    syscall.SIGINT, // at TERM it leaves the processes of its tools
	Has:     codexHas,
	Command: codexCommand,
	Stream:  func(r Request) Stream { return &codexStream{req: r} },
}

var codexHas = Features{Model: true, Effort: true, Session: true, Permissions: true, Schema: true, Usage: true}

func codexCommand(r Request) (Command, error) {
	if err := checkWords("codex", r); err != nil {
		return Command{}, err
	}
	if strings.TrimSpace(r.Text) == "" {
		return Command{}, errors.New("the prompt is empty, which codex refuses")
	}
	c := Command{Stdin: r.Text, Env: commonEnv(r), Ignored: ignored(r, codexHas)}
	c.Args = []string{
		"exec", "--json",
		"-c", "analytics.enabled=false", "-c", "features.plugins=false", "-c", "check_for_update_on_startup=false",
	}
	switch {
	case r.Judge:
		// It only has to answer, so nothing in what it reads can make it do more.
		c.Args = append(c.Args, "--sandbox", "read-only", "--skip-git-repo-check", "--ephemeral")
	case r.Skip:
		c.Args = append(c.Args, "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check")
	}
	if r.Model != "" {
		c.Args = append(c.Args, "--model", r.Model)
	}
	if r.Effort != "" {
		value, err := json.Marshal(r.Effort) // which TOML reads as JSON does
		if err != nil {
			return Command{}, err
		}
		c.Args = append(c.Args, "-c", "model_reasoning_effort="+string(value))
	}
	if r.Schema != "" {
		if strict, ok := strictSchema(r.Schema); ok {
			path, err := scratchFile(r, "schema.json", strict)
			if err != nil {
				return Command{}, err
			}
			c.Args = append(c.Args, "--output-schema", path)
		} else {
			c.Stdin += "\n\nAnswer with one JSON object and nothing else. It has to match this JSON Schema:\n\n" +
				r.Schema + "\n"
		}
	}
	if r.Session != "" {
		c.Args = append(c.Args, "resume", r.Session)
	}
	c.Args = append(c.Args, "-")
	return c, nil
}

// strictSchema makes of a schema one that the API takes for structured output: there every object names all its
// properties as required and has no others. ok is false where that would be another schema.
func strictSchema(text string) (strict string, ok bool) {
	var root any
	if json.Unmarshal([]byte(text), &root) != nil {
		return "", false
	}
	if o, isObject := root.(map[string]any); !isObject || o["type"] != "object" || !closeObjects(o) {
		return "", false
	}
	data, err := json.Marshal(root)
	return string(data), err == nil
}

// closeObjects forbids further properties in all objects of a schema, and reports whether the others are all required.
func closeObjects(v any) bool {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if !closeObjects(item) {
				return false
			}
		}
	case map[string]any:
		if v["type"] == "object" {
			properties, _ := v["properties"].(map[string]any)
			required := map[string]bool{}
			names, _ := v["required"].([]any)
			for _, n := range names {
				if name, isText := n.(string); isText {
					required[name] = true
				}
			}
			for name := range properties {
				if !required[name] {
					return false
				}
			}
			if more, given := v["additionalProperties"]; given && more != false || len(properties) == 0 {
				return false
			}
			v["additionalProperties"] = false
			for _, p := range properties {
				if !closeObjects(p) {
					return false
				}
			}
			return true
		}
		for key, item := range v {
			if key != "enum" && key != "const" && !closeObjects(item) {
				return false
			}
		}
	}
	return true
}

// codexStream reads the events of codex exec --json.
type codexStream struct {
	req Request
	out printed

	started bool
	session string
	acted   bool   // an item of the agent was seen
	spoke   bool   // one of them was a message
	last    string // message
	trouble string // what was reported last about something that went wrong and may have been fixed
	ended   bool
	failure *Failure
	usage   *codexUsage
}

type codexUsage struct {
	Input      int64 `json:"input_tokens"`
	CacheRead  int64 `json:"cached_input_tokens"`
	CacheWrite int64 `json:"cache_write_input_tokens"`
	Output     int64 `json:"output_tokens"`
}

type codexEvent struct {
	Type     string
	ThreadID string `json:"thread_id"`
	Message  string
	Item     struct{ Type, Text, Message string }
	Error    struct{ Message string }
	Usage    *codexUsage
}

func (s *codexStream) Line(line []byte) (string, bool) {
	var e codexEvent
	if !object(line, &e) {
		s.out.add(line)
		return "", false
	}
	switch e.Type {
	case "thread.started":
		if len(e.ThreadID) <= maxWord {
			s.session = e.ThreadID
		}
	case "turn.completed":
		s.ended, s.failure, s.usage = true, nil, e.Usage
	case "turn.failed":
		s.ended, s.failure = true, codexFailure(e.Error.Message)
	case "error": // also each time it tries again: only the end of the turn says what came of it
		s.trouble = head(e.Message, maxSaid)
	case "item.completed":
		s.started = true
		return s.item(&e), true
	case "turn.started", "item.started", "item.updated":
	default:
		return "", false
	}
	s.started = true
	return "", true
}

func (s *codexStream) item(e *codexEvent) string {
	switch e.Item.Type {
	case "error": // a warning
	case "agent_message":
		s.acted, s.spoke, s.last = true, true, e.Item.Text
		return ended(e.Item.Text)
	default:
		s.acted = true
	}
	return ""
}

// codexFailure is the Failure of an error that codex reports only as text.
func codexFailure(said string) *Failure {
	status, text := apiError(said)
	f := failed(status, text)
	if f.Reason == "" {
		f.Reason = "codex did not say why its turn failed"
	}
	switch {
	case f.Class != Other:
	case strings.HasPrefix(text, "Missing environment variable"): // the one that holds the key
		f.Class = Auth
	// what it says for a status of 500, and without a network
	case has(text, "experiencing high demand", "error sending request"):
		f.Class = Transient
	}
	return f
}

func (s *codexStream) Done() bool { return s.ended }

func (s *codexStream) End(x Exit) Outcome {
	x = s.out.of(x)
	x.Stderr = without(x.Stderr, "WARNING: proceeding, even though we could not create PATH aliases",
		"Reading additional input from stdin")
	o := Outcome{Complete: s.ended, Text: s.last, Session: s.session, Model: s.req.Model, Coverage: None}
	if s.acted {
		o.Coverage = Partial
	}
	o.Whole = s.req.Counted
	if u := s.usage; u != nil {
		o.Whole = u.disjoint()
		o.Usage, o.Coverage = o.Whole.minus(s.req.Counted), Complete
	}
	if s.req.Judge && isObject(json.RawMessage(s.last)) {
		o.Answer = json.RawMessage(s.last)
	}
	switch {
	case !s.ended && s.trouble != "":
		if o.Failure = codexFailure(s.trouble); o.Failure.Class == Other {
			if f := unexplained("codex", x, s.started); f.Class != Other && f.Class != Truncated {
				o.Failure = f
				return o
			}
			o.Failure.Class = Truncated
		}
		o.Failure.Reason = "codex " + endOf(x.Code) + ", after: " + o.Failure.Reason
	case !s.ended:
		o.Failure = unexplained("codex", x, s.started)
		if has(x.Stderr, "Not inside a trusted directory") {
			o.Failure.Class = Permission
		}
	case s.failure != nil:
		o.Failure = s.failure
	case !s.spoke:
		o.Failure = &Failure{
			Class:  Other,
			Reason: "codex ended its turn without a message: the model refused, or had nothing to say",
		}
	default:
		o.Failure = downgraded("codex", x)
	}
	return o
}

// disjoint counts input that was read from the cache, or written to it, only as that.
func (u codexUsage) disjoint() Usage {
	read, write := max(u.CacheRead, 0), max(u.CacheWrite, 0)
	return Usage{Input: max(u.Input-read-write, 0), Output: max(u.Output, 0), CacheRead: read, CacheWrite: write}
}
