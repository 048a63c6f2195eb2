package agent

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// messages reads the streams that are alike: one JSON object a line, a system line at the beginning, messages as the
// API of Anthropic has them, and a line of type result after which the host only exits.
type messages struct {
	req  Request
	out  printed
	name string
	// inclusive says that the host counts what it read from the cache as input, too.
	inclusive bool
	// session says that the host counts the tokens of a whole session.
	session bool
	// hidden finds the error in a final message that the host itself does not call one.
	hidden func(text string) (reason string, ok bool)
	// exits are the classes of exit codes of their own, where there was no result.
	exits map[int]Class

	started bool // it printed an event
	first   initial
	last    string // text of the last message
	tool    string // id of the tool call that came last
	seen    Usage  // of the messages so far
	message string // id of the one counted last
	counted Usage  // of that one
	reset   time.Time
	limits  []Limit
	refused bool // a limit was said to be reached
	result  *event
	raw     bytes.Buffer // of a judge: what is no event
}

type initial struct{ model, session string }

// maxRaw is how much of what a judge printed outside of events is kept.
const maxRaw = 1 << 20

type event struct {
	Type      string
	Subtype   string
	SessionID string `json:"session_id"`
	Model     string
	Message   struct {
		ID      string
		Model   string
		Content []struct{ Type, Text, ID string }
		Usage   *tokens
	}
	RateLimit struct {
		Status   string
		ResetsAt float64
		Kind     string      `json:"rateLimitType"`
		Used     json.Number `json:"utilization"`
	} `json:"rate_limit_info"`

	IsError    json.RawMessage `json:"is_error"`
	Result     json.RawMessage // a text, but a wrapper may print what it likes
	Errors     []string
	Error      json.RawMessage
	Status     int    `json:"api_error_status"`
	Reason     string `json:"terminal_reason"`
	Usage      *tokens
	ModelUsage map[string]modelTokens
	Cost       *float64        `json:"total_cost_usd"`
	Structured json.RawMessage `json:"structured_output"`
	Answered   json.RawMessage `json:"structured_result"`
	Verdict    json.RawMessage
	Denials    []struct {
		Tool string `json:"tool_name"`
		ID   string `json:"tool_use_id"`
	} `json:"permission_denials"`

	whole []byte // of a judge's envelope that is the answer itself
}

type tokens struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
}

type modelTokens struct {
	Input      int64 `json:"inputTokens"`
	Output     int64 `json:"outputTokens"`
	CacheRead  int64 `json:"cacheReadInputTokens"`
	CacheWrite int64 `json:"cacheCreationInputTokens"`
}

func (m *messages) Line(line []byte) (string, bool) {
	var e event
	if !object(line, &e) {
		// Also a JSON value that is no object (D26).
		m.keep(line)
		return string(line) + "\n", false
	}
	if e.SessionID != "" && len(e.SessionID) <= maxWord {
		m.first.session = e.SessionID
	}
	switch e.Type {
	case "system":
		if e.Subtype == "init" && len(e.Model) <= maxWord {
			m.first.model = e.Model
		}
	case "assistant":
		m.started = true
		return m.say(&e), true
	case "result":
		m.finish(&e, line)
	case "rate_limit_event":
		m.refused = e.RateLimit.Status == "rejected"
		m.reset = time.Time{}
		m.limit(&e)
		if at := e.RateLimit.ResetsAt; m.refused && at > 0 && at < 1e11 {
			m.reset = time.Unix(int64(at), 0).UTC()
		}
	case "user", "stream_event", "tool_progress", "tool_use_summary", "auth_status", "prompt_suggestion":
	default:
		m.keep(line)
		return "", false
	}
	m.started = true
	return "", true
}

// limit takes a report about a limit of the account.
func (m *messages) limit(e *event) {
	r := &e.RateLimit
	if r.Kind == "" || len(r.Kind) > maxWord || r.ResetsAt <= 0 || r.ResetsAt >= 1e11 {
		return
	}
	l := Limit{Name: r.Kind, Used: -1, Resets: time.Unix(int64(r.ResetsAt), 0).UTC()}
	if used, err := r.Used.Float64(); err == nil && used >= 0 && used <= 1 {
		l.Used = used
	}
	if m.refused {
		l.Used = 1
	}
	switch {
	case r.Kind == "five_hour":
		l.Length = 5 * time.Hour
	case strings.HasPrefix(r.Kind, "seven_day"):
		l.Length = 7 * 24 * time.Hour
	}
	const most = 16
	if i := slices.IndexFunc(m.limits, func(x Limit) bool { return x.Name == l.Name }); i >= 0 {
		m.limits[i] = l
	} else if len(m.limits) < most {
		m.limits = append(m.limits, l)
	}
}

// maxWord is the longest id or name that is believed.
const maxWord = 256

// say takes a message of the agent.
func (m *messages) say(e *event) string {
	var texts []string
	for _, c := range e.Message.Content {
		switch c.Type {
		case "text":
			if c.Text != "" {
				texts = append(texts, c.Text)
			}
		case "tool_use":
			m.tool = head(c.ID, maxWord)
		}
	}
	if model := e.Message.Model; m.first.model == "" && model != "<synthetic>" && len(model) <= maxWord {
		m.first.model = model
	}
	// A message comes in several lines, each with the usage of all of it so far.
	if u := e.Message.Usage; u != nil {
		now := m.usage(*u)
		switch {
		case e.Message.ID == "" || e.Message.ID != m.message:
			m.seen = m.seen.plus(now)
			m.message, m.counted = head(e.Message.ID, maxWord), now
		case now.total() > m.counted.total():
			m.seen = m.seen.plus(now.minus(m.counted))
			m.counted = now
		}
	}
	text := strings.Join(texts, "\n\n")
	if text == "" {
		return ""
	}
	text = ended(text)
	m.last = strings.TrimSuffix(text, "\n")
	return text
}

func (m *messages) finish(e *event, line []byte) {
	if e.Model != "" && len(e.Model) <= maxWord {
		m.first.model = e.Model
	}
	e.Message.Content = nil
	if m.req.Judge && e.Verdict != nil {
		e.whole = bytes.Clone(line)
	}
	m.result = e
}

func (m *messages) keep(line []byte) {
	m.out.add(line)
	if m.req.Judge && m.raw.Len()+len(line) < maxRaw {
		m.raw.Write(line)
		m.raw.WriteByte('\n')
	}
}

func (m *messages) usage(t tokens) Usage {
	u := Usage{max(t.Input, 0), max(t.Output, 0), max(t.CacheRead, 0), max(t.CacheWrite, 0)}
	if m.inclusive {
		u.Input = max(u.Input-u.CacheRead, 0)
	}
	return u
}

// Used implements [Meter]. What sub-agents use is only in the result.
func (m *messages) Used() (Usage, *float64, string) { return m.seen, nil, m.first.model }

func (m *messages) Done() bool { return m.result != nil }

func (m *messages) End(x Exit) Outcome {
	x, o := m.out.of(x), Outcome{Coverage: None, Text: m.last}
	unread := ""
	if m.result == nil && m.req.Judge {
		m.result, unread = m.envelope()
	}
	r := m.result
	m.count(&o)
	o.Session, o.Model, o.Limits = m.first.session, m.model(), m.limits
	switch {
	case r == nil && unread != "":
		o.Text = unread
		if o.Failure = downgraded(m.name, x); o.Failure == nil {
			o.Failure = &Failure{Class: SchemaMismatch, Reason: m.name + " did not answer with a JSON object: " +
				oneLine(head(unread, 300))}
		}
		return o
	case r == nil:
		o.Failure = unexplained(m.name, x, m.started)
		if class, ok := m.exits[x.Code]; ok {
			o.Failure.Class = class
		}
		return o
	}
	o.Complete, o.Final = true, true
	var text string
	if r.Result != nil && json.Unmarshal(r.Result, &text) == nil {
		o.Text = text
	}
	if m.req.Judge {
		o.Answer = answer(r, text)
	}
	for _, d := range r.Denials {
		if len(o.Denied) < 64 && d.Tool != "" && !slices.Contains(o.Denied, d.Tool) {
			o.Denied = append(o.Denied, head(d.Tool, maxWord))
		}
	}
	if o.Failure = m.failure(r, text); o.Failure == nil {
		o.Failure = downgraded(m.name, x)
	} else if m.session && o.Failure.Class == Transient && o.Coverage == Complete {
		o.Coverage = Partial // it counts no answer that broke off
	}
	return o
}

// isFalse reports whether a flag is not set. What is no flag is taken as set: success has to be said.
func isFalse(raw json.RawMessage) bool {
	return raw == nil || string(raw) == "false" || string(raw) == "null"
}

func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}

// failure is what the result says went wrong.
func (m *messages) failure(r *event, text string) *Failure {
	if isFalse(r.IsError) && !strings.HasPrefix(r.Subtype, "error") {
		if m.hidden != nil {
			if reason, ok := m.hidden(text); ok {
				return m.limited(failed(0, reason))
			}
		}
		return m.denied(r)
	}
	said := messageOf(r.Error)
	if said == "" {
		said = text
	}
	if said == "" {
		said = strings.Join(r.Errors, "; ")
	}
	if said == "" && r.Subtype != "success" {
		said = r.Subtype
	}
	if said == "" {
		said = m.name + " says that there was an error"
	}
	f := failed(r.Status, said)
	switch {
	case r.Reason == "prompt_too_long":
		f.Class = Context
	case r.Subtype == "error_max_budget_usd", r.Subtype == "error_max_turns":
		f.Class = AdminLimit
	case r.Subtype == "error_max_structured_output_retries":
		f.Class = SchemaMismatch
	case strings.HasPrefix(r.Reason, "aborted"):
		f.Class, f.Reason = Truncated, m.name+" was interrupted"
	case strings.Contains(said, "structured_output tool"):
		f.Class = SchemaMismatch
	}
	return m.limited(f)
}

// limited adds what an earlier event said about a limit.
func (m *messages) limited(f *Failure) *Failure {
	if m.refused && f.Class == Other {
		f.Class = RateLimited
	}
	if f.Class == RateLimited && f.ResetAt.IsZero() {
		f.ResetAt = m.reset
	}
	return f
}

// denied is the Failure of an agent that was refused the last tool it asked for: it may say that all is well, but what
// it wanted to do in the end was not done. Refusals before that are ones it found a way around.
func (m *messages) denied(r *event) *Failure {
	for _, d := range r.Denials {
		if d.ID != "" && d.ID == m.tool {
			return &Failure{Class: Permission, Reason: m.name + " may not use " + oneLine(head(d.Tool, maxWord)) +
				" here: no user can be asked"}
		}
	}
	return nil
}

// messageOf reads an error that is a text or an object with a message.
func messageOf(raw json.RawMessage) string {
	var s string
	var o struct{ Message string }
	if json.Unmarshal(orNull(raw), &s) == nil {
		return s
	}
	if object(raw, &o) {
		return o.Message
	}
	return ""
}

// count fills in what was used.
func (m *messages) count(o *Outcome) {
	r := m.result
	if r != nil && r.Usage != nil {
		o.Usage, o.Coverage = m.usage(*r.Usage), Complete
		// This one also has the requests of sub-agents and those that failed half-way.
		var all Usage
		for _, u := range r.ModelUsage {
			all = all.plus(m.usage(tokens(u)))
		}
		if all.total() > o.Usage.total() {
			o.Usage = all
		}
	}
	told := o.Coverage == Complete
	if told && m.session {
		o.Whole = o.Usage
		o.Usage = o.Whole.minus(m.req.Counted)
	}
	if o.Usage == (Usage{}) && m.seen != (Usage{}) {
		o.Usage, o.Coverage = m.seen, Partial
	}
	switch {
	case !m.session:
		o.Whole = o.Usage
	case !told:
		o.Whole = m.req.Counted.plus(o.Usage)
	}
	// Nothing is what a host says that did not come to adding up.
	if r != nil && r.Cost != nil && (*r.Cost > 0 || *r.Cost == 0 && o.Usage == (Usage{})) {
		o.Cost = r.Cost
	}
}

func (m *messages) model() string {
	if m.first.model != "" || m.result == nil {
		return m.first.model
	}
	best := ""
	for name, u := range m.result.ModelUsage {
		b := m.result.ModelUsage[best]
		if best == "" || u.Output > b.Output || u.Output == b.Output && name < best {
			best = name
		}
	}
	return head(best, maxWord)
}

// envelope makes a result of what a judge printed that is no event: all of it as one JSON object, else the last line.
// Where it is neither, it returns the text.
func (m *messages) envelope() (*event, string) {
	all := bytes.TrimSpace(m.raw.Bytes())
	for _, text := range [][]byte{all, all[bytes.LastIndexByte(all, '\n')+1:]} {
		var e event
		if object(text, &e) {
			m.started = true
			m.finish(&e, text)
			return m.result, ""
		}
	}
	return nil, string(all)
}

// answer finds what a judge answered: the structured output, else a result that is a JSON object or the text of one,
// else the envelope itself. Answers in other forms are in Outcome.Text.
func answer(r *event, text string) json.RawMessage {
	for _, raw := range []json.RawMessage{r.Structured, r.Answered, r.Result, json.RawMessage(text)} {
		if isObject(raw) {
			return bytes.TrimSpace(raw)
		}
	}
	if text == "" && r.whole != nil {
		return bytes.TrimSpace(r.whole)
	}
	return nil
}

func isObject(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '{' && json.Valid(raw)
}
