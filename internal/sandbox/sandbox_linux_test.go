package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"loops/fsm/confine"
	"loops/internal/testenv"
)

func TestMain(m *testing.M) {
	Enter()
	if name := os.Getenv("LOOPS_HOSTILE"); name != "" {
		os.Exit(act(name))
	}
	os.Exit(m.Run())
}

// victims is where a user who is not root has victims made.
const victimsVar = "LOOPS_VICTIMS"

var victims = os.Getenv(victimsVar)

// newVictim makes what programs are after in a folder that no sandbox may change.
func newVictim(t *testing.T) victim {
	t.Helper()
	base, err := os.MkdirTemp(cmp.Or(victims, "/var"), "loops-sandbox-*")
	if err != nil {
		base = t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	v := victim{home: base + "/home", tree: base + "/tree", other: base + "/other", runner: os.Getpid()}
	for path, text := range map[string]string{
		"home/.ssh/authorized_keys": "mine\n", "home/.ssh/id": "secret\n", "home/.aws/credentials": "secret\n",
		"home/.netrc":  "secret\n",
		"home/.bashrc": "mine\n", "home/.gitconfig": "[user]\nname = n\nemail = e@example.com\n",
		"other/file": "mine\n", "other/remote.git/HEAD": "ref: refs/heads/main\n",
		"other/remote.git/objects/info/alternates": "",
		"other/remote.git/refs/heads/.keep":        "", "tree/file": "text\n",
		"tree/.git/hooks/sample": "mine\n", "tree/.loops/fix.yaml": "name: fix\n",
		"tree/.github/workflows/ci.yaml": "mine\n", "tree/.claude/settings.json": "{}\n",
		"tree/.git/worktrees/other/commondir": "../..\n", "tree/.git/modules/a/HEAD": "x\n",
		"tree/.git/modules/a/config": "[core]\n",
	} {
		testenv.Must(t, os.MkdirAll(filepath.Dir(base+"/"+path), 0o755))
		testenv.WriteText(t, base+"/"+path, text)
	}
	for _, name := range secretFiles {
		testenv.Must(t, os.MkdirAll(filepath.Dir(v.home+"/"+name), 0o755))
		testenv.WriteText(t, v.home+"/"+name, "secret\n")
	}
	if out, err := exec.Command("git", "init", "-q", v.tree).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	echo := func(l net.Listener) {
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = c.Write([]byte("hello"))
				_ = c.Close()
			}
		}()
	}
	listen := func(network, address string) string {
		l, err := net.Listen(network, address)
		testenv.Must(t, err)
		echo(l)
		return l.Addr().String()
	}
	v.tcp, v.unix, v.abstract = listen("tcp", "127.0.0.1:0"), listen("unix", base+"/sock"), listen("unix", "@"+base)
	u, err := net.ListenPacket("udp", "127.0.0.1:0")
	testenv.Must(t, err)
	t.Cleanup(func() { _ = u.Close() })
	go func() {
		var b [16]byte
		for {
			_, from, err := u.ReadFrom(b[:])
			if err != nil {
				return
			}
			_, _ = u.WriteTo([]byte("hello"), from)
		}
	}()
	v.udp = u.LocalAddr().String()
	return v
}

// own is how commands get namespaces here; kinds are all that they can have, with names.
var (
	own   = sync.OnceValue(spaces)
	kinds = sync.OnceValue(func() map[space]string {
		all := map[space]string{spacesNone: " without namespaces"}
		if mayNamespace() {
			all[spacesRoot] = ""
		}
		if mayEnter(spacesUser) {
			all[spacesUser] = " in a user namespace"
		}
		if mayEnter(spacesBubble) {
			all[spacesBubble] = " in a user namespace of bubblewrap"
		}
		return all
	})
)

// box returns the box of a policy for a victim, with namespaces of a kind.
func (v victim) box(t *testing.T, p *confine.Policy, spaces space) *Box {
	t.Helper()
	r := Resolve([]*confine.Policy{p}, Place{Dir: v.tree, Env: []string{"HOME=" + v.home, "SSH_AUTH_SOCK=" + v.unix}})
	b := New(r)
	b.use(spaces)
	t.Cleanup(b.Close)
	return b
}

// begin starts a command in a box. What it prints goes to files, or nowhere.
func begin(b *Box, cmd *exec.Cmd) (end func(), err error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = null.Close() }()
	files := []uintptr{null.Fd(), null.Fd(), null.Fd()}
	for i, out := range []any{cmd.Stdout, cmd.Stderr} {
		if f, ok := out.(*os.File); ok {
			files[i+1] = f.Fd()
		}
	}
	env := cmd.Env
	if env == nil {
		env = os.Environ()
	}
	s := Spawn{
		Path: cmd.Path, Argv: cmd.Args,
		Attr: syscall.ProcAttr{Dir: cmd.Dir, Env: env, Files: files, Sys: cmd.SysProcAttr},
	}
	return b.Start(s, func(s Spawn) error {
		pid, err := s.Fork()
		if err == nil {
			cmd.Process, err = os.FindProcess(pid)
		}
		return err
	})
}

// try runs a program in a box, and returns what it printed; "" = it did what it does.
func (v victim) try(t *testing.T, b *Box, name string) string {
	t.Helper()
	said, _ := v.tryRefused(t, b, name)
	return said
}

// tryRefused is try that returns the hosts, too, that the proxy refused.
func (v victim) tryRefused(t *testing.T, b *Box, name string) (said string, refused []string) {
	t.Helper()
	self, err := os.Executable()
	testenv.Must(t, err)
	cmd := exec.Command(self)
	cmd.Dir, cmd.Env = v.tree, v.env(name)
	vars, asked, err := b.Proxy()
	testenv.Must(t, err)
	defer func() { refused = asked() }()
	cmd.Env = append(cmd.Env, vars...)
	out, err := os.CreateTemp(t.TempDir(), "out")
	testenv.Must(t, err)
	defer func() { _ = out.Close() }()
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	end, err := begin(b, cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	b.Limited(cmd.Process.Pid)
	if err := cmd.Wait(); err != nil {
		text, _ := os.ReadFile(out.Name())
		return err.Error() + ": " + string(text), nil
	}
	return "", nil
}

// state returns the texts and modes of all files below folders.
func state(folders ...string) map[string]string {
	all := map[string]string{}
	for _, dir := range folders {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil {
				st, _ := d.Info()
				b, _ := os.ReadFile(path)
				all[path] = fmt.Sprint(st.Mode(), string(b))
			}
			return nil
		})
	}
	return all
}

// Programs by what they are after.
var (
	network   = []string{"connect", "connect with bash", "send a datagram", "serve"}
	otherwise = []string{"connect to an open socket"} // by a path: where no mounts can be made
	protects  = []string{
		"write a hook", "change a hook", "remove a hook", "remove the hooks", "make a hook executable",
		"write .git/config", "replace .git/config",
		"replace .git", "set an alias", "change a loop", "change a workflow", "change agent settings",
		"write commondir of another tree",
		"write config of a submodule", "set a hook by a worktree", "add a remote",
	}
	// Landlock lets them through
	modes = []string{
		"chmod a secret", "chown a secret", "touch an old date", "set an attribute outside",
		"set a mode outside",
	}
	// these are put back in any case: what is not there cannot be mounted
	added  = []string{"add settings of servers", "write .git/commondir"}
	system = []string{
		"raw socket in a namespace",
		"trace the runner", "kill the runner", "kill everything", "limit the runner", "read the memory of it",
		"take a file of it", "join its network",
		"join its mounts", "use keys", "load a program", "load a module", "set the clock", "name the machine",
		"measure the kernel", "use io_uring",
		"become root again", "type into the terminal", "raw socket", "packet socket", "audit socket", "vsock socket",
		"crypto socket", "key socket",
		"connect to a hidden name", "read the runner's environment", "read the runner's memory",
		"read the runner's files", "bind mount",
		"mount a tmpfs", "unmount what protects", "remount writable", "mount in a user namespace", "make a device",
		"pivot the root", "open by handle",
		"write through the root of the runner", "read through the runner", "write through the folder of the runner",
	}
)

// mountsRefuse are the programs that mounts alone refuse, and those that would undo the mounts.
var mountsRefuse = slices.Concat(protects, added, modes, otherwise, network, []string{
	"bind mount", "mount a tmpfs", "unmount what protects", "remount writable", "mount in a user namespace",
	"pivot the root", "become root again",
	"write through the root of the runner", "write ~/.bashrc", "read the runner's memory", "kill the runner",
	"raw socket in a namespace",
})

func TestHostilePrograms(t *testing.T) {
	t.Parallel()
	if landlockABI() == 0 {
		testenv.Skip(t, "Landlock")
	}
	all := slices.Sorted(maps.Keys(hostile))
	for _, mode := range []struct {
		name, preset string
		spaces       space
		allowed      []string // it may do these
		only         []string // nil = all programs are tried
		// of two in which a program is tried, unless all are: each is with namespaces and without
		turn int
	}{
		{"workspace", confine.Workspace, own(), slices.Concat(network, added), nil, 0},
		{"workspace by bubblewrap", confine.Workspace, spacesBubble, slices.Concat(network, added), mountsRefuse, 1},
		{
			"workspace without namespaces", confine.Workspace, spacesNone,
			slices.Concat(network, otherwise, protects, added, modes), nil, 1,
		},
		{"offline", confine.Offline, own(), nil, slices.Concat(system, network), 0},
		{"offline without namespaces", confine.Offline, spacesNone, nil, slices.Concat(system, network), 1},
		{"strict", confine.Strict, own(), added, nil, 1},
		{
			"strict without namespaces", confine.Strict, spacesNone, slices.Concat(otherwise, protects, added, modes),
			nil, 0,
		},
	} {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			if own() == spacesNone {
				testenv.Skip(t, "leave to make namespaces")
			}
			if mode.spaces == spacesBubble && !mayEnter(spacesBubble) {
				testenv.Skip(t, "a bwrap whose user namespace can be joined")
			}
			list, some := mode.only, !*testenv.Torture
			switch {
			case victims != "" && some:
				list, some = mountsRefuse, false
			case list == nil:
				list = all
			}
			for n, name := range list {
				if testenv.Raced && n%12 > 0 { // most of it are other processes
					continue
				}
				if some && slices.Index(all, name)%2 != mode.turn {
					continue
				}
				v := newVictim(t)
				b := v.box(t, &confine.Policy{Preset: mode.preset}, mode.spaces)
				b.rules.Write = slices.DeleteFunc(b.rules.Write, func(p string) bool {
					return strings.HasPrefix(p, "/var") && !within(p, v.tree)
				})
				outside := state(v.home, v.other)
				inside := state(b.rules.Protect...)
				// what git has of other trees was moved with it, and stays there
				if name == "replace .git" && mode.spaces == spacesNone {
					delete(inside, v.tree+"/.git/worktrees/other/commondir")
				}
				kept := b.Keep()
				said := v.try(t, b, name)
				if may := slices.Contains(mode.allowed, name); may && said != "" {
					t.Errorf("%s: may be done, and was refused: %s", name, said)
				} else if !may && said == "" {
					t.Errorf("%s: was not refused", name)
				}
				changed := kept.Restore(t.TempDir(), "1")
				if mode.preset == confine.Offline {
					continue
				}
				if now := state(v.home, v.other); !maps.Equal(now, outside) && !slices.Contains(mode.allowed, name) {
					t.Errorf("%s: files outside are not what they were: %q", name, now)
				}
				if now := state(b.rules.Protect...); !maps.Equal(now, inside) {
					t.Errorf("%s: protected files are not what they were: %+v", name, changed)
				}
			}
		})
	}
}

// The same for a user who is not root: mounts are made in a user namespace.
func TestHostileProgramsOfAnotherUser(t *testing.T) {
	t.Parallel()
	if testenv.Raced {
		return // what runs then are other processes
	}
	testenv.Root(t, "only root runs tests as another user")
	const uid = 54321
	dir, err := os.MkdirTemp("/var", "loops-user-*")
	testenv.Must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	self, err := os.Executable()
	testenv.Must(t, err)
	program := dir + "/sandbox.test"
	testenv.Must(t, exec.Command("install", "-m", "755", self, program).Run())
	for _, d := range []string{dir, dir + "/tmp"} {
		testenv.Must(t, os.MkdirAll(d, 0o755))
		testenv.Must(t, os.Chmod(d, 0o755))
		testenv.Must(t, os.Chown(d, uid, uid))
	}
	run := "-test.run=^(TestHostilePrograms|TestFriendlyPrograms|TestHostsByName|" +
		"TestCoveredPlaces|TestWhatIsNotStopped)$/^workspace( by bubblewrap)?$"
	if *testenv.Torture {
		run = "-test.run=."
	}
	cmd := exec.Command(program, run, fmt.Sprint("-torture=", *testenv.Torture))
	cmd.Dir, cmd.Env = dir, []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir + "/tmp",
		victimsVar + "=" + dir,
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: uid, Gid: uid},
		Pdeathsig:  syscall.SIGKILL,
	}
	if out, err := testenv.Output(cmd); err != nil {
		t.Errorf("%v: %.4000s", err, out)
	}
}

// A bwrap that is setuid makes a user namespace that its user cannot join: it counts as none.
func TestSetuidBubblewrap(t *testing.T) {
	t.Parallel()
	const inside = "LOOPS_SETUID_BWRAP"
	if os.Getenv(inside) != "" {
		if mayEnter(spacesBubble) {
			t.Error("commands join the namespace of a bwrap that is setuid")
		}
		return
	}
	testenv.Root(t, "only root makes programs setuid")
	bwrap := testenv.Command(t, "bwrap")
	dir, err := os.MkdirTemp("/var", "loops-bwrap-*")
	testenv.Must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	self, err := os.Executable()
	testenv.Must(t, err)
	testenv.Must(t, os.Chmod(dir, 0o755))
	testenv.Must(t, exec.Command("install", "-m", "755", self, dir+"/sandbox.test").Run())
	testenv.Must(t, exec.Command("install", "-m", "4755", bwrap, dir+"/bwrap").Run())
	cmd := exec.Command(dir+"/sandbox.test", "-test.run=^TestSetuidBubblewrap$")
	cmd.Dir, cmd.Env = "/", []string{"PATH=" + dir + ":" + os.Getenv("PATH"), inside + "=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: 54321, Gid: 54321},
		Pdeathsig:  syscall.SIGKILL,
	}
	if out, err := testenv.Output(cmd); err != nil {
		t.Errorf("%v: %.2000s", err, out)
	}
}

func TestFriendlyPrograms(t *testing.T) {
	t.Parallel()
	if landlockABI() == 0 {
		testenv.Skip(t, "Landlock")
	}
	for _, preset := range []string{confine.Workspace, confine.Offline, confine.Strict} {
		for spaces := range kinds() {
			if testenv.Raced && (preset != confine.Strict || spaces != own()) {
				continue
			}
			v := newVictim(t)
			b := v.box(t, &confine.Policy{Preset: preset}, spaces)
			for _, name := range slices.Sorted(maps.Keys(friendly)) {
				if said := v.try(t, b, name); said != "" {
					t.Errorf("%s: %s: %s", preset+kinds()[spaces], name, said)
				}
			}
		}
	}
}

// A fork bomb, a memory eater and a process that stays are held by what limits them.
func TestLimits(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	b := v.box(t, &confine.Policy{PIDs: 20, Memory: 200 << 20, CPUs: 1}, own())
	missing := strings.Join(b.Missing(), "; ")
	for _, c := range []struct{ name, word string }{
		{"start 100 processes", "processes"},
		{"fill the memory", "memory"},
	} {
		said := v.try(t, b, c.name)
		if strings.Contains(missing, c.word) {
			testenv.Skip(t, "a control group: "+missing)
		}
		if said == "" {
			t.Errorf("%s: was not refused", c.name)
		}
	}
	free := v.box(t, &confine.Policy{Preset: confine.Workspace}, own())
	if said := v.try(t, free, "start 100 processes"); said != "" {
		t.Errorf("without a limit: %s", said)
	}
}

// A list of hosts is reached by the proxy, and nothing else is.
func TestHostsByName(t *testing.T) {
	t.Parallel()
	if landlockABI() < abiNetwork {
		testenv.Skip(t, "Landlock of networks")
	}
	for spaces := range kinds() {
		v := newVictim(t)
		_, port, _ := net.SplitHostPort(v.tcp)
		b := v.box(t, &confine.Policy{
			Preset:  confine.Workspace,
			Network: []string{"LOCALHOST:" + port, "*.example.com:443"},
		}, spaces)
		for name, allowed := range map[string]bool{
			"ask the proxy": true, "ask the proxy for another": false, "connect": false, "send a datagram": false,
			"raw socket": false, "connect with bash": false,
		} {
			_, other, err := b.Proxy() // of a command beside it
			testenv.Must(t, err)
			said, refused := v.tryRefused(t, b, name)
			if (said == "") != allowed {
				t.Errorf("%s: allowed: %v, and it says %q", name+kinds()[spaces], allowed, said)
			}
			want := []string{}
			if name == "ask the proxy for another" {
				want = []string{"127.0.0.1:" + port}
			}
			if !slices.Equal(refused, want) {
				t.Errorf("%s: refused: %q, want %q", name+kinds()[spaces], refused, want)
			}
			if of := other(); len(of) > 0 {
				t.Errorf("%s: refused to another: %q", name+kinds()[spaces], of)
			}
		}
	}
	for network, want := range map[string]string{
		"localhost:1":       "a program can reach other hosts at the port of the proxy",
		confine.NetLoopback: "the network can be reached",
	} {
		b := newVictim(t).box(t, &confine.Policy{Preset: confine.Workspace, Network: []string{network}}, spacesNone)
		if missing := strings.Join(b.Missing(), "; "); !strings.Contains(missing, want) {
			t.Errorf("%s without namespaces: missing: %s", network, missing)
		}
	}
	for target, want := range map[string]bool{
		"a.example.com:443": true, "a.b.EXAMPLE.com:443": true,
		"example.com:443": false, "a.example.com:80": false, "evilexample.com:443": false,
	} {
		if confine.Reaches([]string{"*.example.com:443"}, target) != want {
			t.Errorf("%s: want %v", target, want)
		}
	}
}

// What an older Landlock does not limit is said, and it keeps commands from looking into other processes all the same.
func TestOlderLandlock(t *testing.T) {
	t.Parallel()
	if landlockABI() == 0 {
		testenv.Skip(t, "Landlock")
	}
	for _, preset := range []string{confine.Offline, confine.Workspace, confine.Strict} {
		for _, abi := range []int{1, abiNetwork} {
			v := newVictim(t)
			b := v.box(t, &confine.Policy{Preset: preset}, own())
			b.abi = abi
			if missing := strings.Join(b.Missing(), "; "); !strings.Contains(missing,
				"other processes can be sent signals") {
				t.Errorf("%s, %d: missing: %s", preset, abi, missing)
			}
			for _, name := range []string{
				"read the runner's environment", "read through the runner",
				"read the runner's files",
			} {
				if said := v.try(t, b, name); said == "" {
					t.Errorf("%s, %d: %s: was not refused", preset, abi, name)
				}
			}
			if said := v.try(t, b, "make a folder"); said != "" {
				t.Errorf("%s, %d: make a folder: %s", preset, abi, said)
			}
		}
	}
}

// Sockets of terminals and displays, and what is sealed in the folders of runs, are not there.
func TestCoveredPlaces(t *testing.T) {
	t.Parallel()
	if landlockABI() == 0 || own() == spacesNone {
		testenv.Skip(t, "leave to make namespaces")
	}
	v := newVictim(t)
	session, runs := filepath.Dir(v.home)+"/session", v.tree+"/.loops/runs"
	for _, dir := range []string{session, runs + "/a", runs + "/b"} {
		testenv.Must(t, os.MkdirAll(dir, 0o700))
	}
	testenv.WriteText(t, session+"/wayland-0", "x")
	testenv.WriteText(t, runs+"/b/"+sealedFile, "secret")
	r := Resolve([]*confine.Policy{{Preset: confine.Workspace}},
		Place{Dir: v.tree, RunDir: runs + "/a", Env: []string{"HOME=" + v.home, "XDG_RUNTIME_DIR=" + session}})
	b := New(r)
	t.Cleanup(b.Close)
	run := func() string {
		cmd := exec.Command("bash", "-c",
			`ls "$S"; cat "$R"/*/.sealed; echo x > "$R/b/.sealed"; rm -f "$R/b/.sealed"; echo y > "$R/a/f"; cat "$R/a/f"`)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "S=" + session, "R=" + runs}
		out, err := os.CreateTemp(t.TempDir(), "out")
		testenv.Must(t, err)
		defer func() { _ = out.Close() }()
		cmd.Stdout = out
		end, err := begin(b, cmd)
		testenv.Must(t, err)
		defer end()
		_ = cmd.Wait()
		return textOf(t, out.Name())
	}
	if got := run(); got != "y\n" {
		t.Errorf("it printed %q", got)
	}
	testenv.WriteText(t, runs+"/a/"+sealedFile, "own secret")
	if got := run(); got != "y\n" {
		t.Errorf("with a file of its own, it printed %q", got)
	}
	for path, want := range map[string]string{runs + "/a/": "own secret", runs + "/b/": "secret"} {
		if got := textOf(t, path+sealedFile); got != want {
			t.Errorf("%s is %q", path, got)
		}
	}
}

// A thread that is renewed leaves no server.
func TestRenewedStarters(t *testing.T) {
	t.Parallel()
	if landlockABI() == 0 || !mayNamespace() {
		testenv.Skip(t, "leave to make namespaces")
	}
	v := newVictim(t)
	b := v.box(t, &confine.Policy{Preset: confine.Workspace, Network: []string{"localhost:1"}}, spacesRoot)
	var before []*http.Server
	for n := range 3 {
		testenv.WriteText(t, v.tree+"/.mcp.json", fmt.Sprint(n))
		testenv.Must(t, os.Rename(v.tree+"/.mcp.json", v.tree+"/.claude/settings.json"))
		if said := v.try(t, b, "make a folder"); said != "" {
			t.Fatal(said)
		}
		before = append(before, b.starter.proxy.(*http.Server))
	}
	for n, s := range before[:2] {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		testenv.Must(t, err)
		_ = l.Close() // a server that is not closed says so
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("server %d: %v", n, err)
		}
	}
}

// BenchmarkStart starts bash bare and in a sandbox by turns, and reports how many times as long the median of
// the second takes: "times" is what is asked to be at most 1.06 without namespaces.
func BenchmarkStart(b *testing.B) {
	at := Place{Dir: b.TempDir(), Env: os.Environ()}
	spawn := func(start func(*exec.Cmd) (func(), error)) time.Duration {
		begun := time.Now()
		cmd := exec.Command("bash", "-c", "true")
		end, err := start(cmd)
		if err != nil {
			b.Fatal(err)
		}
		_ = cmd.Wait()
		end()
		return time.Since(begun)
	}
	bare := func(cmd *exec.Cmd) (func(), error) { return func() {}, cmd.Start() }
	for spaces, name := range kinds() {
		b.Run("workspace"+name, func(b *testing.B) {
			box := New(Resolve([]*confine.Policy{{Preset: confine.Workspace}}, at))
			defer box.Close()
			box.use(spaces)
			boxedStart := func(cmd *exec.Cmd) (func(), error) { return begin(box, cmd) }
			var plain, boxed []time.Duration
			for b.Loop() {
				plain, boxed = append(plain, spawn(bare)), append(boxed, spawn(boxedStart))
			}
			slices.Sort(plain)
			slices.Sort(boxed)
			b.ReportMetric(float64(boxed[len(boxed)/2])/float64(plain[len(plain)/2]), "times")
		})
	}
}
