package cli

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"loops/fsm"
	"loops/fsm/lint"
	"loops/fsm/loopfile"
	"loops/internal/answer"
	"loops/internal/config"
	"loops/internal/host"
)

// A library reads the loops of a project and of the catalog, with everything they are made of, and has them checked.
// It reads each file once. It is safe for concurrent use.
type library struct {
	project project
	files   *loopfile.Loader

	mu      sync.Mutex
	checked map[string]func() (loaded, error) // by path; guarded by mu
}

// A loaded is a loop and what there is to say about it.
type loaded struct {
	loop     *fsm.Loop     // nil if there is an error among the problems
	problems []fsm.Problem // that reading it showed
	advice   []fsm.Problem // about a loop that could run, errors among it
}

// all returns problems and advice, sorted by place.
func (l loaded) all() []fsm.Problem {
	all := slices.Concat(l.problems, l.advice)
	slices.SortStableFunc(all, byPlace)
	return all
}

// library returns the loops that can be named in a project. It is the same one for all of a command line.
func (a *app) library(p project) (*library, error) {
	if a.lib != nil {
		return a.lib, nil
	}
	if p.catalog != "" {
		if info, err := os.Stat(p.catalog); err != nil {
			return nil, failure(exitUsage, "%s%s: %v", a.catalogFrom(p), p.short(p.catalog), errnoText(err))
		} else if !info.IsDir() {
			return nil, failure(exitUsage, "%s%s: not a folder", a.catalogFrom(p), p.short(p.catalog))
		}
	}
	a.lib = newLibrary(p)
	return a.lib, nil
}

func newLibrary(p project) *library {
	return &library{project: p, files: p.loader(), checked: map[string]func() (loaded, error){}}
}

// find returns the file of the loop that a word on the command line means. The error carries the exit code.
func (l *library) find(name string) (string, error) {
	path, err := l.files.Resolve(name, l.project.Cwd)
	if err != nil {
		return "", notFound(l.project, err)
	}
	return path, nil
}

// load reads and checks the loop in a file, once. The error is about the file and not about what it says.
func (l *library) load(path string) (loaded, error) {
	l.mu.Lock()
	check := l.checked[path]
	if check == nil {
		check = sync.OnceValues(func() (loaded, error) {
			loop, problems, err := l.files.Load(path)
			if err != nil {
				return loaded{}, err
			}
			if loop == nil {
				f := loaded{problems: problems}
				if draft := l.files.Draft(path); draft != nil { // so that an author hears of all mistakes at once
					f.advice = adviseDraft(draft, problems)
				}
				return f, nil
			}
			advice := slices.Concat(lint.Check(loop), l.checkAgents(loop))
			if countErrors(advice) > 0 {
				loop = nil
			}
			return loaded{loop, problems, advice}, nil
		})
		l.checked[path] = check
	}
	l.mu.Unlock()
	return check()
}

// checkAgents says what is wrong with what a loop asks of agents. Where the project's configuration has mistakes, which
// keep every run from starting, nobody knows which there are.
func (l *library) checkAgents(loop *fsm.Loop) []fsm.Problem {
	if !asksSome(loop) {
		return nil
	}
	declared, err := l.project.layers.Load()
	if err != nil {
		return nil
	}
	var names []string
	for _, h := range slices.Concat(declared.Hosts, host.Hosts()) {
		names = append(append(names, h.Name), h.Aliases...)
	}
	return lint.CheckAgents(loop, names, func(text []byte) error {
		_, err := answer.ParseSchema(text)
		return err
	})
}

// asksSome says whether a loop names a host or a schema for what it asks of agents.
func asksSome(l *fsm.Loop) bool {
	if l.LLM.Host != "" {
		return true
	}
	for _, st := range l.States {
		if st.Host != "" || st.Evaluate != nil && (st.Evaluate.Host != "" || st.Evaluate.Schema != nil) {
			return true
		}
	}
	return false
}

// adviseDraft says what there is to say about a loop with these problems.
func adviseDraft(draft *fsm.Loop, problems []fsm.Problem) []fsm.Problem {
	for _, p := range problems {
		if p.Severity == fsm.SeverityError && p.Rule != "unknown-state" {
			return lint.CheckTexts(draft)
		}
	}
	return lint.CheckMisrouted(draft)
}

// A subloops is a library as a run sees it: it is the run's [fsm.Library]. It reads the files anew each time, because
// an action may have written the loop that a state is about to run.
type subloops struct {
	project project
	delay   *time.Duration // pause between the states of sub-loops, instead of their backoff; nil = as they say
	agents  agentFlags
	config  *config.Config // pauses sub-loops that have no backoff; nil = does not
	keeper  *keeper        // is told of each loop; nil = nobody is
}

// subloops returns the loops that the states of a run may run. Of the overrides of the command line the delay and
// those of agents hold there too (D26); caps are those of the run itself. k, if not nil, is told of each.
func (l *library) subloops(o overrides, k *keeper) subloops {
	s := subloops{project: l.project, keeper: k, agents: o.agents, config: o.config}
	if o.delaySet {
		delay := o.pause()
		s.delay = &delay
	}
	return s
}

// Loop implements [fsm.Library].
func (s subloops) Loop(name string, from *fsm.Loop) (*fsm.Loop, error) {
	now := newLibrary(s.project)
	path, err := now.files.Child(name, from)
	if err != nil {
		return nil, err
	}
	f, err := now.load(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.project.short(path), errnoText(err))
	}
	if f.loop == nil {
		return nil, now.invalid(path, f.all())
	}
	if err := s.keeper.learn(now.files, name, from, f.loop); err != nil {
		return nil, err
	}
	return s.overridden(f.loop), nil
}

// overridden returns a loop with what the command line changes in it.
func (s subloops) overridden(l *fsm.Loop) *fsm.Loop {
	changed := *l
	if s.config != nil && changed.Backoff == 0 {
		changed.Backoff = s.config.Delay
	}
	if s.delay != nil {
		changed.Backoff = *s.delay
	}
	s.agents.apply(&changed)
	return &changed
}

// invalid says in one text what is wrong with a loop.
func (l *library) invalid(path string, problems []fsm.Problem) error {
	i := slices.IndexFunc(problems, func(p fsm.Problem) bool { return p.Severity == fsm.SeverityError })
	first, n := problems[i], countErrors(problems)
	first.Pos.File = l.project.short(first.Pos.File)
	text := fmt.Sprintf("%s: %s [%s]", first.Pos, first.Message, first.Rule)
	if n > 1 {
		text += fmt.Sprintf("; and %s more", count(n-1, "error"))
	}
	return fmt.Errorf("it has mistakes: %s; loops validate %s shows them", text, quote(l.project.short(path)))
}
