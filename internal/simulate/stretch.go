package simulate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"loops/engine"
	"loops/fsm"
	"loops/persistence"
)

// A stretch is an action with its tries, or all that a state does side by side. The files before and after it
// are known, and not those in between.
type stretch struct {
	key           string   // the address of its state
	before, after string   // names of trees of git; "" = not known
	prev          *stretch // nil = it is the first one
	entries       int
	answered      int // of them, since the replay came into it
}

// stretches divides what the run did by the files that were kept.
func (r *recordedAnswers) stretches(files []engine.StepFiles) {
	inside := map[string]bool{} // items that have states, which acted in their place
	for _, e := range r.all {
		a, _ := fsm.ParseAddress(e.place.at)
		for i := range len(a.Hops) - 1 {
			if a.Hops[i].Branch != "" {
				inside[fsm.Address{Hops: a.Hops[:i+1]}.String()] = true
			}
		}
	}
	var last *stretch
	for _, e := range r.all {
		if !e.acted || inside[e.place.at] {
			continue
		}
		if key := stretchKey(e.place.at); last == nil || last.key != key {
			last = &stretch{key: key, prev: last, before: e.before}
			r.parts = append(r.parts, last)
		}
		last.after = e.after
		last.entries++
		e.stretch = last
	}
	tree := ""
	for _, s := range r.parts {
		if len(files) == 0 && tree == "" {
			break
		}
		s.before, s.after = tree, tree
		at, ok := fsm.ParseAddress(s.key)
		first := -1
		for i, f := range files {
			if of, is := fsm.ParseAddress(f.Step); ok && is && at.Contains(of) {
				first = i
				break
			}
		}
		if first < 0 {
			continue // it changed nothing
		}
		if f := files[first]; !f.After {
			s.before = f.Tree
		} else if f.Began != "" {
			s.before = f.Began
		} else if first > 0 {
			s.before = files[first-1].Tree
		}
		for files = files[first:]; len(files) > 0; files = files[1:] {
			if of, is := fsm.ParseAddress(files[0].Step); !is || !at.Contains(of) {
				break
			}
			tree = files[0].Tree
		}
		s.after = tree
	}
}

// stretchKey returns the address of the outermost state that runs things side by side on the way to an address,
// or else the address.
func stretchKey(at string) string {
	a, ok := fsm.ParseAddress(at)
	if !ok {
		return at
	}
	for i := range a.Hops {
		if a.Hops[i].Branch != "" {
			a.Hops = a.Hops[:i+1]
			a.Hops[i].Branch = ""
			break
		}
	}
	return a.String()
}

// fits reports whether the files are those that the run had before an action. Files that are not known fit.
func (r *replayAnswers) fits(e *recordedEntry) bool {
	s := e.stretch
	return r.in == s || !r.known(s) || s.before == r.tree || s.prev == r.in // others may have changed files in between
}

// known reports whether it can be compared what files there were before a stretch.
func (r *replayAnswers) known(s *stretch) bool { return s.before != "" && r.tree != "" }

// answer takes an action as done.
func (r *replayAnswers) answer(p *place, e *recordedEntry) fsm.Result {
	e.used = true
	r.acting[p.at] = e
	s := e.stretch
	if r.in != s {
		r.in, s.answered = s, 0
	}
	if s.answered++; s.answered >= s.entries {
		r.tree = s.after
	} else {
		r.tree = ""
	}
	return e.result
}

// otherFiles is the miss of an action that the run did with other files.
func (r *replayAnswers) otherFiles(where string, e *recordedEntry) *MissError {
	miss := &MissError{Text: where + ": the record has this action only with other files before it"}
	if r.diff != nil {
		miss.Lines = r.diff(e.stretch.before, r.tree)
	}
	return miss
}

// mostDiff is how many lines of a difference of files are shown.
const mostDiff = 30

// filesDiff returns what shows how files of a run differ: - is on record, + is what there would be.
func filesDiff(ctx context.Context, e *engine.Engine, run persistence.Run) func(from, to string) []string {
	return func(from, to string) []string {
		d, err := e.FilesDiff(ctx, run, from, to)
		if err != nil {
			return []string{fmt.Sprintf("%s, and not %s", short12(from), short12(to))}
		}
		lines := strings.Split(strings.TrimRight(d.Text, "\n"), "\n")
		lines = slices.DeleteFunc(lines, func(line string) bool {
			return strings.HasPrefix(line, "index ") || strings.HasPrefix(line, "diff --git ")
		})
		if len(lines) > mostDiff {
			lines = append(lines[:mostDiff], fmt.Sprintf("… %d more lines", len(lines)-mostDiff))
		}
		return lines
	}
}
