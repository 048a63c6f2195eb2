package project

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"loops/fsm"
	"loops/fsm/lint"
	"loops/fsm/loopfile"
	"loops/internal/agent"
	"loops/internal/config"
	"loops/internal/humanize"
)

// A Library reads the loops of a project and of the catalog, with everything they are made of, and has them checked.
// It reads each file once. It is safe for concurrent use.
type Library struct {
	Project *Project
	Files   *loopfile.Loader

	mu      sync.Mutex
	checked map[string]func() (Loaded, error) // by path; guarded by mu
}

// A Loaded is a loop and what there is to say about it.
type Loaded struct {
	Loop     *fsm.Loop     // nil if there is an error among the problems
	Problems []fsm.Problem // that reading it showed
	Advice   []fsm.Problem // about a loop that could run, errors among it
}

// All returns problems and advice, sorted by place.
func (l Loaded) All() []fsm.Problem {
	all := slices.Concat(l.Problems, l.Advice)
	slices.SortStableFunc(all, ByPlace)
	return all
}

// Library returns the loops that can be named in the project, the same library each time. The error is a *CatalogError.
func (p *Project) Library() (*Library, error) {
	lib, err := p.library()
	if err != nil {
		return nil, &CatalogError{p.catalogFrom(), p.Short(p.Catalog), err}
	}
	return lib, nil
}

// library is Library whose error is only about the folder: where that was named is asked for without the lock held.
func (p *Project) library() (*Library, error) {
	fresh := NewLibrary(p) // with action types of the settings, which are asked for without the lock held
	p.known.mu.Lock()
	defer p.known.mu.Unlock()
	if p.known.lib != nil {
		return p.known.lib, nil
	}
	if p.Catalog != "" {
		if info, err := os.Stat(p.Catalog); err != nil {
			return nil, Cause(err)
		} else if !info.IsDir() {
			return nil, errors.New("not a folder")
		}
	}
	p.known.lib = fresh
	return p.known.lib, nil
}

// NewLibrary returns a library that has read nothing yet.
func NewLibrary(p *Project) *Library {
	return &Library{Project: p, Files: p.Loader(), checked: map[string]func() (Loaded, error){}}
}

// Find returns the file of the loop that a person names. The error is a *LoopNotFoundError or a *NoFileError.
func (l *Library) Find(name string) (string, error) {
	path, err := l.Files.Resolve(name, l.Project.Cwd)
	if err != nil {
		return "", NotFound(l.Project, err)
	}
	return path, nil
}

// CheckInside refuses the name of a loop that is a path out of the project and its catalog, for faces that are
// not the command line: what they show of a file with mistakes is its text. The error is a
// [*LoopNotFoundError].
func (p *Project) CheckInside(name string) error {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.Cwd, path)
	}
	for _, dir := range []string{p.Dir, p.Loops, p.Catalog} {
		if dir == "" || strings.ContainsRune(name, 0) {
			continue
		}
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			return nil
		}
	}
	if filepath.IsLocal(name) { // a name, unless there is a file or folder of that name where the program runs
		lib, err := p.Library()
		if _, missing := os.Stat(path); missing != nil || err == nil && lib.Files.Named(name) != "" {
			return nil
		}
	}
	return &LoopNotFoundError{Name: name, Outside: true}
}

// Load reads and checks the loop in a file, once. The error is about the file and not about what it says.
func (l *Library) Load(path string) (Loaded, error) {
	l.mu.Lock()
	check := l.checked[path]
	if check == nil {
		check = sync.OnceValues(func() (Loaded, error) {
			loop, problems, err := l.Files.Load(path)
			if err != nil {
				return Loaded{}, err
			}
			if loop == nil {
				f := Loaded{Problems: problems}
				if draft := l.Files.Draft(path); draft != nil { // so that an author sees all mistakes at once
					f.Advice = adviseDraft(draft, problems)
				}
				return f, nil
			}
			advice := slices.Concat(lint.Check(loop), l.checkAgents(loop), l.checkTargets(loop))
			if CountErrors(advice) > 0 {
				loop = nil
			}
			return Loaded{loop, problems, advice}, nil
		})
		l.checked[path] = check
	}
	l.mu.Unlock()
	return check()
}

// Read is load of a loop that is to run: one with mistakes is an *InvalidError. It is a *NoFileError where the
// file cannot be read.
func (l *Library) Read(path string) (Loaded, error) {
	f, err := l.Load(path)
	if err != nil {
		return f, Unreadable(l.Project, path, err)
	}
	if f.Loop == nil {
		return f, &InvalidError{l.Project, l.Project.Short(path), f.All()}
	}
	return f, nil
}

// checkAgents says what is wrong with what a loop asks of agents. Where the project's configuration has mistakes, which
// keep every run from starting, it is not known which there are.
func (l *Library) checkAgents(loop *fsm.Loop) []fsm.Problem {
	if !asksSome(loop) {
		return nil
	}
	declared, err := l.Project.Layers.Load()
	if err != nil {
		return nil
	}
	var names []string
	for _, h := range slices.Concat(declared.Hosts, agent.Hosts()) {
		names = append(append(names, h.Name), h.Aliases...)
	}
	return lint.CheckAgents(loop, names, func(text []byte) error {
		_, err := agent.ParseSchema(text)
		return err
	})
}

// checkTargets says to which targets of notifications a loop escalates questions that the settings do not have.
func (l *Library) checkTargets(loop *fsm.Loop) []fsm.Problem {
	if !lint.Escalates(loop) {
		return nil
	}
	declared, err := l.Project.Layers.Load()
	if err != nil {
		return nil
	}
	var names []string
	for _, n := range declared.Notify {
		if n.Name != "" && !slices.Contains(names, n.Name) {
			names = append(names, n.Name)
		}
	}
	return lint.CheckTargets(loop, names)
}

// asksSome reports whether a loop names a host or a schema for what it asks of agents.
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

// A Subloops is a library as a run sees it: it is the run's [fsm.Library]. It reads the files again each time, because
// an action may have written the loop that a state is about to run.
type Subloops struct {
	Project *Project
	delay   *time.Duration // pause between the states of sub-loops, instead of their backoff; nil = as they say
	agents  Agents
	noGuard bool           // host_guard is off in them
	config  *config.Config // pauses sub-loops that have no backoff; nil = does not
	keeper  *Keeper        // gets each loop; nil = none
}

// Subloops returns the loops that the states of a run may run. Of the overrides of the command line the delay and
// those of agents hold there too (D26); caps are those of the run itself. k, if not nil, gets each.
func (l *Library) Subloops(o Overrides, k *Keeper) Subloops {
	s := Subloops{Project: l.Project, keeper: k, agents: o.Agents, noGuard: o.NoHostGuard, config: o.Config}
	if o.DelaySet {
		delay := o.pause()
		s.delay = &delay
	}
	return s
}

// Loop implements [fsm.Library].
func (s Subloops) Loop(name string, from *fsm.Loop) (*fsm.Loop, error) {
	now := NewLibrary(s.Project)
	path, err := now.Files.Child(name, from)
	if err != nil {
		return nil, err
	}
	f, err := now.Load(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Project.Short(path), Cause(err))
	}
	if f.Loop == nil {
		return nil, now.invalid(path, f.All())
	}
	if err := s.keeper.learn(now.Files, name, from, f.Loop); err != nil {
		return nil, err
	}
	return s.Overridden(f.Loop), nil
}

// Overridden returns a loop with what the command line changes in it.
func (s Subloops) Overridden(l *fsm.Loop) *fsm.Loop {
	changed := *l
	if s.config != nil && changed.Backoff == 0 {
		changed.Backoff = s.config.Delay
	}
	if s.delay != nil {
		changed.Backoff = *s.delay
	}
	if s.noGuard {
		changed.HostGuard.Enabled, changed.HostGuard.BudgetMB = false, 0
	}
	s.agents.apply(&changed)
	return &changed
}

// invalid says in one text what is wrong with a loop.
func (l *Library) invalid(path string, problems []fsm.Problem) error {
	i := slices.IndexFunc(problems, func(p fsm.Problem) bool { return p.Severity == fsm.SeverityError })
	first, n := problems[i], CountErrors(problems)
	first.Pos.File = l.Project.Short(first.Pos.File)
	text := fmt.Sprintf("%s: %s [%s]", first.Pos, first.Message, first.Rule)
	if n > 1 {
		text += fmt.Sprintf("; and %s more", humanize.Count(n-1, "error"))
	}
	return fmt.Errorf("it has mistakes: %s; loops validate %s shows them", text,
		humanize.ShellWord(l.Project.Short(path)))
}
