package engine

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/confine"
	"loops/internal/config"
	"loops/internal/git"
)

// ConfigureSandbox sets what settings say of the sandboxes of all actions.
func ConfigureSandbox(r *action.Runner, c *config.Config) {
	if c == nil {
		return
	}
	r.Caches = c.SandboxCaches
	if floor, err := confine.Parse(c.SandboxFloor); err == nil {
		r.Sandbox = confine.Layers(floor)
	}
}

// checkLimits refuses a run whose loop has a sandbox that has to be enforced and cannot be on this machine, or a guard
// where there is no git.
func (e *Engine) checkLimits(p *project.Project, l *fsm.Loop, conf *config.Config) error {
	if what := needsGit(l); what != "" {
		if _, err := exec.LookPath("git"); err != nil {
			return refuse(Invalid, "the %s of loop %s needs git to see what actions change, and %s", what, l.Name,
				git.ErrNoGit)
		}
	}
	r := &action.Runner{Dir: p.WorkDir(), Env: e.actionEnv()}
	defer func() { _ = r.Close() }()
	ConfigureSandbox(r, conf)
	for _, layers := range sandboxes(l) {
		if name, missing, _ := r.Unenforced(layers); len(missing) > 0 && strict(append(layers, r.Sandbox...)) {
			return refuse(Invalid, "the sandbox %s cannot be enforced on this machine: %s", name,
				strings.Join(missing, "; "))
		}
	}
	return nil
}

// boxed reports whether the loop of a run, one of its states or the settings have a sandbox.
func (j *job) boxed() bool {
	return j.config != nil && confine.Strength(j.config.SandboxFloor) > 0 ||
		slices.ContainsFunc(sandboxes(j.loop), func(layers []*confine.Policy) bool { return len(layers) > 0 })
}

func strict(layers []*confine.Policy) bool {
	return slices.ContainsFunc(layers, func(p *confine.Policy) bool { return p.Preset == confine.Strict })
}

// sandboxes returns what limits the actions of a loop: of those states first that say nothing.
func sandboxes(l *fsm.Loop) [][]*confine.Policy {
	all := [][]*confine.Policy{confine.Layers(l.Sandbox)}
	for _, name := range l.Order {
		if s := l.States[name]; s != nil && s.Sandbox.Limits() {
			all = append(all, confine.Layers(l.Sandbox, s.Sandbox))
		}
	}
	return all
}

// sandboxLine says what limits the actions of a loop, what of it cannot be enforced here, and what it refuses in the
// work tree; the zero Text where nothing limits them.
func sandboxLine(l *fsm.Loop, r *action.Runner) Text {
	var names, missing []string
	for _, layers := range sandboxes(l) {
		name, lacks, narrow := r.Unenforced(layers)
		if name == "" {
			continue
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		for _, one := range append(lacks, narrow) {
			if one != "" && !slices.Contains(missing, one) {
				missing = append(missing, one)
			}
		}
	}
	if len(names) == 0 {
		return Text{}
	}
	return textf("%s", strings.Join(append([]string{strings.Join(names, ", ")}, missing...), "; "))
}

// removeLeft removes what sandboxes of an earlier process of a run, which was killed, left in its folder:
// certificates that their proxy made, and folders for temporary files.
func removeLeft(dir string) {
	for _, kind := range []string{".ca-*", ".tmp-*"} {
		left, _ := filepath.Glob(filepath.Join(dir, kind))
		for _, path := range left {
			_ = os.RemoveAll(path) // it goes with the run at the latest
		}
	}
}
