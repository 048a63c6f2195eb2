package lint

import (
	"slices"
	"strings"

	"loops/fsm"
	"loops/internal/humanize"
)

// inputWords are context keys that hold what users typed, in loops that do not declare their inputs.
var inputWords = []string{"input", "goal", "description", "task", "prompt", "query", "topic"}

// pastes says whose text a template inserts.
type pastes struct {
	input map[string]bool // context keys with the input of a run
	bound map[string]bool // context keys that another loop binds
	made  map[string]bool // captures there are
	agent map[string]bool // those of text that no script wrote
}

func (c *checker) newPastes() *pastes {
	p := &pastes{input: map[string]bool{}, bound: map[string]bool{}, made: map[string]bool{}, agent: map[string]bool{}}
	for _, w := range inputWords {
		p.input[w] = true
	}
	if c.l.InputKey != "" {
		p.input[c.l.InputKey] = true
	}
	for _, k := range c.l.RequiredInputs {
		p.input[k] = true
	}
	delete(p.input, "run_dir") // chosen by this program
	for _, k := range c.l.Parameters {
		switch k.Type {
		case "string", "path":
			p.bound[k.Name] = k.Name != "run_dir"
		default:
			delete(p.input, k.Name) // its values are checked
		}
	}
	for _, s := range c.states {
		if s.Capture == "" {
			continue
		}
		p.made[s.Capture] = true
		if s.Loop != "" || isPrompt(s) || s.ActionType == "mcp_tool" || s.Call != nil {
			p.agent[s.Capture] = true
		}
	}
	return p
}

// pasted looks at one template in a script.
func (c *checker) pasted(p *pastes, s *fsm.State, m mark) {
	name, field, _ := strings.Cut(m.ref.Path, ".")
	at := spot{m.offset, []string{"states", s.Name, "action"}}
	if m.program != nil {
		c.pastedIntoProgram(p, s, m)
		return
	}
	if slices.Contains(m.ref.Filters, "shell") {
		if (m.quoting == double || m.quoting == single) && !m.inline {
			quotes := `"…"`
			if m.quoting == single {
				quotes = "'…'"
			}
			c.warnf("quoted-filter", at,
				":shell makes a word of its own with the quotation marks it needs, and inside %s those become part "+
					"of the text; take %s out of the quotes", quotes, humanize.Clip(m.ref.Text))
		}
		return
	}
	instead := func(kind, name string) string {
		v := variable(kind, name)
		switch {
		case m.quoting == heredoc:
			return "$" + v + ", or quote the delimiter of the here-document, as in <<'EOF'"
		case guarded(*m.ref): // :shell does not go with a default
			return "\"$" + v + "\""
		}
		return humanize.Clip("${"+m.ref.Namespace+"."+m.ref.Path) + ":shell} without quotes around it, or \"$" + v +
			"\""
	}
	switch m.ref.Namespace {
	case "context":
		if m.quoting == arith || m.quoting == single || m.quoting == literal || m.quoting == comment {
			return
		}
		if !p.input[name] && (!p.bound[name] || m.quoting != bare || m.command) {
			return
		}
		c.gather("unquoted-input", "context\x00"+name, s.Name, at,
			"%s is pasted into the script, where quotation marks, $ and ; of its text become code; write %s",
			humanize.Clip(m.ref.Text), instead("CONTEXT", name))
	case "event":
		if m.quoting == arith || m.quoting == single || m.quoting == literal || m.quoting == comment {
			return
		}
		c.gather("unquoted-input", "event\x00"+name, s.Name, at,
			"%s came from outside and is pasted into the script, where quotation marks, $ and ; of its text become "+
				"code; write %s",
			humanize.Clip(m.ref.Text), instead("EVENT", name))
	case "memory":
		c.gather("unquoted-input", "\x00memory", s.Name, at,
			"%s is what earlier runs left and is pasted into the script, where quotation marks, $ and ; of its text "+
				"become code; write ${memory:shell}",
			humanize.Clip(m.ref.Text))
	case "captured":
		if field != "output" && field != "stderr" || !p.made[name] {
			return
		}
		switch m.quoting {
		case bare:
			if m.command {
				return // a command that a state made
			}
			c.gather("raw-capture", name, s.Name, at, "%s is pasted into the script as code: blanks split it, and ; "+
				"or $ in it are obeyed; write %s", humanize.Clip(m.ref.Text), instead("CAPTURED", name))
		case double, heredoc, single:
			if p.agent[name] && !m.inline {
				c.gather("raw-capture", name, s.Name, at, "%s is text no script wrote, and quotation marks, $ and ` "+
					"in it become code here; write %s", humanize.Clip(m.ref.Text), instead("CAPTURED", name))
			}
		}
	case "prev":
		if m.quoting == bare && m.ref.Path == "output" && !m.command {
			c.gather("raw-capture", "\x00prev", s.Name, at,
				"%s is pasted into the script as code: blanks split it, and ; or $ in it are obeyed; write %s",
				humanize.Clip(m.ref.Text), instead("PREV", "output"))
		}
	}
}

// pastedIntoProgram looks at one template in a here-document that an interpreter reads as its program. Quoting
// the delimiter changes nothing there: the text is a part of the program. What bash may have between double
// quotes passes here, too.
func (c *checker) pastedIntoProgram(p *pastes, s *fsm.State, m mark) {
	name, field, _ := strings.Cut(m.ref.Path, ".")
	at := spot{m.offset, []string{"states", s.Name, "action"}}
	read := func(kind string) string { return strings.Replace(m.program.variable, "NAME", variable(kind, name), 1) }
	tell := func(rule, key, instead string) {
		c.gather(rule, key, s.Name, at, "%s is pasted into a program of %s, where quotation marks, backslashes and "+
			"line ends of its text become code; write %s",
			humanize.Clip(m.ref.Text), m.program.name, instead)
	}
	switch m.ref.Namespace {
	case "context":
		if p.input[name] {
			tell("unquoted-input", "context\x00"+name, read("CONTEXT"))
		}
	case "event":
		tell("unquoted-input", "event\x00"+name, read("EVENT"))
	case "captured":
		if (field == "output" || field == "stderr") && p.agent[name] {
			tell("raw-capture", name, read("CAPTURED"))
		}
	}
}

// variable is the name under which an action finds a value in its environment.
func variable(kind, name string) string {
	return "LOOPS_" + kind + "_" + fsm.VarName(name)
}
