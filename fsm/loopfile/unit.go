package loopfile

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	"loops/fsm"
)

// A unit is one loop file on its way to a loop. The second step looks at other loops only as far as the first took
// them, so loops may run each other in circles.
type unit struct {
	build func() // reads and merges; sets err, or dec, made and broken
	check func() // looks at the loops that states run; sets loop and problems

	path     string
	err      error
	dec      *decoder
	made     *fsm.Loop // as far as it came
	broken   bool      // made has errors
	loop     *fsm.Loop
	problems []fsm.Problem
}

func newUnit(l *Loader, path string) *unit {
	u := &unit{path: path}
	u.build = sync.OnceFunc(func() {
		src, err := l.source(path)
		if err != nil {
			u.err = err
			return
		}
		u.dec = newDecoder(src, l)
		u.made = u.dec.build()
		u.broken = u.dec.failed
	})
	u.check = sync.OnceFunc(func() {
		if u.build(); u.err == nil {
			u.dec.children()
			u.loop, u.problems = u.dec.finish(u.made)
		}
	})
	return u
}

// Parse reads a loop from its text, without any other file: one that says from or import has an error. The name
// stands in for the file in positions and in [fsm.Loop.File], and types are the action types besides those of
// the language.
//
// The result is that of [Loader.Load]. Parse does no I/O except to ask whether an action begins with the path of a
// program. It takes time and memory in proportion to the text, whatever the text is.
func Parse(name string, data []byte, types Types) (*fsm.Loop, []fsm.Problem) {
	d := newDecoder(newSource(name, nil, data), nil)
	d.types = types
	return d.finish(d.build())
}

// build merges everything the loop is made of and reads it.
func (d *decoder) build() *fsm.Loop {
	d.include(d.main, "", fsm.Pos{})
	if d.main.root == nil {
		return nil
	}
	root := d.assemble()
	d.merged = root
	l := d.loop(root)
	p := &places{origins: d.origins, root: root}
	l.Place = p.place
	return l
}

// finish returns the loop, unless it has errors, and everything there is to say about it.
func (d *decoder) finish(l *fsm.Loop) (*fsm.Loop, []fsm.Problem) {
	for _, sev := range []fsm.Severity{fsm.SeverityError, fsm.SeverityWarning} {
		if more := d.count[sev] - maxProblems; more > 0 {
			last := fsm.Pos{File: d.main.name, Line: 1 + bytes.Count(d.main.data, []byte("\n")), Col: 1}
			d.problems = append(d.problems,
				fsm.Problem{
					Pos: last, Severity: sev, Rule: "too-many",
					Message: fmt.Sprintf("%d more like these are not shown (%ss)", more, sev),
				})
		}
	}
	d.tellWhy(l)
	slices.SortStableFunc(d.problems, byPosition)
	if d.failed {
		return nil, d.problems
	}
	l.SHA256 = d.hash()
	return l, d.problems
}

// tellWhy adds to each problem in another file how this loop comes by it.
func (d *decoder) tellWhy(l *fsm.Loop) {
	foreign := func(p fsm.Problem) bool { return p.Pos.File != d.main.name && !strings.HasSuffix(p.Message, needsFile) }
	if l == nil || !slices.ContainsFunc(d.problems, foreign) {
		return
	}
	states := make(map[string]*fsm.State, len(l.States))
	for name, s := range l.States {
		states[clip(name)] = s
	}
	for i := range d.problems {
		p := &d.problems[i]
		if !foreign(*p) {
			continue
		}
		how := d.via[p.Pos.File]
		if s := stateIn(p.Path, states); s != nil && s.Pos.File != p.Pos.File && strings.HasPrefix(how, imported) {
			how = "; used by the state " + quote(s.Name) + " at " + d.shown(s.Pos)
		}
		if strings.HasSuffix(p.Message, "?") {
			how = " (" + strings.TrimPrefix(how, "; ") + ")"
		}
		p.Message += how
	}
}

// stateIn returns the state that a path leads into. Its name may hold dots too.
func stateIn(path string, states map[string]*fsm.State) *fsm.State {
	rest, ok := strings.CutPrefix(path, "states.")
	for i := 0; ok && i <= len(rest); i++ {
		if i == len(rest) || rest[i] == '.' {
			if s := states[rest[:i]]; s != nil {
				return s
			}
		}
	}
	return nil
}

// hash is that of the text of a loop in one file, which recorded runs know it by, or else covers the texts of all
// files in the order in which they were needed.
func (d *decoder) hash() string {
	sum := d.main.sum
	if len(d.files) > 1 {
		h := sha256.New()
		for _, f := range d.files {
			h.Write(f.sum[:])
		}
		h.Sum(sum[:0])
	}
	return hex.EncodeToString(sum[:])
}

func byPosition(a, b fsm.Problem) int {
	return cmp.Or(cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line),
		cmp.Compare(a.Pos.Col, b.Pos.Col))
}
