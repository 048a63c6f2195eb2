package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A victim is what hostile programs are after. They find it by variables of their environment.
type victim struct {
	home, tree, other string // other is a folder beside the work tree
	tcp, udp          string // addresses of a server of this machine
	unix, abstract    string // sockets of programs outside
	runner            int    // the process that started the program
}

func victimOf() victim {
	n, _ := strconv.Atoi(os.Getenv("V_RUNNER"))
	return victim{
		os.Getenv("V_HOME"), os.Getenv("V_TREE"), os.Getenv("V_OTHER"), os.Getenv("V_TCP"),
		os.Getenv("V_UDP"), os.Getenv("V_UNIX"), os.Getenv("V_ABSTRACT"), n,
	}
}

func (v victim) env(program string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + v.home, "LOOPS_HOSTILE=" + program, "V_HOME=" + v.home,
		"V_TREE=" + v.tree, "V_OTHER=" + v.other,
		"V_TCP=" + v.tcp, "V_UDP=" + v.udp, "V_UNIX=" + v.unix, "V_ABSTRACT=" + v.abstract,
		"V_RUNNER=" + strconv.Itoa(v.runner),
		"V_FILES=" + filesOfCommands(), "V_OPEN=" + openFiles(),
	}
}

// openFiles are the descriptors of this process that others it starts have too, but for the first three.
func openFiles() (list string) {
	for fd := uintptr(3); fd < 200; fd++ {
		if flags, err := unix.FcntlInt(fd, unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			list += fmt.Sprint(" ", fd)
		}
	}
	return list
}

// filesOfCommands is how many files a command may have open that is in no sandbox.
var filesOfCommands = sync.OnceValue(func() string {
	out, _ := exec.Command("bash", "-c", "ulimit -Sn").Output()
	return strings.TrimSpace(string(out))
})

func write(path string) error { return os.WriteFile(path, []byte("hacked"), 0o644) }

func read(path string) error {
	b, err := os.ReadFile(path)
	if err == nil && len(b) == 0 {
		return errors.New("it is empty")
	}
	return err
}

func call(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, e := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); e != 0 {
		return e
	}
	return nil
}

func socket(domain, typ, protocol int) error {
	fd, err := unix.Socket(domain, typ, protocol)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err
}

func dial(network, address string) error {
	c, err := net.DialTimeout(network, address, 5*time.Second)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	if network == "udp" {
		_, _ = c.Write([]byte("hello"))
	}
	var b [5]byte
	_, err = c.Read(b[:])
	return err
}

// race does a thing again and again while another moves what it goes through.
func race(move, try func() error) error {
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = move()
			}
		}
	}()
	err := errors.New("never tried")
	for range 2000 {
		if err = try(); err == nil {
			return nil
		}
	}
	return err
}

func chars(s string) uintptr {
	b, _ := unix.BytePtrFromString(s)
	return uintptr(unsafe.Pointer(b))
}

// hostile are the programs: each returns nil when it did what it is not to do.
var hostile = map[string]func(v victim) error{
	// writes
	"write ~/.ssh/authorized_keys": func(v victim) error { return write(v.home + "/.ssh/authorized_keys") },
	"write ~/.bashrc":              func(v victim) error { return write(v.home + "/.bashrc") },
	"make a file in ~":             func(v victim) error { return write(v.home + "/new") },
	"make a folder in ~":           func(v victim) error { return os.Mkdir(v.home+"/newdir", 0o755) },
	"write beside the tree":        func(v victim) error { return write(v.other + "/file") },
	"write by ..":                  func(v victim) error { return write(v.tree + "/../other/file") },
	"write /etc":                   func(victim) error { return write("/etc/loops-hostile") },
	"write /usr/local/bin":         func(victim) error { return write("/usr/local/bin/loops-hostile") },
	"write /proc/sys": func(victim) error {
		return os.WriteFile("/proc/sys/kernel/core_pattern", []byte("core\n"), 0)
	},
	"write /sys": func(victim) error {
		return os.WriteFile("/sys/kernel/mm/ksm/run", []byte("0"), 0)
	},
	"write a disk":  func(victim) error { return openDisk(os.O_WRONLY) },
	"empty a file":  func(v victim) error { return os.Truncate(v.other+"/file", 0) },
	"remove a file": func(v victim) error { return os.Remove(v.other + "/file") },
	"remove ~": func(v victim) error {
		return errors.Join(os.RemoveAll(v.other), os.RemoveAll(v.home))
	},
	"move a file in": func(v victim) error { return os.Rename(v.other+"/file", v.tree+"/file") },
	"move a file out": func(v victim) error {
		return errors.Join(write(v.tree+"/x"), os.Rename(v.tree+"/x", v.other+"/x"))
	},
	"write through a link": func(v victim) error {
		_ = os.Symlink(v.home+"/.bashrc", v.tree+"/link")
		return write(v.tree + "/link")
	},
	"write through a hard link": func(v victim) error {
		if err := os.Link(v.other+"/file", v.tree+"/hard"); err != nil {
			return err
		}
		return write(v.tree + "/hard")
	},
	"write through a link that moves": func(v victim) error {
		_ = os.Mkdir(v.tree+"/in", 0o755)
		n := 0
		return race(func() error {
			n++
			_ = os.Remove(v.tree + "/way")
			return os.Symlink([]string{v.tree + "/in", v.other}[n%2], v.tree+"/way")
		}, func() error {
			_ = write(v.tree + "/way/raced")
			_, err := os.Stat(v.other + "/raced")
			return err
		})
	},
	"write through a folder that moves": func(v victim) error {
		_ = os.MkdirAll(v.tree+"/a/b", 0o755)
		return race(func() error {
			_ = os.Rename(v.tree+"/a/b", v.tree+"/b")
			return os.Rename(v.tree+"/b", v.tree+"/a/b")
		}, func() error { return write(v.tree + "/a/b/../../other/raced2") })
	},
	"write through the root of the runner": func(v victim) error {
		return write(fmt.Sprintf("/proc/%d/root%s/file", v.runner, v.other))
	},
	"write through the folder of the runner": func(v victim) error {
		return write(fmt.Sprintf("/proc/%d/cwd/hacked", v.runner))
	},
	"write the program of the runner": func(v victim) error {
		return opens(fmt.Sprintf("/proc/%d/exe", v.runner), os.O_WRONLY)
	},
	"write through the own root": func(v victim) error {
		return write("/proc/self/root" + v.other + "/file")
	},
	"bind mount": func(v victim) error {
		return unix.Mount(v.other, v.tree, "", unix.MS_BIND, "")
	},
	"mount a tmpfs": func(v victim) error {
		return unix.Mount("none", v.tree, "tmpfs", 0, "")
	},
	"unmount what protects": func(v victim) error {
		return unix.Unmount(v.tree+"/.git/hooks", unix.MNT_DETACH)
	},
	"remount writable": func(v victim) error {
		return unix.Mount("", v.tree+"/.git/hooks", "", unix.MS_BIND|unix.MS_REMOUNT, "")
	},
	"mount in a user namespace": func(victim) error {
		return bash(`unshare -Urm mount -t tmpfs none /mnt`)
	},
	"make a device": func(v victim) error {
		return unix.Mknod(v.tree+"/disk", unix.S_IFBLK|0o600, int(unix.Mkdev(254, 0)))
	},
	"pivot the root": func(v victim) error { return unix.PivotRoot(v.tree, v.tree) },
	"open by handle": openByHandle,
	"make ~/.ssh/authorized_keys with bash": func(victim) error {
		return bash(`echo hacked >> ~/.ssh/authorized_keys`)
	},
	"write with a child that left its session": func(v victim) error {
		return bash(`setsid bash -c 'echo hacked > "$V_OTHER/file"'`)
	},

	// reads
	"read ~/.aws/credentials":    func(v victim) error { return read(v.home + "/.aws/credentials") },
	"read ~/.ssh/id":             func(v victim) error { return read(v.home + "/.ssh/id") },
	"read ~/.netrc":              func(v victim) error { return read(v.home + "/.netrc") },
	"read ~/.ssh/id by its root": func(v victim) error { return read("/proc/self/root" + v.home + "/.ssh/id") },
	"read through the runner": func(v victim) error {
		return read(fmt.Sprintf("/proc/%d/root%s/.ssh/id", v.runner, v.home))
	},
	"read /etc/shadow":              func(victim) error { return read("/etc/shadow") },
	"read the runner's environment": func(v victim) error { return read(fmt.Sprintf("/proc/%d/environ", v.runner)) },
	"read the runner's memory": func(v victim) error {
		f, err := os.Open(fmt.Sprintf("/proc/%d/mem", v.runner))
		if err == nil {
			_ = f.Close()
		}
		return err
	},
	"read the runner's files": func(v victim) error {
		_, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/0", v.runner))
		return err
	},
	"read a disk": func(victim) error { return openDisk(os.O_RDONLY) },
	"read a secret through a link": func(v victim) error {
		_ = os.Symlink(v.home+"/.aws", v.tree+"/aws")
		return read(v.tree + "/aws/credentials")
	},
	"read a secret through a hard link": func(v victim) error {
		_ = os.Link(v.home+"/.aws/credentials", v.tree+"/creds")
		return read(v.tree + "/creds")
	},
	"read a secret after a move": func(v victim) error {
		_ = os.Rename(v.home+"/.aws", v.tree+"/aws2")
		return read(v.tree + "/aws2/credentials")
	},
	"read a secret with bash": func(victim) error { return bash(`test -n "$(cat ~/.aws/credentials)"`) },
	"read a secret through a link that moves": func(v victim) error {
		_ = os.WriteFile(v.tree+"/plain", nil, 0o644)
		n := 0
		return race(func() error {
			n++
			_ = os.Remove(v.tree + "/way2")
			return os.Symlink([]string{v.tree + "/plain", v.home + "/.aws/credentials"}[n%2], v.tree+"/way2")
		}, func() error { return read(v.tree + "/way2") })
	},

	// other processes and the kernel
	"trace the runner": func(v victim) error { return unix.PtraceAttach(v.runner) },
	"kill the runner":  func(v victim) error { return unix.Kill(v.runner, syscall.SIGUSR2) },
	"kill everything":  func(victim) error { return everything() },
	"limit the runner": func(v victim) error {
		return unix.Prlimit(v.runner, unix.RLIMIT_CORE, &unix.Rlimit{}, nil)
	},
	"read the memory of it": func(v victim) error { return call(unix.SYS_PROCESS_VM_READV, uintptr(v.runner)) },
	"take a file of it":     func(v victim) error { return takeFile(v.runner) },
	"join its network":      func(v victim) error { return joinSpace(v.runner, "net") },
	"join its mounts":       func(v victim) error { return joinSpace(v.runner, "mnt") },
	"use keys": func(victim) error {
		return call(unix.SYS_ADD_KEY, chars("user"), chars("loops"), chars("x"), 1, ^uintptr(3))
	},
	"load a program": func(victim) error {
		var a [128]byte
		return call(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&a)), 128)
	},
	"load a module":      func(victim) error { return call(unix.SYS_FINIT_MODULE, 0, chars(""), 0) },
	"set the clock":      func(victim) error { return setClock() },
	"name the machine":   func(victim) error { return unix.Sethostname([]byte("hacked")) },
	"measure the kernel": func(victim) error { return call(unix.SYS_PERF_EVENT_OPEN) },
	"use io_uring": func(victim) error {
		var a [120]byte
		return call(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&a)))
	},
	"become root again":       func(victim) error { return bash(`su nobody -s /bin/true && sudo -n true`) },
	"type into the terminal":  func(victim) error { return typeIn() },
	"change what the file is": func(v victim) error { return write(fmt.Sprintf("/proc/%d/oom_score_adj", v.runner)) },

	// the network
	"connect":                   func(v victim) error { return dial("tcp", v.tcp) },
	"connect with bash":         func(v victim) error { return bash(`exec 3<>/dev/tcp/${V_TCP%:*}/${V_TCP#*:}`) },
	"send a datagram":           func(v victim) error { return dial("udp", v.udp) },
	"serve":                     func(victim) error { return serve() },
	"connect to an open socket": func(v victim) error { return dial("unix", v.unix) },
	"connect to a hidden name":  func(v victim) error { return dial("unix", v.abstract) },
	"raw socket":                func(victim) error { return socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) },
	"packet socket":             func(victim) error { return socket(unix.AF_PACKET, unix.SOCK_RAW, 0) },
	"audit socket": func(victim) error {
		return socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT)
	},
	"vsock socket":  func(victim) error { return socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0) },
	"crypto socket": func(victim) error { return socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0) },
	"key socket":    func(victim) error { return socket(unix.AF_KEY, unix.SOCK_RAW, 2) },
	"raw socket in a namespace": func(victim) error {
		return bash(`unshare -Urn bash -c 'exec 3<>/dev/udp/127.0.0.1/9'`)
	},

	// protected files of the work tree
	"write a hook":           func(v victim) error { return write(v.tree + "/.git/hooks/pre-commit") },
	"change a hook":          func(v victim) error { return write(v.tree + "/.git/hooks/sample") },
	"remove a hook":          func(v victim) error { return os.Remove(v.tree + "/.git/hooks/sample") },
	"remove the hooks":       func(v victim) error { return os.RemoveAll(v.tree + "/.git/hooks") },
	"make a hook executable": func(v victim) error { return os.Chmod(v.tree+"/.git/hooks/sample", 0o777) },
	"write .git/config":      func(v victim) error { return write(v.tree + "/.git/config") },
	"replace .git/config": func(v victim) error {
		return errors.Join(write(v.tree+"/c"), os.Rename(v.tree+"/c", v.tree+"/.git/config"))
	},
	"replace .git":         replaceGit,
	"write .git/commondir": func(v victim) error { return write(v.tree + "/.git/commondir") },
	"write commondir of another tree": func(v victim) error {
		return write(v.tree + "/.git/worktrees/other/commondir")
	},
	"write config of a submodule": func(v victim) error { return write(v.tree + "/.git/modules/a/config") },
	"set an alias": func(v victim) error {
		return bash(`git -C "$V_TREE" config alias.st '!echo hacked'`)
	},
	"change a loop":           func(v victim) error { return write(v.tree + "/.loops/fix.yaml") },
	"change a workflow":       func(v victim) error { return write(v.tree + "/.github/workflows/ci.yaml") },
	"change agent settings":   func(v victim) error { return write(v.tree + "/.claude/settings.json") },
	"add settings of servers": func(v victim) error { return write(v.tree + "/.mcp.json") },
}

// greedy are programs that use too much.
var greedy = map[string]func(v victim) error{
	"start 100 processes": func(victim) error {
		var all []*exec.Cmd
		var err error
		for range 100 {
			cmd := exec.Command("sleep", "30")
			if err = cmd.Start(); err != nil {
				break
			}
			all = append(all, cmd)
		}
		for _, cmd := range all {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		return err
	},
	"fill the memory": func(victim) error {
		var all [][]byte
		for range 300 {
			b := make([]byte, 1<<20)
			for i := 0; i < len(b); i += 1 << 12 {
				b[i] = 1
			}
			all = append(all, b)
		}
		if len(all) != 300 {
			return errors.New("some are missing")
		}
		return nil
	},
}

// asking are programs that reach hosts as they are to.
var asking = map[string]func(v victim) error{
	"ask the proxy": func(v victim) error {
		return askProxy("localhost" + v.tcp[strings.LastIndex(v.tcp, ":"):])
	},
	"ask the proxy for another": func(v victim) error { return askProxy(v.tcp) },
}

// signalAtDeath is the signal that this process gets at the death of its parent. Only its first thread has one,
// and package variables are set on that.
var signalAtDeath = func() syscall.Signal {
	var signal int32
	_, _, _ = unix.Syscall(unix.SYS_PRCTL, unix.PR_GET_PDEATHSIG, uintptr(unsafe.Pointer(&signal)), 0)
	return syscall.Signal(signal)
}()

// friendly are programs that have to work in every sandbox.
var friendly = map[string]func(v victim) error{
	"write in the tree": func(v victim) error { return write(v.tree + "/new") },
	"make a folder":     func(v victim) error { return os.MkdirAll(v.tree+"/d/e", 0o755) },
	"move in the tree": func(v victim) error {
		return errors.Join(write(v.tree+"/m"), os.Rename(v.tree+"/m", v.tree+"/d/m"))
	},
	"read the system": func(victim) error { return read("/etc/passwd") },
	"use bash": func(victim) error {
		return bash(`echo $(cat <(echo a)) > /dev/null; cat <<< b > /dev/stdout | cat`)
	},
	"read .git/config":      func(v victim) error { return read(v.tree + "/.git/config") },
	"commit":                func(v victim) error { return bash(`cd "$V_TREE" && git add -A . && git commit -qm x`) },
	"start and end a child": func(victim) error { return bash(`sleep 100 & kill $!; wait $!; test $? = 143`) },
	"make a pipe":           func(v victim) error { return unix.Mkfifo(v.tree+"/pipe", 0o600) },
	"serve in the tree": func(v victim) error {
		l, err := net.Listen("unix", v.tree+"/s")
		if err == nil {
			_ = l.Close()
		}
		return err
	},
	// with a group, a signal at the death of its parent, a place, and files
	"begin as any command": func(v victim) error {
		dir, err := os.Getwd()
		if err != nil || dir != v.tree || unix.Getpgrp() != os.Getpid() || signalAtDeath != syscall.SIGKILL {
			return fmt.Errorf("in %s, group %d of %d, signal %d: %v", dir, unix.Getpgrp(), os.Getpid(), signalAtDeath,
				err)
		}
		if got := openFiles(); got != os.Getenv("V_OPEN") {
			return fmt.Errorf("it has the descriptors %s", got)
		}
		return bash(`test "$(ulimit -Sn)" = "$V_FILES" && grep -q "^SigBlk:.0*$" /proc/$$/status`)
	},
	"lock a file": func(v victim) error { return bash(`cd "$V_TREE" && exec 9>lock && flock 9`) },
}

// askProxy connects to a host and port by the proxy of the environment.
func askProxy(target string) error {
	c, err := net.DialTimeout("tcp", strings.TrimPrefix(os.Getenv("HTTPS_PROXY"), "http://"), 5*time.Second)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target); err != nil {
		return err
	}
	b, _ := io.ReadAll(c)
	if !strings.HasSuffix(string(b), "\r\n\r\nhello") {
		return fmt.Errorf("the proxy says %q", b)
	}
	return nil
}

func bash(script string) error {
	out, err := exec.Command("bash", "-c", script).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

func openDisk(flag int) error {
	disks, err := filepath.Glob("/dev/[vs]d[a-z]")
	if more, _ := filepath.Glob("/dev/nvme?n?"); err == nil {
		disks = append(disks, more...)
	}
	if len(disks) == 0 {
		return fs.ErrPermission
	}
	f, err := os.OpenFile(disks[0], flag, 0)
	if err == nil {
		_ = f.Close()
	}
	return err
}

func openByHandle(v victim) error {
	h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, v.tree, 0)
	if err != nil {
		return err
	}
	at, err := unix.Open(v.tree, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	fd, err := unix.OpenByHandleAt(at, h, unix.O_RDONLY)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err
}

// everything sends a signal to all processes that it can be sent to, and reports whether another than this got it.
func everything() error {
	self, sent := os.Getpid(), 0
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && pid > 1 && pid != self && unix.Kill(pid, 0) == nil {
			sent++
		}
	}
	if sent == 0 {
		return fs.ErrPermission
	}
	return nil
}

func takeFile(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	got, err := unix.PidfdGetfd(fd, 2, 0)
	if err == nil {
		_ = unix.Close(got)
	}
	return err
}

func joinSpace(pid int, kind string) error {
	f, err := os.Open(fmt.Sprintf("/proc/%d/ns/%s", pid, kind))
	if err != nil {
		return err
	}
	return unix.Setns(int(f.Fd()), 0)
}

func setClock() error {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME, &now); err != nil {
		return err
	}
	return unix.ClockSettime(unix.CLOCK_REALTIME, &now)
}

// typeIn types into a terminal of its own, as into that of the user.
func typeIn() error {
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	c := byte('x')
	return call(unix.SYS_IOCTL, f.Fd(), ioctlTIOCSTI, uintptr(unsafe.Pointer(&c)))
}

func serve() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err == nil {
		_ = c.Close()
	}
	return err
}

func replaceGit(v victim) error {
	if err := os.Rename(v.tree+"/.git", v.tree+"/old"); err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(v.tree+"/.git/hooks", 0o755), write(v.tree+"/.git/hooks/pre-commit"))
}

// act runs the program of this name, prints its error, and returns its exit code.
func act(name string) int {
	f := hostile[name]
	for _, more := range []map[string]func(victim) error{friendly, greedy, asking, open} {
		if f == nil {
			f = more[name]
		}
	}
	if err := f(victimOf()); err != nil {
		fmt.Println(strings.ReplaceAll(err.Error(), "\n", " "))
		return 1
	}
	return 0
}
