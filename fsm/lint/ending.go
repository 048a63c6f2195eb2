package lint

import (
	"slices"
	"strconv"
	"strings"

	"loops/fsm"
	"loops/fsm/pyregexp"
	"loops/internal/humanize"
)

// A badEnd is an exit code above 1 that a program is known for, which exit_code takes for an error.
type badEnd struct {
	code int    // the one it is known for; 0 = there are many
	when string // it ends so
}

// badEnds are looked up by the name of a program, or by that and its first argument.
var badEnds = map[string]badEnd{
	"make": {2, "when a target fails"}, "gmake": {2, "when a target fails"},
	"grep": {2, unread}, "egrep": {2, unread}, "fgrep": {2, unread}, "zgrep": {2, unread}, "rg": {2, unread},
	"diff": {2, unread}, "cmp": {2, unread}, "ls": {2, "when a file is missing"}, "shellcheck": {2, unread},
	"terraform plan": {2, changes}, "tofu plan": {2, changes},
	"pytest": {2, "when tests cannot be collected"}, "py.test": {2, "when tests cannot be collected"},
	"mypy": {2, mistaken}, "ruff": {2, mistaken}, "eslint": {2, mistaken}, "prettier": {2, mistaken},
	"rubocop": {2, mistaken},
	"tsc":     {2, "when it finds errors"}, "stylelint": {2, "when it finds problems"},
	"ansible-lint": {2, "when it finds problems"},
	"phpunit":      {2, "when a test raises an error"}, "ansible-playbook": {2, "when a host fails"},
	"cargo test": {101, "when a test fails"}, "cargo build": {101, "when it fails"},
	"cargo check":  {101, "when it fails"},
	"cargo clippy": {101, "when it fails"},
	"pylint":       {0, "for most of what it finds"}, "curl": {0, "when a request fails"},
	"wget": {0, "when a request fails"},
}

const (
	unread   = "when it cannot read a file"
	changes  = "when there are changes (-detailed-exitcode)"
	mistaken = "when it cannot work at all"
)

// exitRule warns of a state that has a route for no and none for an error, and runs a program whose failures
// are errors: the run ends there the first time it fails so. It reports whether it warned.
func (c *checker) exitRule(s *fsm.State) bool {
	if !isShell(s) || s.Next != "" || s.Loop != "" || c.l.Maintain || answerOf(s).by != "exit_code" ||
		!takes(s, "no") || takes(s, "error") {
		return false
	}
	cfg := s.Evaluate
	if cfg == nil {
		cfg = &fsm.Evaluate{}
	}
	yes, no := cfg.ExitCodes()
	for _, cmd := range lastCommands(s.Action) {
		name, end := cmd.program()
		if name == "" || end.code != 0 && (slices.Contains(yes, end.code) || slices.Contains(no, end.code)) {
			continue
		}
		ends, route := "exit codes above 1", "add on_error"
		if end.code != 0 {
			codes := slices.Sorted(slices.Values(append(slices.Clone(no), end.code)))
			ends, route = "exit code "+strconv.Itoa(end.code), "write evaluate: {type: exit_code, no: ["+list(codes)+
				"]}, or add on_error"
		}
		if s.Route != nil {
			route = strings.Replace(route, "on_error", "_error to the route", 1)
		}
		c.warnf("exit-code", spot{cmd.at, []string{"states", s.Name, "action"}},
			"%s ends with %s %s, which is an error and not a no, and the state %s has no route for errors, so the "+
				"run ends there; %s%s",
			name, ends, end.when, humanize.Quote(s.Name), route, c.leftAlone(s))
		return true
	}
	return false
}

func list(codes []int) string {
	words := make([]string, len(codes))
	for i, code := range codes {
		words[i] = strconv.Itoa(code)
	}
	return strings.Join(words, ", ")
}

// A shellCommand is a simple command of a script, outside of all parentheses and quotations.
type shellCommand struct {
	text string // from its first word on; it may end with a part of what follows
	at   int
	by   string // what joins it to the one before: "", |, && or ||
}

// word is the first word of the command.
func (c shellCommand) word() string {
	word, _, _ := strings.Cut(c.text, " ")
	return strings.TrimRight(word, "\t\n\r;|&(){")
}

var (
	stopsAtErrors = pyregexp.Lazy(`(?m)^\s*set\s+-([a-zA-Z]*e|o\s+errexit)`)
	assignment    = pyregexp.Lazy(`^[A-Za-z_]\w*=`)
)

// opens and closes are the words around compound commands.
var (
	opens  = []string{"if", "while", "until", "for", "case", "select", "{"}
	closes = []string{"fi", "done", "esac", "}"}
)

// lastCommands are the commands whose exit codes can be that of the script, as far as that is plain: those of
// its last list, and with set -e those of all others.
func lastCommands(script string) (found []shellCommand) {
	lists := commandLists(script)
	if len(lists) == 0 {
		return nil
	}
	each, pipes := stopsAtErrors().MatchString(script), strings.Contains(script, "pipefail")
	depth := 0
	for i, l := range lists {
		plain := depth == 0
		for _, cmd := range l {
			switch word := cmd.word(); {
			case slices.Contains(opens, word):
				depth, plain = depth+1, false
			case slices.Contains(closes, word):
				depth, plain = max(0, depth-1), false
			case word == "!" || word == "":
				plain = false
			}
		}
		if plain && (each || i == len(lists)-1) {
			found = append(found, deciding(l, pipes)...)
		}
	}
	return found
}

// deciding are the commands of a list whose exit code can be that of the list: its last pipeline, and those
// before it that only && follows.
func deciding(l []shellCommand, pipefail bool) (found []shellCommand) {
	piped := false // its output continues
	for i := len(l) - 1; i >= 0; i-- {
		if !piped || pipefail {
			found = append(found, l[i])
		}
		if l[i].by == "||" {
			break
		}
		piped = l[i].by == "|"
	}
	slices.Reverse(found)
	return found
}

// commandLists are the commands of a script, those that ; or a line end separates in lists of their own.
func commandLists(script string) (lists [][]shellCommand) {
	var list []shellCommand
	by, parted := "", true
	for _, p := range scanAll(script, references(script)).pieces {
		switch {
		case p.op == 0:
			if parted && by == "" && list != nil {
				lists, list = append(lists, list), nil
			}
			list = append(list, shellCommand{script[p.at:], p.at, by})
			by, parted = "", false
		case p.op == '|' || p.op == '&':
			if by += string(p.op); by == "&" {
				parted = true
			}
			switch by {
			case "|&":
				by = "|"
			case "&":
				by = ""
				if strings.HasPrefix(script[p.at:], "&&") {
					by = "&"
				}
			}
		case by == "": // ; or a line end, which joins nothing where an operator is before it
			parted = true
		}
	}
	if list != nil {
		lists = append(lists, list)
	}
	return lists
}

// program returns the program of a command that is known for a bad end, and the end; "" = it has none.
func (c shellCommand) program() (string, badEnd) {
	line, _, _ := strings.Cut(c.text, "\n")
	words := strings.Fields(line)
	for len(words) > 0 {
		switch word := words[0]; {
		case assignment().MatchString(word):
		case slices.Contains([]string{"time", "nice", "exec", "command", "env", "npx", "sudo"}, word):
		case word == "timeout" && len(words) > 1:
			for len(words) > 2 && strings.ContainsAny(words[1][:1], "-0123456789") { // its flags and the time
				words = words[1:]
			}
		case slices.Contains([]string{"uv", "poetry", "pipenv", "pdm", "hatch"}, word) && len(words) > 1 &&
			words[1] == "run":
			words = words[1:]
		case slices.Contains([]string{"python", "python3"}, word) && len(words) > 1 && words[1] == "-m":
			words = words[1:]
		default:
			name := word[strings.LastIndexByte(word, '/')+1:]
			if end, known := badEnds[name]; known {
				return name, end
			}
			for _, arg := range words[1:] {
				if strings.HasPrefix(arg, "-") {
					continue
				}
				if end, known := badEnds[name+" "+arg]; known {
					return name + " " + arg, end
				}
				break
			}
			return "", badEnd{}
		}
		words = words[1:]
	}
	return "", badEnd{}
}
