package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"loops/fsm"
	"loops/fsm/confine"
	"loops/internal/agent"
	"loops/internal/disk"
	"loops/internal/process"
	"loops/internal/sandbox"
)

// exitBreach is the exit code of an action that did all it was to do, and changed protected files.
const exitBreach = 126

// sandboxOf returns what limits an action; nil = nothing does. Git that the machine itself runs is limited only where
// it looks at files.
func (r *Runner) sandboxOf(a fsm.Action, dir string) (*sandbox.Box, error) {
	layers := confine.Layers(slices.Concat(r.Sandbox, a.Sandbox)...)
	if len(layers) == 0 || a.Git != "" && len(a.Sandbox) == 0 {
		return nil, nil
	}
	if dir == "" {
		dir, _ = os.Getwd()
	}
	at := sandbox.Place{Dir: dir, RunDir: r.RunDir, Env: r.base, Caches: r.Caches, Egress: r.Egress}
	if a.Kind == fsm.KindPrompt || a.Kind == fsm.KindJudge {
		if h, _, err := r.chooseHost(a.Host); err == nil {
			at.State, at.Keep = h.State, h.Settings
			r.makeState(h)
		}
	}
	key := fmt.Sprint(dir, at.State)
	for _, l := range layers {
		key += fmt.Sprintf("\n%+v", *l)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	box := r.boxes[key]
	if box == nil {
		box = sandbox.New(sandbox.Resolve(layers, at))
		if r.boxes == nil {
			r.boxes = map[string]*sandbox.Box{}
		}
		r.boxes[key] = box
	}
	rules := box.Rules()
	if missing := box.Missing(); rules.Strict && len(missing) > 0 {
		return nil, fmt.Errorf("the sandbox %s cannot be enforced here: %s; look with: loops doctor --sandbox %s",
			rules.Name, strings.Join(missing, "; "), triable(rules.Name))
	}
	return box, nil
}

// makeState makes the folders where an agent keeps its state, which it could not make in a sandbox. It makes no
// home: users of services have one that is not to exist.
func (r *Runner) makeState(h *agent.CLI) {
	home := ""
	for _, e := range r.base {
		if dir, ok := strings.CutPrefix(e, "HOME="); ok {
			home = dir
		}
	}
	if info, err := os.Stat(home); err != nil || !info.IsDir() {
		return
	}
	for _, path := range h.State {
		if rest, ok := strings.CutPrefix(path, "~/"); ok && filepath.Ext(rest) != ".json" {
			_ = disk.MkdirAll(filepath.Join(home, rest), 0o700) // where it cannot be made, the agent says so
		}
	}
}

// Unenforced returns what the sandbox of a run is called and what of it cannot be enforced on this machine; "" = there
// is none. narrow is what it refuses in the work tree all the same; "" = nothing.
func (r *Runner) Unenforced(policies []*confine.Policy) (name string, missing []string, narrow string) {
	r.prepare.Do(r.environ)
	rules := sandbox.Resolve(slices.Concat(r.Sandbox, policies),
		sandbox.Place{Dir: r.pwd, RunDir: r.RunDir, Env: r.base, Caches: r.Caches})
	if rules == nil {
		return "", nil, ""
	}
	box := sandbox.New(rules)
	defer box.Close()
	return rules.Name, box.Missing(), rules.Narrow
}

// inside does an action within its sandbox: do is called with what limits it and its environment.
func (r *Runner) inside(box *sandbox.Box, a fsm.Action, env []string, do func(env []string) (fsm.Result, error)) (
	fsm.Result, error,
) {
	rules := box.Rules()
	if rules.Private || rules.Crowded {
		dir, err := disk.MkdirTemp(r.RunDir, ".tmp-*")
		if err != nil {
			return fsm.Result{}, fmt.Errorf("state %q gets no folder for temporary files: %w", a.State, err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		env = setAll(env, []string{"TMPDIR=" + dir})
	}
	if r.Control != nil {
		path, err := r.Control()
		if err != nil {
			return fsm.Result{}, fmt.Errorf("state %q gets no socket to its run: %w", a.State, err)
		}
		env = setAll(env, []string{envControl + "=" + path})
	}
	vars, asked, err := box.Proxy()
	if err != nil {
		return fsm.Result{}, fmt.Errorf("state %q gets no proxy: %w", a.State, err)
	}
	var kept *sandbox.Kept
	if a.Git == "" {
		kept = box.Keep()
	}
	res, err := do(setAll(rules.Environment(env), vars))
	if res.Background > 0 {
		r.mu.Lock()
		r.stay = append(r.stay, r.marker(a))
		r.mu.Unlock()
	}
	said := ""
	for _, b := range kept.Restore(r.RunDir, fmt.Sprintf("%d-%d", a.Step, a.Attempt)) {
		if said != "" && strings.HasPrefix(b.Path, said+"/") && b.Left == "" && b.Copy == "" {
			continue // its folder says so
		}
		said = b.Path
		what := "it had changed, and is again as it was before"
		switch {
		case b.Left != "":
			what = "it has changed, and is left as it is: " + b.Left
		case b.Copy != "":
			what += "; what was there instead is in " + b.Copy
		}
		res.Stderr = line(res.Stderr, "loops: %s is protected by the sandbox %s: %s", b.Path, rules.Name, what)
		if res.ExitCode == 0 {
			res.ExitCode = exitBreach
		}
	}
	refused := append(asked(), box.Told(r.marker(a))...)
	res.Refused = strings.Join(refused, " ")
	for _, one := range refused {
		// programs try some in vain
		if call := strings.HasSuffix(one, ")") || !strings.Contains(one, ":"); !call || res.ExitCode != 0 {
			res.Stderr = line(res.Stderr, "loops: the sandbox %s %s", rules.Name, fsm.NotLet([]string{one}))
		}
	}
	if word := refusal(res); err == nil && word != "" {
		res.Stderr = line(res.Stderr, "loops: the sandbox may have refused: %s; loops doctor --sandbox %s", word,
			triable(rules.Name))
	}
	return res, err
}

// triable returns the preset that doctor tries for a sandbox of this name.
func triable(name string) string {
	if confine.Strength(name) == 0 {
		return confine.Workspace
	}
	return name
}

const endingRounds = 10

// endStaying ends what actions in a sandbox left running.
func (r *Runner) endStaying() {
	for _, marker := range r.stay {
		for range endingRounds { // one that ends may have started others meanwhile
			left, err := process.Marked(Variable, marker)
			if err != nil || len(left) == 0 {
				break
			}
			_, _ = process.End(context.Background(), left, cmp.Or(r.Grace, DefaultGrace))
		}
	}
}

func line(text, format string, args ...any) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + fmt.Sprintf(format, args...) + "\n"
}

// refusals are what programs say of EACCES, EPERM and EROFS.
var refusals = []string{
	"Permission denied", "permission denied", "Operation not permitted",
	"operation not permitted", "EACCES", "EPERM", "Read-only file system", "read-only file system", "EROFS",
}

// refusal returns the last line of a failed action in which it says that something was refused; "" = there is none.
func refusal(res fsm.Result) string {
	if res.ExitCode == 0 {
		return ""
	}
	for _, text := range slices.Backward(strings.Split(res.Stderr, "\n")) {
		for _, word := range refusals {
			if strings.Contains(text, word) {
				return strings.TrimSpace(text)
			}
		}
	}
	return ""
}

// targetOf returns HOST:PORT of an address, and whether it is asked over TLS.
func targetOf(address string) (target string, secure bool) {
	u, err := url.Parse(address)
	if err != nil {
		return "", false // the request says so itself
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port), u.Scheme == "https"
}

// mayReach returns why a request to an address is not made from within a sandbox; nil = it may be.
func mayReach(box *sandbox.Box, address string) error {
	target, _ := targetOf(address)
	if target == "" {
		return nil
	}
	r := box.Rules()
	host, _, _ := net.SplitHostPort(target)
	ip := net.ParseIP(host)
	switch {
	case r.Network == confine.NetAll, r.Reaches(target),
		r.Network == confine.NetLoopback && (host == "localhost" || ip != nil && ip.IsLoopback()):
		return nil
	}
	return errors.New("the sandbox " + r.Name + " does not let it reach " + target)
}

// limit has the control group of an action limit what its sandbox limits.
func limit(group *process.Cgroup, box *sandbox.Box) {
	if group == nil {
		return
	}
	if box == nil {
		group.Limit(0, 0, 0)
		return
	}
	r := box.Rules()
	group.Limit(r.Memory, r.PIDs, r.CPUs)
}
