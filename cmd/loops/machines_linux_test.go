package main_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"loops/internal/testenv"
)

// A host is a machine as the network sees it: a network and a name of its own, and one link to this one.
type host struct {
	t                 *testing.T
	name, namespace   string
	link              string // its end here
	ours, theirs, net string
}

// newHost makes a host, which goes with the test.
func newHost(t *testing.T, n int) *host {
	t.Helper()
	pid := os.Getpid()
	at := func(last int) string { return fmt.Sprintf("10.231.%d.%d", pid%250, 4*n+last) }
	h := &host{
		t, fmt.Sprintf("build%d", n), fmt.Sprintf("loops-%d-%d", pid, n),
		fmt.Sprintf("lp%d-%d", pid%100000, n), at(1), at(2), at(0) + "/30",
	}
	h.ip("netns", "add", h.namespace)
	t.Cleanup(func() { h.ip("netns", "del", h.namespace) }) // and the link with it
	h.ip("link", "add", h.link, "type", "veth", "peer", "name", "eth0", "netns", h.namespace)
	h.ip("addr", "add", h.ours+"/30", "dev", h.link)
	h.ip("link", "set", h.link, "up")
	h.ip("-n", h.namespace, "addr", "add", h.theirs+"/30", "dev", "eth0")
	h.ip("-n", h.namespace, "link", "set", "eth0", "up")
	h.ip("-n", h.namespace, "link", "set", "lo", "up")
	return h
}

func (h *host) ip(args ...string) {
	h.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		h.t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// command runs a line of bash on the host.
func (h *host) command(f fleet, line string) *exec.Cmd {
	cmd := exec.Command("ip", "netns", "exec", h.namespace, "unshare", "-u", "sh", "-c",
		`hostname `+h.name+` && exec bash -c "$1"`, "sh", line)
	cmd.Dir, cmd.Env = f.dir, append(os.Environ(), "PATH="+filepath.Dir(binary(f.t))+":"+os.Getenv("PATH"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// firstTry is what docs/machines.md has its readers type: in each terminal, in the first two, in the third.
func firstTry(t *testing.T) (each, worker, third string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/machines.md")
	must(t, err)
	_, section, found := strings.Cut(string(page), "\n## A first try\n")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := regexp.MustCompile("(?s)```bash\n(.*?)```").FindAllStringSubmatch(section, -1)
	if !found || len(blocks) != 3 {
		t.Fatalf("the tutorial has %d blocks", len(blocks))
	}
	return blocks[0][1], blocks[1][1], blocks[2][1]
}

// TestMachinesTutorial types what docs/machines.md says, on two machines with a worker each and here. The
// worker that has the run is killed, and the other one continues it; then the network of that one fails, and
// when it is back the run was continued by a third.
func TestMachinesTutorial(t *testing.T) {
	t.Parallel()
	testenv.Root(t, "makes network namespaces")
	testenv.Command(t, "ip")
	each, work, third := firstTry(t)
	f := fleetOn(t, ownPostgres(t), "2s")
	f.write(".loops/fix.yaml", strings.Replace(threeSteps, "name: three", "name: fix", 1))
	one, two := newHost(t, 1), newHost(t, 2)
	must(t, f.server.Write("machines_hba.conf",
		fmt.Sprintf("local all all trust\nhost all all %s trust\nhost all all %s trust\n", one.net, two.net)))
	free, err := net.Listen("tcp", one.ours+":0")
	must(t, err)
	f.server.Port = free.Addr().(*net.TCPAddr).Port
	must(t, free.Close())
	must(t, f.server.Stop())
	must(t, f.server.Configure("listen_addresses = '"+one.ours+","+two.ours+"'",
		"hba_file = '"+filepath.Join(f.server.Dir, "data/machines_hba.conf")+"'"))
	must(t, f.server.Launch(t.Context()))
	setting := regexp.MustCompile(`postgres://USER@HOST/NAME\?lease=6s`)
	if !setting.MatchString(each) {
		t.Fatalf("in each terminal: %s", each)
	}
	from := func(address string) string {
		return setting.ReplaceAllString(each,
			fmt.Sprintf(
				"postgres://loops@%s:%d/postgres?sslmode=disable&search_path=fleet&connect_timeout=2&lease=2s",
				address, f.server.Port))
	}
	f.store = fmt.Sprintf(
		"postgres://loops@%s:%d/postgres?sslmode=disable&search_path=fleet&connect_timeout=30&lease=2s", one.ours,
		f.server.Port)
	start := func(h *host) *exec.Cmd {
		t.Helper()
		log, err := os.OpenFile(filepath.Join(f.dir, "worker."+h.name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		must(t, err)
		cmd := h.command(f, from(h.ours)+"exec "+strings.TrimSpace(work))
		cmd.Stderr = log
		must(t, testenv.OnLastingThread(cmd.Start))
		must(t, log.Close())
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			if t.Failed() {
				b, _ := os.ReadFile(log.Name())
				t.Logf("worker of %s:\n%s", h.name, b)
			}
		})
		return cmd
	}
	workers := map[string]*exec.Cmd{one.name: start(one), two.name: start(two)}
	f.until("both workers are there", func() bool {
		return strings.Count(f.loops("workers", "--json"), `"worker_id"`) == 2
	})

	here := exec.Command("bash", "-c", from(one.ours)+third)
	here.Dir, here.Env = f.dir, append(os.Environ(), "PATH="+filepath.Dir(binary(t))+":"+os.Getenv("PATH"))
	out, err := here.CombinedOutput()
	if must(t, err); !strings.Contains(string(out), " is queued in default.") ||
		!strings.Contains(string(out), "WORKER") {
		t.Fatalf("the third terminal says\n%s", out)
	}
	const has = `.[] | select(.gone | not) | select(.runs != []) | "\(.host) \(.pid) \(.runs[0])"`
	var name, id string
	var pid int
	owner := func() bool {
		words := strings.Fields(strings.ReplaceAll(f.loops("workers", "--json", "--jq", has), `"`, ""))
		if len(words) != 3 {
			return false
		}
		name, id = words[0], words[2]
		pid, _ = strconv.Atoi(words[1])
		return true
	}
	f.until("a worker has the run", func() bool { return len(f.lines("steps")) == 2 && owner() })
	first := name
	must(t, syscall.Kill(pid, syscall.SIGKILL))
	f.until("the other worker has the run", func() bool { return len(f.lines("steps")) == 3 })
	_ = workers[first].Wait()
	f.until("the list shows who has the run", func() bool { return owner() && name != first })

	cut := one
	if name == two.name {
		cut = two
	}
	f.store = strings.Replace(f.store, one.ours, map[bool]string{true: two.ours, false: one.ours}[cut == one], 1)
	cut.ip("link", "set", cut.link, "down")
	survivor := one
	if cut == one {
		survivor = two
	}
	start(survivor)
	f.until("the run continues where the network is", func() bool { return len(f.lines("steps")) == 4 })
	cut.ip("link", "set", cut.link, "up")
	f.write("go", "")
	f.until("the run is over", func() bool { return f.status(id) == "completed" })
	must(t, workers[cut.name].Process.Signal(syscall.SIGTERM))
	_ = workers[cut.name].Wait() // what it might still have done is done
	if got := strings.Join(f.lines("steps"), " "); got != "a b b b B c" {
		t.Errorf("the steps were %s", got)
	}
	f.wholeHistory(id, "a b c")
	if out := f.loops("history", id); !strings.Contains(out, "loop_complete") {
		t.Errorf("the history is\n%s", out)
	}
}
