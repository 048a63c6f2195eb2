// Package sandbox starts commands that may read, write, reach and use only what a policy allows.
//
// A [Box] is a policy made fast to a place. On Linux a command is started from a thread of its own, which Landlock and
// seccomp limit before, so that the command and all that it starts are limited and this program is not.
package sandbox

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"loops/fsm/confine"
)

// A Place is where a policy's words are looked up.
type Place struct {
	Dir    string   // the work tree
	RunDir string   // which every sandbox may change; "" = none
	Env    []string // of the command
	Caches []string // folders that a workspace may change; nil = [Caches]
	State  []string // files and folders where the agents in use keep their state
	Keep   []string // settings of these agents: they may be read, and not changed
	// secrets that the proxy writes into requests to some hosts
	Egress []confine.Egress
}

// Caches are the folders that a workspace may change unless settings name others.
var Caches = []string{"~/.cache", "~/go/pkg", "~/.npm", "~/.cargo/registry", "~/.cargo/git"}

// secrets are what a workspace cannot read.
var secrets = []string{
	"~/.ssh", "~/.aws", "~/.gnupg", "~/.azure", "~/.kube", "~/.docker/config.json", "~/.config/gcloud",
	"~/.config/gh", "~/.config/op",
	"~/.config/sops", "~/.config/rclone", "~/.netrc", "~/.git-credentials", "~/.config/git/credentials", "~/.pgpass",
	"~/.my.cnf", "~/.pypirc",
	"~/.cargo/credentials.toml", "~/.password-store", "~/.local/share/keyrings", "~/.mozilla",
	"~/.config/google-chrome", "~/.config/chromium",
	"~/.terraform.d/credentials.tfrc.json", "~/.vault-token", "/etc/shadow", "/etc/gshadow", "/etc/sudoers",
	"/etc/sudoers.d",
}

// protected are what may not be changed in a work tree.
var protected = []string{
	".loops", ".github", ".claude/settings.json", ".claude/settings.local.json", ".claude/hooks", ".mcp.json",
	".codex", ".gemini/settings.json", ".qwen/settings.json", "opencode.json", ".kimi", ".vscode/settings.json",
	".vscode/tasks.json",
}

// sockets are those of programs that do for a command what it may not.
var sockets = []string{
	"/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock", "/run/dbus/system_bus_socket",
	"/run/systemd/private",
	"~/.docker/run/docker.sock", "$XDG_RUNTIME_DIR/bus", "$XDG_RUNTIME_DIR/docker.sock",
	"$XDG_RUNTIME_DIR/podman/podman.sock",
	"$XDG_RUNTIME_DIR/systemd/private", "$SSH_AUTH_SOCK", "~/.gnupg/S.*",
}

// socketFolders have the sockets of terminals, displays and the session of the user: they are empty in a sandbox.
var socketFolders = []string{
	"$XDG_RUNTIME_DIR", "$TMUX_TMPDIR/tmux-*", "/tmp/tmux-*", "/run/tmux", "/tmp/screens",
	"/run/screen", "/tmp/.X11-unix", "/tmp/.ICE-unix",
}

// hiddenVars name such sockets to programs. basicVars are all that strict leaves.
var (
	hiddenVars = []string{
		"SSH_AUTH_SOCK", "SSH_AGENT_PID", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST", "TMUX", "STY", "DISPLAY",
		"WAYLAND_DISPLAY", "LOOPS_SERVE_TOKEN",
	}
	basicVars = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TZ", "TERM", "TMPDIR", "PWD"}
	// ownVars are those that a run sets
	ownVars = []string{
		"LOOPS_RUN_ID", "LOOPS_RUN_DIR", "LOOPS_STATE", "LOOPS_STEP", "LOOPS_ATTEMPT", "LOOPS_ACTION",
		"LOOPS_ANCESTORS", "LOOPS_SCHEDULED_AT",
		"LOOPS_CONTROL", "LOOPS_CONTEXT_*", "LOOPS_CAPTURED_*", "LOOPS_EVENT_*", "LOOPS_PREV_OUTPUT*", "LOOPS_ITEM*",
		"LL_LOOP_RUN_ID", "TRACEPARENT",
	}
)

// devices are the files of /dev that a command may write to when it may not write everywhere.
var devices = []string{
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts",
	"/dev/shm",
}

// sealedFile has what was masked in the record of a run.
const sealedFile = ".sealed"

// sealed returns these files of the run and of those beside it.
func (r *Rules) sealed() (all []string) {
	if r.RunDir == "" {
		return nil
	}
	runs := filepath.Dir(r.RunDir)
	entries, _ := os.ReadDir(runs)
	for _, e := range entries {
		all = append(all, filepath.Join(runs, e.Name(), sealedFile))
	}
	return all
}

// Rules are what a sandbox allows, worked out for a place.
type Rules struct {
	Name    string   // the preset's, or custom
	Strict  bool     // what cannot be enforced is an error
	Write   []string // absolute; nil = everywhere
	Read    []string // absolute; nil = everywhere
	Deny    []string // absolute
	Protect []string // absolute, in what may be changed
	Frozen  []string // the same, where mounts can be made; they are not checked
	Sockets []string // absolute patterns, that are hidden where they can be
	Covered []string // absolute patterns of folders that are empty where they can be
	RunDir  string   // the folder of the run; in it and beside it, sealed files are empty where they can be
	Network string   // one of the words, or "" for a list of hosts
	Hosts   []string // HOST:PORT
	Env     []string // names; nil = all
	Hide    []string // names of variables
	Memory  int64
	CPUs    float64
	PIDs    int
	Private bool // temporary files are its own
	// why some folders of the work tree get no new files; "" = all do. A place in them is denied, so that what is
	// beside it is allowed one by one
	Narrow  string
	Crowded bool // no file can be made in the folder of temporary files: a denied place is below it

	Egress  []confine.Egress // that the proxy writes into requests
	Scratch string           // folder for what the proxy gives to commands; "" = that of temporary files
	User    []string         // environment in which variables name certificates that the user trusts
}

// Resolve returns what layers of policies allow together; nil = all.
func Resolve(layers []*confine.Policy, at Place) *Rules {
	layers = confine.Layers(layers...)
	if len(layers) == 0 {
		return nil
	}
	p := places{Place: at, home: lookup(at.Env, "HOME"), repo: findRepository(at.Dir)}
	r := &Rules{
		Name: confine.Name(layers), Network: confine.NetAll, Egress: at.Egress, Scratch: at.RunDir,
		User: at.Env,
	}
	for _, l := range layers {
		p.add(r, l)
	}
	for _, d := range r.Deny {
		if r.Write != nil && r.Narrow == "" && d != at.Dir && within(d, at.Dir) {
			r.Narrow = "no new file can be made in " + at.Dir + " itself, which has the denied " + d
		}
	}
	for _, tmp := range p.paths([]string{cmp.Or(lookup(at.Env, "TMPDIR"), "/tmp")}) {
		r.Crowded = r.Crowded || slices.ContainsFunc(r.Deny, func(d string) bool { return within(d, tmp) })
	}
	return r
}

type places struct {
	Place
	home string
	repo repository
}

// add limits rules by a policy.
func (p *places) add(r *Rules, l *confine.Policy) {
	files := confine.Strength(l.Preset) >= confine.Strength(confine.Workspace)
	strict := l.Preset == confine.Strict
	r.Strict = r.Strict || strict
	private := l.Tmp == confine.Private || strict && l.Tmp == ""
	r.Private = r.Private || private

	write, read, deny, network, env := l.Write, l.Read, l.Deny, l.Network, l.Env
	if files {
		if write == nil {
			write = []string{"."}
			if !strict {
				caches := p.Caches
				if caches == nil {
					caches = Caches
				}
				write = append(write, caches...)
			}
		}
		deny = slices.Concat(secrets, deny)
		for _, v := range hiddenVars {
			if !slices.Contains(env, v) {
				r.Hide = append(r.Hide, v)
			}
		}
		r.Sockets = append(r.Sockets, p.paths(sockets)...)
		r.Covered = append(r.Covered, p.paths(socketFolders)...)
		r.RunDir = p.RunDir
	}
	if network == nil && (l.Preset == confine.Offline || strict) {
		network = []string{confine.NetNone}
	}
	if env == nil && strict {
		env = basicVars
	}
	if write != nil {
		named := p.paths(write)
		may := slices.Concat(named, p.paths(p.State), p.repo.writes(), realPaths(p.RunDir), devices)
		if !private {
			may = append(may, p.paths([]string{"/tmp", "/var/tmp", lookup(p.Env, "TMPDIR")})...)
		}
		r.Write = intersect(r.Write, may)
		protected, frozen := p.protected()
		isNamed := func(path string) bool {
			return slices.ContainsFunc(named, func(w string) bool { return within(w, path) })
		}
		r.Protect = append(r.Protect,
			slices.DeleteFunc(protected, func(path string) bool {
				return isNamed(path) || slices.Contains(r.Protect, path)
			})...)
		r.Frozen = append(r.Frozen,
			slices.DeleteFunc(frozen, func(path string) bool {
				return isNamed(path) || slices.Contains(r.Frozen, path)
			})...)
	}
	if read != nil {
		r.Read = intersect(r.Read, slices.Concat(p.paths(read), p.paths(write)))
	}
	r.Deny = append(r.Deny, p.paths(deny)...)
	r.reach(network)
	if env != nil {
		r.Env = meet(r.Env, env)
	}
	r.Memory, r.PIDs = least(r.Memory, l.Memory), least(r.PIDs, l.PIDs)
	r.CPUs = least(r.CPUs, l.CPUs)
}

// reach limits the network by what one policy says.
func (r *Rules) reach(network []string) {
	if network == nil {
		return
	}
	order := []string{confine.NetNone, confine.NetLoopback, "", confine.NetAll}
	word, hosts := "", network
	if len(network) == 1 && slices.Contains(order, network[0]) {
		word, hosts = network[0], nil
	}
	switch {
	case word == "" && r.Network == "":
		r.Hosts = slices.DeleteFunc(slices.Clone(r.Hosts), func(h string) bool { return !slices.Contains(hosts, h) })
	case slices.Index(order, word) < slices.Index(order, r.Network):
		r.Network, r.Hosts = word, hosts
	}
}

// Reaches reports whether HOST:PORT is one of the hosts that may be reached.
func (r *Rules) Reaches(target string) bool {
	return r.Network == "" && confine.Reaches(r.Hosts, target)
}

func least[N int | int64 | float64](a, b N) N {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// meet returns the names that two lists of patterns both have; nil is all.
func meet(a, b []string) []string {
	if a == nil {
		return b
	}
	out := []string{}
	for _, name := range b {
		if matches(a, strings.TrimSuffix(name, "*")) {
			out = append(out, name)
		}
	}
	for _, name := range a {
		if matches(b, strings.TrimSuffix(name, "*")) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// matches reports whether a name is one of these patterns.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		begin, open := strings.CutSuffix(p, "*")
		return name == p || open && strings.HasPrefix(name, begin)
	})
}

// paths returns the absolute forms of paths, each also without symbolic links. A variable that is not set names none.
func (p *places) paths(list []string) []string {
	var out []string
	for _, path := range list {
		if name, rest, _ := strings.Cut(path, "/"); strings.HasPrefix(name, "$") {
			value := lookup(p.Env, name[1:])
			if value == "" {
				continue
			}
			path = filepath.Join(value, rest)
		}
		if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
			if p.home == "" {
				continue
			}
			path = p.home + rest
		}
		if path == "" {
			continue
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(p.Dir, path)
		}
		for _, one := range realPaths(path) {
			if !slices.Contains(out, one) {
				out = append(out, one)
			}
		}
	}
	return out
}

// realPaths returns a path, and the one it leads to if that is another.
func realPaths(path string) []string {
	if path == "" {
		return nil
	}
	path = filepath.Clean(path)
	real, rest := path, ""
	for {
		got, err := filepath.EvalSymlinks(real)
		if err == nil {
			real = filepath.Join(got, rest)
			break
		}
		up := filepath.Dir(real)
		if up == real {
			return []string{path}
		}
		rest = filepath.Join(filepath.Base(real), rest)
		real = up
	}
	if real == path {
		return []string{path}
	}
	return []string{path, real}
}

// protected returns what may not be changed in the work tree, its repository and the settings of agents; see
// [repository.protected].
func (p *places) protected() (out, frozen []string) {
	out = p.paths(protected)
	git, frozen := p.repo.protected(p.Dir)
	for _, path := range git {
		if !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	return append(out, p.paths(p.Keep)...), frozen
}

func lookup(env []string, name string) string {
	for _, e := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value
		}
	}
	return ""
}

// within reports whether a path is dir or below it.
func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// intersect returns what is in both lists of folders; nil is everything.
func intersect(a, b []string) []string {
	if a == nil {
		return b
	}
	out := []string{}
	add := func(path string) {
		if !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	for _, x := range a {
		for _, y := range b {
			switch {
			case within(x, y):
				add(x)
			case within(y, x):
				add(y)
			}
		}
	}
	return out
}

// Environment returns those of the variables that the rules leave, and [Variable].
func (r *Rules) Environment(env []string) []string {
	out := make([]string, 0, len(env)+1)
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		own := matches(ownVars, name)
		if !own && (r.Env != nil && !matches(r.Env, name) || slices.Contains(r.Hide, name)) || name == Variable {
			continue
		}
		out = append(out, e)
	}
	return append(out, Variable+"="+r.Name)
}

// Variable tells a command which sandbox it is in.
const Variable = "LOOPS_SANDBOX"
