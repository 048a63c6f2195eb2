package agent

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"

	"loops/fsm/pyregexp"
)

// A Spec is a host that a user declares: any program that takes a prompt and prints an answer.
type Spec struct {
	Name    string
	Like    string // a host to take everything from but Name, Program, Env and Stop; "" = none
	Program string // looked up in PATH

	// Args are groups of arguments, each left out as a whole where a placeholder in it has nothing to stand for:
	// {prompt}, {model}, {agent}, {tools} (with commas), {effort}, {session}, {schema} (the text), {schema_file},
	// {max_cost} (USD). {skip} alone stands for SkipArgs, which come first where it occurs nowhere. A prompt that is in
	// no argument goes to standard input.
	Args      [][]string
	JudgeArgs [][]string // Args where one answer is wanted; nil = Args
	SkipArgs  []string   // added where tools are used without asking
	Env       map[string]string
	Stop      string // signal it ends best at; "" = TERM

	Format Format // "" = text
	Fields Fields
	Counts Counts // "" = CountsTotal
	// CacheInInput says that what was read from the cache is counted as input, too.
	CacheInInput bool
}

// A Format is how a program prints its answer.
type Format string

// The formats.
const (
	FormatText  Format = "text"  // all of it is the answer
	FormatJSON  Format = "json"  // one JSON object
	FormatJSONL Format = "jsonl" // one JSON object a line
)

// Counts says what the numbers of used tokens are of.
type Counts string

// The counts.
const (
	CountsTotal   Counts = "total"   // of the prompt; the last number holds
	CountsEach    Counts = "each"    // of one message; they are added up
	CountsSession Counts = "session" // of the session so far; the last number holds
)

// Fields say where things are in what a program prints as JSON. The zero Field is nowhere.
type Fields struct {
	// output of the prompt; several texts of one object are parted by a blank line
	Text                                 Field
	Final                                Field // the final message; nowhere = the last Text
	Answer                               Field // what a judge answered, an object or the text of one
	Session, Model, Cost                 Field
	Input, Output, CacheRead, CacheWrite Field // tokens
	Error                                Field // a text, or an object with a message; false, 0 and empty mean none
	Status                               Field // of HTTP
	// of the object after which the program only exits; nowhere = it exits with 0
	Done Field
}

// A Field is a place in a JSON object.
type Field struct {
	Path string            // names parted by dots; * is every element of a list; "" = the object itself
	When map[string]string // paths and the texts that must be there
}

func (f Field) zero() bool { return f.Path == "" && len(f.When) == 0 }

// each calls do with the fields by the names that people give them.
func (f *Fields) each(do func(name string, f Field)) {
	for _, x := range []struct {
		name string
		f    Field
	}{
		{"text", f.Text},
		{"final", f.Final},
		{"answer", f.Answer},
		{"session", f.Session},
		{"model", f.Model},
		{"cost", f.Cost},
		{"usage.input", f.Input},
		{"usage.output", f.Output},
		{"usage.cache_read", f.CacheRead},
		{"usage.cache_write", f.CacheWrite},
		{"error", f.Error},
		{"status", f.Status},
		{"done", f.Done},
	} {
		do(x.name, x.f)
	}
}

// A Mistake is what is wrong with one key of a Spec.
type Mistake struct {
	Key  string // as in a config file, parted by dots
	Text string
}

// Mistakes is an error of all mistakes of a Spec.
type Mistakes []Mistake

func (m Mistakes) Error() string {
	var texts []string
	for _, x := range m {
		texts = append(texts, x.Key+": "+x.Text)
	}
	return strings.Join(texts, "; ")
}

// signals are the names a [Spec] may give to Stop.
var signals = map[string]syscall.Signal{
	"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT,
}

var (
	placeholder  = pyregexp.Lazy(`\{([a-z_]+)\}`)
	placeholders = []string{
		"prompt", "model", "agent", "tools", "effort", "session", "schema", "schema_file",
		"max_cost",
	}
	hostName = pyregexp.Lazy(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)
	envName  = pyregexp.Lazy(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// New makes a host of a Spec. The error is Mistakes.
func New(s Spec) (*CLI, error) {
	var wrong Mistakes
	say := func(key, format string, args ...any) {
		wrong = append(wrong, Mistake{key, fmt.Sprintf(format, args...)})
	}
	s.checkProgram(say)
	if s.Like != "" {
		s.checkLike(say)
	} else {
		s.checkArgs(say)
		s.checkFormat(say)
	}
	if wrong != nil {
		return nil, wrong
	}
	if s.Like != "" {
		return s.like(Find(s.Like)), nil
	}
	return s.host(), nil
}

func (s *Spec) checkProgram(say func(key, format string, args ...any)) {
	if !hostName().MatchString(s.Name) {
		say("", "a host is named by letters, digits, dots, dashes and underscores, not %q", s.Name)
	}
	if s.Program == "" && s.Like == "" {
		say("program", "no program is named, such as program: my-agent")
	}
	if strings.ContainsAny(s.Program, "\x00\n") {
		say("program", "%.60q is no name of a program", s.Program)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if !envName().MatchString(name) {
			say("env."+name, "%.60q is no name of an environment variable", name)
		}
		checkPlaceholders("env."+name, s.Env[name], say)
		if strings.Contains(s.Env[name], "\x00") {
			say("env."+name, "the value has a NUL in it")
		}
	}
	if s.Stop != "" && signals[s.Stop] == 0 {
		say("stop", "%.60q is none of the signals TERM, INT, HUP and QUIT", s.Stop)
	}
}

func (s *Spec) checkLike(say func(key, format string, args ...any)) {
	if Find(s.Like) == nil {
		var names []string
		for _, h := range hosts {
			names = append(names, h.Name)
		}
		say("like", "%.60q is none of the hosts %s", s.Like, strings.Join(names, ", "))
		return
	}
	for _, x := range []struct {
		key string
		set bool
	}{
		{"args", s.Args != nil},
		{"judge_args", s.JudgeArgs != nil},
		{"skip_args", s.SkipArgs != nil},
		{"format", s.Format != ""},
		{"usage_is", s.Counts != ""},
		{"cache_in_input", s.CacheInInput},
	} {
		if x.set {
			say(x.key, "the host says it is like %s, so %[1]s decides this: leave out one of the two", s.Like)
		}
	}
	s.Fields.each(func(name string, f Field) {
		if !f.zero() {
			say(name, "the host says it is like %s, so %[1]s decides this: leave out one of the two", s.Like)
		}
	})
}

func (s *Spec) checkArgs(say func(key, format string, args ...any)) {
	for _, list := range []struct {
		key  string
		args [][]string
	}{{"args", s.Args}, {"judge_args", s.JudgeArgs}} {
		for i, group := range list.args {
			key := fmt.Sprintf("%s.%d", list.key, i)
			for _, word := range group {
				if word == skipWord && len(group) == 1 {
					continue
				}
				checkPlaceholders(key, word, say)
				if strings.Contains(word, "\x00") {
					say(key, "the argument has a NUL in it")
				}
			}
		}
	}
}

// skipWord stands for SkipArgs in Args.
const skipWord = "{skip}"

func checkPlaceholders(key, text string, say func(key, format string, args ...any)) {
	for _, m := range placeholder().FindAllStringSubmatch(text, -1) {
		switch {
		case m[1] == "skip":
			say(key, "{skip} is a word of its own among args")
		case m[1] == "prompt" && strings.HasPrefix(key, "env."):
			say(key, "a prompt is handed over by standard input or in an argument")
		case !slices.Contains(placeholders, m[1]):
			say(key, "{%s} is none of the placeholders {%s}", m[1], strings.Join(placeholders, "}, {"))
		}
	}
}

func (s *Spec) checkFormat(say func(key, format string, args ...any)) {
	switch s.Format {
	case "", FormatText, FormatJSON, FormatJSONL:
	default:
		say("format", "%.60q is none of text, json and jsonl", string(s.Format))
		return
	}
	switch s.Counts {
	case "", CountsTotal, CountsEach, CountsSession:
	default:
		say("usage_is", "%.60q is none of total, each and session", string(s.Counts))
	}
	text := cmp.Or(s.Format, FormatText) == FormatText
	s.Fields.each(func(name string, f Field) {
		switch {
		case f.zero():
			return
		case text:
			say(name, "a program whose format is text prints no fields: say format: json or jsonl")
			return
		case name == "done" && s.Format == FormatJSON:
			say(name, "with format: json the one object is the end")
		case name != "done" && f.Path == "" && name != "answer":
			say(name, "it has conditions but no path")
		}
		if f.Path != "" && !goodPath(f.Path) {
			say(name, "%.60q is no path: names are parted by dots, and * is every element of a list", f.Path)
		}
		for _, path := range slices.Sorted(maps.Keys(f.When)) {
			if !goodPath(path) {
				say(name, "%.60q is no path: names are parted by dots, and * is every element of a list", path)
			}
		}
	})
	if !text && s.Fields.Text.zero() && s.Fields.Final.zero() {
		say("text", "where is the text? name its path, such as text: message.content")
	}
}

func goodPath(path string) bool {
	return !slices.Contains(strings.Split(path, "."), "") && !strings.ContainsAny(path, " []")
}
