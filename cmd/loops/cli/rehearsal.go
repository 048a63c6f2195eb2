package cli

import (
	"fmt"
	"io"
	"os"
	"sync"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/phrase"
)

// A rehearsal is a loop that is about to be tried out.
type rehearsal struct {
	project *project.Project
	loop    *fsm.Loop
	values  *value.Map // the context it would begin with
	library fsm.Library
}

// rehearsal finds a loop and the context that run would give it.
func (a *app) rehearsal(name string, input *string, pairs []string, over project.Overrides, quiet bool) (*rehearsal, error) {
	p, err := a.project()
	if err != nil {
		return nil, err
	}
	l, err := engine.Load(p, name, a.warner(p, quiet))
	if err != nil {
		return nil, a.shown(err)
	}
	lib, err := p.Library()
	if err != nil {
		return nil, err
	}
	l, _ = over.Apply(l)
	values, err := engine.Seed(l, input, pairs)
	if err != nil {
		return nil, err
	}
	engine.New(p, a.engineOptions()).Unused(l, pairs, a.warner(p, quiet))
	engine.Fill(values, l, engine.PlannedRunDir(p, l))
	return &rehearsal{p, l, values, &readOnce{lib: lib.Subloops(over, nil), loops: map[[2]string]func() (*fsm.Loop, error){}}}, nil
}

// state returns a state by its name, or says that there is none.
func (r *rehearsal) state(name, see string) (*fsm.State, error) {
	if st := r.loop.States[name]; st != nil {
		return st, nil
	}
	return nil, usageError{fmt.Sprintf("there is no state %s in %s%s", phrase.Quote(name), r.project.Short(r.loop.File), phrase.DidYouMean(name, r.loop.Order)), see}
}

// A readOnce is a library whose files do not change while it is used: nothing is run that could change them.
type readOnce struct {
	lib   fsm.Library
	loops map[[2]string]func() (*fsm.Loop, error) // by name and the file that uses it
}

// Loop implements [fsm.Library].
func (r *readOnce) Loop(name string, from *fsm.Loop) (*fsm.Loop, error) {
	key := [2]string{name, from.File}
	if r.loops[key] == nil {
		r.loops[key] = sync.OnceValues(func() (*fsm.Loop, error) { return r.lib.Loop(name, from) })
	}
	return r.loops[key]()
}

// readGiven reads a file that a flag names; "-" is standard input. It is at most limit bytes long.
func (a *app) readGiven(flag, name string, limit int64) (string, error) {
	from := a.In
	if name != "-" {
		if info, err := os.Stat(a.at(name)); err == nil && info.IsDir() {
			return "", failure(engine.Usage, "--%s %s: is a folder, and not a file", flag, name)
		}
		f, err := os.Open(a.at(name))
		if err != nil {
			return "", failure(engine.Usage, "--%s %s: %v", flag, name, project.Cause(err))
		}
		defer func() { _ = f.Close() }()
		from = f
	}
	data, err := io.ReadAll(io.LimitReader(from, limit+1))
	if err != nil {
		return "", failure(engine.Usage, "--%s %s: %v", flag, name, project.Cause(err))
	}
	if int64(len(data)) > limit {
		return "", failure(engine.Usage, "--%s %s: it is longer than %d KiB, which is the most that can be looked at", flag, name, limit>>10)
	}
	return string(data), nil
}
