package expr

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"loops/fsm/value"
)

// A Scope holds what the references of a template can see. Expanding a template does not change it. The zero
// Scope holds nothing.
type Scope struct {
	Context, Captured, Param *value.Map
	Item                     *value.Map // nil = the state works on no list
	Prev                     *value.Map // nil = no action or decision state came before
	Event                    *value.Map // nil = the loop took no signal
	Result                   *value.Map // {verdict, details}; nil = nothing was evaluated in this state
	State                    string
	Step                     int
	Visits                   func() int // how often the state was entered; nil = once
	Loop                     string
	StartedAt                string
	ElapsedMS                int64
	RunID                    string // "" = there is no run
	RunAttempt               int    // 1, and one more each time that the run was resumed
	// the time of its schedule that the run was started for; "" = no schedule started it
	ScheduledAt string
	Messages    []string
	Getenv      func(name string) (string, bool) // nil = nothing is set
	// what stands for a secret, and whether there is one of that name; nil = a placeholder does for every name
	Secret func(name string) (string, bool)
	// reads the file of an output, as text; nil = it cannot be read
	ReadText func(file string) (string, error)
	Memory   Memory // nil = the loop has none
	// references stand for data: for all of an output that is cut, or they are an error
	AsData bool
	// captures and what came before are made up: what a program or a header would be is, too
	MadeUp bool
}

// A Memory is what earlier runs of a loop left.
type Memory interface {
	Text() string  // as ${memory} inserts it
	Values() []any // the facts, a mapping each
}

// Namespaces are the names that a reference begins with, in the order of the documentation. The caller may keep it.
func Namespaces() []string {
	return []string{
		"context", "captured", "prev", "result", "state", "loop", "run", "env", "secret", "messages",
		"param", "item", "event", "memory",
	}
}

// A TemplateError reports a reference that has no value and no fallback, or whose value cannot be read.
type TemplateError struct {
	Ref     string // as written: ${context.x}
	Message string
	Err     error // an [*UnreadableError], nil for all others
}

func (e *TemplateError) Error() string { return e.Message }

// Unwrap returns Err.
func (e *TemplateError) Unwrap() error { return e.Err }

// Expand replaces every reference in text by its value; $${ stands for ${. A reference is ${namespace.path}, with
// filters after the path and then, at the end, what to insert where there is no value:
//
//	${captured.list.output:lines:first:shell}
//	${context.note:trim?}              nothing
//	${context.max:trim:default=10}     the text behind =, as it is
//
// Filters apply from left to right. A text may have several lines; a list of lines is what :lines makes.
//
//	:trim    without the white space at both ends; in a list, that of each text
//	:lines   the lines that are not blank, without their ends; a list gives those of all its items
//	:first   the first item of a list, the first line of a text that is not blank; "" if there is none
//	:last    the last one
//	:json    the value as JSON on one line of ASCII: a text in quotes, a list of lines as an array, null
//	:shell   as one word of a POSIX shell, and a list of lines as one word each; nothing may follow but ?
//
// What is no text, list of lines or list passes :trim, :first and :last as it is. A list of lines is inserted with
// a newline between them, every other value as [value.Text] has it; a null that is there is inserted as nothing, quoted
// or not, except by :json. Filters win over keys that end in their names.
//
// Behind a path may stand | and a program of jq, before the filters: ${captured.list.json | .items[0].name}. It
// gets the value; where the last part of the path is json, the output of that record, read as JSON. What it
// yields is inserted as text: a text as it is, anything else as JSON, several values one a line. A } ends the
// reference also in the program. A key with a | in its name wins.
//
// Two forms are fixed by loops that exist. :default= does not go with :shell, because it would not be clear whether the
// default is quoted; and in ${x.y:shell?}, without another filter, :shell belongs to the path.
//
// Values are inserted as they are: Expand does not look for references in them. An error is an [*Error].
func Expand(text string, s *Scope) (string, error) {
	same := func(t string) string { return t }
	return ExpandEach(text, s, same, same)
}

// ExpandEach is [Expand] with every piece of the text passed through around, and every value through inserted.
func ExpandEach(text string, s *Scope, around, inserted func(string) string) (string, error) {
	if !strings.Contains(text, "${") {
		return around(text), nil
	}
	var out strings.Builder
	start := 0 // of what was not written yet
	for t := (tokens{text: text}); t.next(); {
		out.WriteString(around(text[start:t.start]))
		start = t.end
		if t.escape {
			out.WriteString(around("${"))
			continue
		}
		v, err := s.expandReference(text[t.start:t.end])
		if err != nil {
			return "", err
		}
		out.WriteString(inserted(v))
	}
	out.WriteString(around(text[start:]))
	return out.String(), nil
}

// ExpandValue returns a copy of v in which every string is expanded; keys and other values stay as they are.
func ExpandValue(v any, s *Scope) (any, error) {
	switch v := v.(type) {
	case string:
		return Expand(v, s)
	case []any:
		l := make([]any, len(v))
		for i, e := range v {
			x, err := ExpandValue(e, s)
			if err != nil {
				return nil, err
			}
			l[i] = x
		}
		return l, nil
	case *value.Map:
		m := &value.Map{}
		for _, k := range v.Keys() {
			x, err := ExpandValue(v.Value(k), s)
			if err != nil {
				return nil, err
			}
			m.Set(k, x)
		}
		return m, nil
	}
	return v, nil
}

// tokens finds the escapes and references of a text, from left to right.
type tokens struct {
	text       string
	start, end int  // of the token found last
	escape     bool // it is the three characters $${
	open       bool // no } follows any more: the rest holds escapes only
}

func (t *tokens) next() bool {
	for i := t.end; ; {
		j := strings.Index(t.text[i:], "${")
		if j < 0 {
			return false
		}
		j += i
		if j > t.end && t.text[j-1] == '$' {
			t.start, t.end, t.escape = j-1, j+2, true
			return true
		}
		if !t.open {
			k := strings.IndexByte(t.text[j:], '}')
			if k > 2 { // ${} is text
				t.start, t.end, t.escape = j, j+k+1, false
				return true
			}
			t.open = k < 0
		}
		i = j + 2
	}
}

func (s *Scope) expandReference(ref string) (string, error) {
	r := parseReference(ref)
	if r.problem != "" {
		return "", &TemplateError{Ref: ref, Message: r.problem}
	}
	namespace, path, dotted := strings.Cut(r.name, ".")
	if !dotted && namespace != "messages" && namespace != "memory" {
		return "", &TemplateError{Ref: ref, Message: ref + " is not a template; for bash write $" + ref}
	}
	v, problem := s.resolve(namespace, path)
	if r.program != "" {
		if old := parsePlain(ref, ref[2:len(ref)-1]); s.has(old) { // a key with a | in its name
			r = old
			namespace, path, _ = strings.Cut(r.name, ".")
			v, problem = s.resolve(namespace, path)
		} else {
			var err error
			if v, problem, err = s.piped(namespace, path, r.program); err != nil {
				return "", &TemplateError{Ref: ref, Message: err.Error(), Err: err}
			} else if problem == "" {
				return r.render(v), nil
			}
		}
	}
	if problem == "" && s.isData(r.filters) {
		var err error
		if v, err = s.data(namespace, path, v); err != nil {
			return "", &TemplateError{Ref: ref, Message: err.Error(), Err: err}
		}
	}
	if problem != "" && s.MadeUp && (r.program != "" || strings.Contains(path, ".headers.")) {
		return r.render("[simulated " + r.name + "]"), nil
	}
	if problem != "" {
		switch r.suffix {
		case suffixDefault:
			return unescape(r.fallback), nil
		case suffixNullable:
			return "", nil
		}
		if !slices.Contains(Namespaces(), namespace) {
			return "", &TemplateError{Ref: ref, Message: UnknownReference(ref, namespace)}
		}
		return "", &TemplateError{Ref: ref, Message: problem + unknownFilter(path)}
	}
	return r.render(v), nil
}

// resolve looks a reference up. problem is why there is no value.
func (s *Scope) resolve(namespace, path string) (v any, problem string) {
	switch namespace {
	case "context":
		return walk(namespace, s.Context, path)
	case "captured":
		return walk(namespace, s.Captured, path)
	case "param":
		return walk(namespace, s.Param, path)
	case "item":
		if s.Item == nil {
			return nil, "There is no item here: it is known in the action of a state with for_each"
		}
		return walk(namespace, s.Item, path)
	case "prev":
		if s.Prev == nil {
			return nil, "No previous state result available"
		}
		return walk(namespace, s.Prev, path)
	case "event":
		if s.Event == nil {
			return nil, "No event was received"
		}
		return walk(namespace, s.Event, path)
	case "result":
		if s.Result == nil {
			return nil, "No evaluation result available"
		}
		return walk(namespace, s.Result, path)
	case "state":
		switch path {
		case "name":
			return s.State, ""
		case "iteration":
			return s.Step, ""
		case "visits":
			return s.Visited(), ""
		}
		return nil, "Unknown state property: " + path
	case "run":
		switch path {
		case "id":
			return s.RunID, ""
		case "attempt":
			return s.RunAttempt, ""
		case "scheduled_at":
			if s.ScheduledAt == "" {
				return nil, "No schedule started this run; ${run.scheduled_at?} is empty then"
			}
			return s.ScheduledAt, ""
		}
		return nil, "Unknown run property: " + path
	case "loop":
		switch path {
		case "name":
			return s.Loop, ""
		case "started_at":
			return s.StartedAt, ""
		case "elapsed_ms":
			return s.ElapsedMS, ""
		case "elapsed":
			return Elapsed(s.ElapsedMS), ""
		}
		return nil, "Unknown loop property: " + path
	case "env":
		if s.Getenv != nil {
			if v, ok := s.Getenv(path); ok {
				return v, ""
			}
		}
		return nil, "Environment variable '" + path + "' not set"
	case "secret":
		if v, ok := s.secret(path); ok {
			return v, ""
		}
		return nil, "Secret '" + path + "' is not set: name it under secrets in the loop, and say in config.yaml or " +
			"the environment what it is"
	case "messages":
		return s.messages(path)
	case "memory":
		switch {
		case s.Memory == nil:
			return nil, "This loop has no memory: give it one on its top level (memory: {})"
		case path != "":
			return nil, "Unknown memory property: '" + path + "'; write ${memory}"
		}
		return s.Memory.Text(), ""
	}
	return nil, "Unknown namespace: " + namespace
}

func (s *Scope) secret(name string) (string, bool) {
	if s.Secret == nil {
		return "***(" + name + ")", true
	}
	return s.Secret(name)
}

// Visited is how often the state was entered.
func (s *Scope) Visited() int {
	if s.Visits == nil {
		return 1
	}
	return s.Visits()
}

func walk(namespace string, m *value.Map, path string) (any, string) {
	for rest := path; ; {
		key, after, more := strings.Cut(rest, ".")
		v, ok := m.Get(key)
		if ok && !more {
			return v, ""
		}
		if ok {
			m, ok = v.(*value.Map)
			if !ok { // name what could not be entered, not what it lacks
				_, after, _ = strings.Cut(after, ".")
				if after != "" {
					after = "." + after
				}
				return nil, notFound(namespace, strings.TrimSuffix(path, after))
			}
			rest = after
			continue
		}
		if more {
			path = strings.TrimSuffix(path, "."+after)
		}
		return nil, notFound(namespace, path)
	}
}

func notFound(namespace, path string) string {
	return fmt.Sprintf("Path '%s' not found in %s", path, namespace)
}

func (s *Scope) messages(path string) (any, string) {
	switch path {
	case "", "output":
		return strings.Join(s.Messages, "\n"), ""
	case "summary":
		return "", ""
	}
	if n, ok := strings.CutPrefix(path, "last("); ok {
		if n, ok := strings.CutSuffix(n, ")"); ok && allDigits(n) {
			count, err := strconv.Atoi(n)
			if err != nil || count == 0 || count > len(s.Messages) { // 0 means all
				count = len(s.Messages)
			}
			return strings.Join(s.Messages[len(s.Messages)-count:], "\n"), ""
		}
	}
	return nil, "Unknown messages property: '" + path + "'"
}

// allDigits reports whether s is one ASCII digit or several, and nothing else.
func allDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// Elapsed returns a duration as ${loop.elapsed} shows it: 999ms, 59s, 1m, 122m 5s.
func Elapsed(ms int64) string {
	seconds := ms / 1000
	switch {
	case ms < 1000:
		return fmt.Sprintf("%dms", ms)
	case seconds < 60:
		return fmt.Sprintf("%ds", seconds)
	case seconds%60 == 0:
		return fmt.Sprintf("%dm", seconds/60)
	}
	return fmt.Sprintf("%dm %ds", seconds/60, seconds%60)
}
