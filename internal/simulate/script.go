package simulate

import (
	"fmt"
	"strings"

	"loops/fsm"
	"loops/internal/humanize"
)

// A ScriptError is a mistake in a script of verdicts.
type ScriptError struct {
	Line int // from 1
	Text string
}

func (e *ScriptError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Text) }

// A Script is a list of verdicts for the states of a run, in the order in which they are entered.
type Script struct {
	lines []scriptLine
	last  int // line number of the end
}

type scriptLine struct {
	number  int
	state   string // "" = whichever state is entered
	verdict string
}

// ParseScript reads a script: a line for each entry of a state that acts or evaluates, with STATE VERDICT or
// VERDICT. Empty lines and those that begin with # do not count. loops are the loops whose states it can be
// about. All mistakes are returned.
func ParseScript(text string, loops []*fsm.Loop) (*Script, []*ScriptError) {
	states, names := map[string]bool{}, []string{}
	known := map[string]bool{"yes": true, "no": true, "error": true}
	for _, l := range loops {
		for _, name := range l.Order {
			st := l.States[name]
			if st == nil {
				continue
			}
			if !states[name] {
				states[name], names = true, append(names, name)
			}
			for _, v := range declared(st) {
				known[v] = true
			}
		}
	}
	s := &Script{}
	var wrong []*ScriptError
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		s.last++
		mistake := func(format string, args ...any) {
			wrong = append(wrong, &ScriptError{s.last, fmt.Sprintf(format, args...)})
		}
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		l := scriptLine{number: s.last, verdict: line}
		if state, verdict := cutState(line, states); verdict != "" {
			l.state, l.verdict = state, verdict
		} else if first, rest, two := strings.Cut(line, " "); two && !known[line] {
			if strings.Contains(strings.TrimSpace(rest), " ") {
				mistake("expected STATE VERDICT or VERDICT, and not %s", humanize.Quote(line))
			} else {
				mistake("there is no state %s%s", humanize.Quote(first), humanize.DidYouMean(first, names))
			}
			continue
		} else if !two && states[line] && !known[line] {
			mistake("%s is a state, and its verdict is missing: expected STATE VERDICT or VERDICT",
				humanize.Quote(line))
			continue
		}
		s.lines = append(s.lines, l)
	}
	if len(s.lines) == 0 && len(wrong) == 0 {
		wrong = append(wrong,
			&ScriptError{max(1, s.last), "the script has no verdicts: expected a line STATE VERDICT or VERDICT for " +
				"each state that is entered"})
	}
	return s, wrong
}

// cutState takes the name of a state off a line. The longest name wins, for names may have spaces.
func cutState(line string, states map[string]bool) (state, verdict string) {
	for i, r := range line {
		if (r == ' ' || r == '\t') && states[line[:i]] {
			state, verdict = line[:i], strings.TrimSpace(line[i:])
		}
	}
	return state, verdict
}

// Replies returns the verdicts of the script from the beginning.
func (s *Script) Replies() Replies { return &scripted{script: s} }

type scripted struct {
	script *Script
	used   int
}

func (s *scripted) next(st *fsm.State) (reply, error) {
	if s.used == len(s.script.lines) {
		return reply{}, &ScriptError{
			s.script.last,
			fmt.Sprintf("the script ends here, and the run is in the state %s, which needs a verdict",
				humanize.Quote(st.Name)),
		}
	}
	l := s.script.lines[s.used]
	s.used++
	if l.state != "" && l.state != st.Name {
		return reply{}, &ScriptError{l.number, fmt.Sprintf("this is a verdict for the state %s, and the run is in %s",
			humanize.Quote(l.state), humanize.Quote(st.Name))}
	}
	if wrong := unknownVerdict(st, l.verdict); wrong != "" {
		return reply{}, &ScriptError{l.number, wrong}
	}
	return reply{codeFor(st, l.verdict), l.verdict}, nil
}

func (s *scripted) rest() error {
	if s.used == len(s.script.lines) {
		return nil
	}
	return &ScriptError{s.script.lines[s.used].number, "the run has ended before this line"}
}
