package loopfile

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"loops/fsm"
)

const (
	maxProblems = 500     // of each severity that are reported
	maxHits     = 20      // of one kind that are reported in one text
	maxLine     = 1 << 16 // bytes of a line that is looked at closely to show a place in it
)

// A decoder turns one document into a Loop and collects what is wrong with it.
type decoder struct {
	origins
	loader *Loader   // nil: there are no other files
	types  Types     // action types besides those of the language
	files  []*source // the loop is made of, main first
	size   int       // of their texts, in bytes

	problems []fsm.Problem
	count    map[fsm.Severity]int // of problems, shown or not
	said     map[saying]bool
	failed   bool // an error is among the problems

	merged   *yaml.Node                     // the document with everything it takes from elsewhere
	partial  bool                           // some of the document could not be read, so what is missing is not known
	open     map[*yaml.Node]bool            // states of which that is so
	via      map[string]string              // how the loop came by each of the other files
	nulled   map[*yaml.Node]*yaml.Node      // nulls that were laid over something
	notices  map[*source]*notice            // keys in use that change nothing, by file
	declared map[*yaml.Node][]fsm.Parameter // of fragments
	noticed  []*notice                      // in the order of their files
	targets  []target                       // every place that names a state
	joins    *fsm.Branches                  // whose branches are read; nil = none
	calls    []call                         // every state that runs a loop
	missing  int                            // files that were not found
	flags    map[string]bool
	aside    string // the state that otherwise names, where states lead there because of it
}

func newDecoder(main *source, l *Loader) *decoder {
	d := &decoder{
		origins: origins{main: main}, loader: l, count: map[fsm.Severity]int{}, said: map[saying]bool{},
		open: map[*yaml.Node]bool{}, via: map[string]string{}, nulled: map[*yaml.Node]*yaml.Node{},
		notices:  map[*source]*notice{},
		declared: map[*yaml.Node][]fsm.Parameter{},
	}
	if l != nil {
		d.types = l.Types
	}
	return d
}

// A saying is a problem that is reported once, whatever it is found in. A mistake in a fragment is found in every
// state that uses it.
type saying struct {
	pos           fsm.Pos
	rule, message string
}

// A target is a place of the file that names a state.
type target struct {
	top  bool // it belongs to the loop, not to a state: there is no current state to stay in
	name string
	pos  fsm.Pos
	path string
}

func (d *decoder) report(sev fsm.Severity, pos fsm.Pos, path, rule, format string, args ...any) {
	d.failed = d.failed || sev == fsm.SeverityError
	if d.count[sev] >= maxProblems {
		d.count[sev]++
		return
	}
	d.add(fsm.Problem{Pos: pos, Severity: sev, Rule: rule, Path: path, Message: fmt.Sprintf(format, args...)})
}

func (d *decoder) add(p fsm.Problem) {
	d.failed = d.failed || p.Severity == fsm.SeverityError
	key := saying{p.Pos, p.Rule, p.Message}
	if d.said[key] {
		return
	}
	if d.count[p.Severity]++; d.count[p.Severity] <= maxProblems {
		d.said[key] = true
		d.problems = append(d.problems, p)
	}
}

func (d *decoder) errorf(pos fsm.Pos, path, rule, format string, args ...any) {
	d.report(fsm.SeverityError, pos, path, rule, format, args...)
}

func (d *decoder) warnf(pos fsm.Pos, path, rule, format string, args ...any) {
	d.report(fsm.SeverityWarning, pos, path, rule, format, args...)
}
