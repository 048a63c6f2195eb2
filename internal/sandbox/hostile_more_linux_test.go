package sandbox

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// homeFiles are files that a program or a shell of the user runs, or takes settings from, when nobody looks.
var homeFiles = []string{
	".profile", ".zshrc", ".vimrc", ".gitconfig", ".npmrc", ".ssh/config", ".ssh/rc", ".config/autostart/x.desktop",
	".config/systemd/user/x.service",
	".local/bin/git", ".config/git/config", ".config/pip/pip.conf", ".cargo/config.toml", ".docker/config.json",
	".kube/config",
	".claude/settings.json", ".codex/config.toml", ".config/loops/config.yaml", ".local/share/applications/x.desktop",
	".gnupg/gpg.conf",
}

// systemFiles are the like of the system.
var systemFiles = []string{
	"/etc/cron.d/loops-hostile", "/etc/ld.so.preload.loops-hostile", "/etc/profile.d/loops-hostile.sh",
	"/etc/sudoers.d/loops-hostile",
	"/usr/bin/loops-hostile", "/usr/lib/loops-hostile", "/opt/loops-hostile", "/run/loops-hostile",
	"/root/.loops-hostile", "/boot/loops-hostile",
	"/var/spool/cron/loops-hostile", "/srv/loops-hostile",
}

// secretFiles are among what a workspace does not let read.
var secretFiles = []string{
	".kube/config", ".docker/config.json", ".gnupg/key", ".config/gh/hosts.yml", ".config/gcloud/credentials.db",
	".git-credentials", ".pgpass",
	".pypirc", ".azure/token", ".password-store/a.gpg", ".mozilla/cookies", ".vault-token", ".my.cnf",
	".config/rclone/rclone.conf",
}

func init() {
	for _, name := range homeFiles {
		hostile["write ~/"+name] = func(v victim) error {
			_ = os.MkdirAll(filepath.Dir(v.home+"/"+name), 0o755)
			return write(v.home + "/" + name)
		}
	}
	for _, path := range systemFiles {
		hostile["write "+path] = func(victim) error {
			err := write(path)
			if err == nil {
				_ = os.Remove(path)
			}
			return err
		}
	}
	for _, name := range secretFiles {
		hostile["read ~/"+name] = func(v victim) error { return read(v.home + "/" + name) }
	}
	for name, script := range scripts {
		hostile[name] = func(victim) error { return bash(script) }
	}
	for name, f := range calls {
		hostile[name] = func(v victim) error { return f(v) }
	}
	for name, numbers := range protocols {
		hostile[name] = func(victim) error { return socket(numbers[0], numbers[1], numbers[2]) }
	}
	system = append(system, inSystem...)
	for name := range maps.Keys(protocols) {
		system = append(system, name)
	}
}

// scripts are what a careless or misled agent runs.
var scripts = map[string]string{
	"rm -rf ~":                      `rm -rf "$HOME"/.bashrc "$HOME"/.ssh; test ! -e "$HOME/.bashrc"`,
	"rm -rf beside":                 `rm -rf "$V_OTHER"; test ! -e "$V_OTHER/file"`,
	"find -delete":                  `find "$V_OTHER" -type f -delete; test ! -e "$V_OTHER/file"`,
	"cp over":                       `cp "$V_TREE/file" "$V_OTHER/file"`,
	"mv over":                       `cp "$V_TREE/file" "$V_TREE/f2"; mv "$V_TREE/f2" "$V_OTHER/file" </dev/null`,
	"dd over":                       `dd if=/dev/zero of="$V_OTHER/file" count=1`,
	"tee over":                      `echo hacked | tee "$V_OTHER/file"`,
	"sed -i outside":                `sed -i s/mine/hacked/ "$V_OTHER/file"`,
	"install outside":               `install -m 755 "$V_TREE/file" "$V_OTHER/tool"`,
	"tar outside":                   `tar -C "$V_TREE" -cf - file | tar -C "$V_OTHER" -xf - --overwrite`,
	"ln -s outside":                 `ln -s /etc/passwd "$V_OTHER/link"`,
	"ln outside":                    `ln "$V_TREE/file" "$V_OTHER/hard"`,
	"mkfifo outside":                `mkfifo "$V_OTHER/pipe"`,
	"git init outside":              `git init -q "$V_OTHER/repo"`,
	"push with git":                 `git -C "$V_TREE" -c user.name=n -c user.email=e@e commit -q --allow-empty -m x; git -C "$V_TREE" push -q "$V_OTHER/remote.git" HEAD:refs/heads/x`,
	"git clone outside":             `git -C "$V_TREE" -c user.name=n -c user.email=e@e commit -q --allow-empty -m x; git clone -q "$V_TREE" "$V_OTHER/clone"`,
	"git config --global":           `git config --global core.hooksPath "$V_TREE"`,
	"crontab":                       `echo "* * * * * true" | crontab -`,
	"chmod a secret":                `chmod 777 ~/.ssh/id`,
	"chown a secret":                `chown 1234 "$V_OTHER/file"`,
	"touch an old date":             `touch -d 2001-01-01 "$V_OTHER/file"`,
	"cp -r secrets":                 `cp -r ~/.ssh "$V_TREE/stolen" && test -s "$V_TREE/stolen/id"`,
	"tar secrets":                   `tar -C ~ -cf "$V_TREE/stolen.tar" .aws/credentials`,
	"read cookies of a browser":     `grep -q secret ~/.mozilla/cookies`,
	"read keys of clouds":           `cat ~/.kube/config ~/.azure/token ~/.config/gcloud/credentials.db | grep secret`,
	"add a remote":                  `git -C "$V_TREE" remote add evil /tmp/evil`,
	"grep secrets":                  `grep -r secret ~/.ssh ~/.aws`,
	"hash a secret with git":        `git -C "$V_TREE" hash-object -w ~/.ssh/id`,
	"diff a secret with git":        `git diff --no-index /dev/null ~/.ssh/id | grep secret`,
	"include a secret":              `git -C "$V_TREE" -c include.path="$HOME/.aws/credentials" config --list 2>&1 | grep bad`,
	"run a secret":                  `cd "$V_TREE"; bash ~/.ssh/id 2>&1 | grep -q "secret: command"`,
	"source a secret":               `. ~/.ssh/id 2>&1 | grep secret`,
	"read a secret from a daemon":   `setsid bash -c 'cat ~/.ssh/id > "$V_TREE/out"'; test -s "$V_TREE/out"`,
	"write from a daemon":           `(setsid bash -c 'echo hacked > "$V_OTHER/daemon"' &) ; sleep 0.2; test -e "$V_OTHER/daemon"`,
	"write from an emptied process": `env -i bash -c "echo hacked > $V_OTHER/file"`,
	"unshare and write":             `unshare -Ur bash -c 'echo hacked > "$V_OTHER/file"'`,
	"chroot and write":              `unshare -Ur chroot / bash -c 'echo hacked > "$V_OTHER/file"'`,
	"nsenter":                       `nsenter -t "$V_RUNNER" -m true`,
	"kill -9 the runner":            `kill -0 "$V_RUNNER"`,
	"pkill the runner":              `kill -USR2 -- -"$(ps -o pgid= -p "$V_RUNNER" | tr -d ' ')"`,
	"look at the runner":            `tr '\0' '\n' < /proc/"$V_RUNNER"/environ | grep -q .`,
	"write the runner's memory":     `exec 3<>/proc/"$V_RUNNER"/mem`,
	"turn the firewall off":         `iptables -F`,
	"change an address":             `ip addr add 127.0.0.9/8 dev lo`,
	"change a route":                `ip route add 192.0.2.0/24 dev lo`,
	"write a kernel setting":        `sysctl -q -w kernel.panic="$(cat /proc/sys/kernel/panic)"`,
	"press sysrq":                   `echo h > /proc/sysrq-trigger`,
	"write to the kernel's log":     `echo loops > /dev/kmsg`,
	"read the kernel's log":         `dmesg | grep -q .`,
	"set a hook by a worktree":      `git -C "$V_TREE" config --worktree core.hooksPath /tmp`,
	"shut down":                     `test -w /dev/initctl -o -S /run/systemd/private`,
}

// calls are what only a program can try.
var calls = map[string]func(v victim) error{
	"reopen a path to write": func(v victim) error {
		fd, err := unix.Open(v.other+"/file", unix.O_PATH, 0)
		if err != nil {
			return err
		}
		return write(fmt.Sprintf("/proc/self/fd/%d", fd))
	},
	"link an unnamed file outside": func(v victim) error {
		fd, err := unix.Open(v.tree, unix.O_TMPFILE|unix.O_RDWR, 0o600)
		if err != nil {
			return err
		}
		return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, v.other+"/unnamed",
			unix.AT_SYMLINK_FOLLOW)
	},
	"exchange with a file outside": func(v victim) error {
		return unix.Renameat2(unix.AT_FDCWD, v.tree+"/file", unix.AT_FDCWD, v.other+"/file", unix.RENAME_EXCHANGE)
	},
	"append outside": func(v victim) error {
		f, err := os.OpenFile(v.other+"/file", os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_ = f.Close()
		}
		return err
	},
	"map outside": func(v victim) error {
		f, err := os.OpenFile(v.other+"/file", os.O_RDWR, 0)
		if err != nil {
			return err
		}
		b, err := unix.Mmap(int(f.Fd()), 0, 5, unix.PROT_WRITE, unix.MAP_SHARED)
		if err == nil {
			copy(b, "hacke")
		}
		return err
	},
	"serve outside": func(v victim) error { return listenUnix(v.other + "/sock") },
	"set an attribute outside": func(v victim) error {
		return unix.Setxattr(v.other+"/file", "user.loops", []byte("x"), 0)
	},
	"set a mode outside": func(v victim) error { return unix.Fchmodat(unix.AT_FDCWD, v.other+"/file", 0o777, 0) },
	"read by a mapping": func(v victim) error {
		fd, err := unix.Open(v.home+"/.ssh/id", unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		_, err = unix.Mmap(fd, 0, 5, unix.PROT_READ, unix.MAP_SHARED)
		return err
	},
	"read by openat2": func(v victim) error {
		fd, err := unix.Openat2(unix.AT_FDCWD, v.home+"/.ssh/id", &unix.OpenHow{Flags: unix.O_RDONLY})
		if err == nil {
			_ = unix.Close(fd)
		}
		return err
	},
	"read by a folder that was opened": func(v victim) error {
		dir, err := unix.Open(v.home, unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		fd, err := unix.Openat(dir, ".ssh/id", unix.O_RDONLY, 0)
		if err == nil {
			_ = unix.Close(fd)
		}
		return err
	},
	"copy a secret in the kernel": func(v victim) error {
		from, err := os.Open(v.home + "/.ssh/id")
		if err != nil {
			return err
		}
		to, err := os.Create(v.tree + "/copied")
		if err != nil {
			return err
		}
		_, err = io.Copy(to, from)
		return err
	},
	"seize the runner": func(v victim) error {
		return call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(v.runner), 0, 0)
	},
	"write the memory of it":    func(v victim) error { return call(unix.SYS_PROCESS_VM_WRITEV, uintptr(v.runner)) },
	"signal it by a descriptor": func(v victim) error { return signalFD(v.runner) },
	"signal its thread":         func(v victim) error { return unix.Tgkill(v.runner, v.runner, syscall.SIGUSR2) },
	"queue a signal":            func(v victim) error { return queueSignal(v.runner) },
	"compare with it": func(v victim) error {
		return call(unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(v.runner), 0, 1, 1)
	},
	"move its pages":     func(v victim) error { return movePages(v.runner) },
	"make an overlay":    func(v victim) error { return unix.Mount("none", v.tree, "overlay", 0, "") },
	"mount proc":         func(v victim) error { return unix.Mount("proc", v.tree, "proc", 0, "") },
	"open a file system": func(victim) error { return call(unix.SYS_FSOPEN, chars("tmpfs"), 0) },
	"clone a mount": func(v victim) error {
		return call(unix.SYS_OPEN_TREE, ^uintptr(99), chars(v.other), 1)
	},
	"change a mount": func(v victim) error {
		return call(unix.SYS_MOUNT_SETATTR, ^uintptr(99), chars(v.tree), 0, 0, 0)
	},
	"catch page faults": func(victim) error { return call(unix.SYS_USERFAULTFD, 0) },
	"read a keyring":    func(victim) error { return call(unix.SYS_KEYCTL, 0, ^uintptr(2), 0) },
	"ask for a key": func(victim) error {
		return call(unix.SYS_REQUEST_KEY, chars("user"), chars("x"), 0, 0)
	},
	"account":             func(v victim) error { return call(unix.SYS_ACCT, chars(v.tree+"/file")) },
	"swap":                func(v victim) error { return call(unix.SYS_SWAPON, chars(v.tree+"/file"), 0) },
	"load another kernel": func(victim) error { return call(unix.SYS_KEXEC_LOAD, 0, 0, 0, 0) },
	"unload a module":     func(victim) error { return call(unix.SYS_DELETE_MODULE, chars("loops_none"), 0) },
	"turn Ctrl-Alt-Del off": func(victim) error {
		return call(unix.SYS_REBOOT, unix.LINUX_REBOOT_MAGIC1, unix.LINUX_REBOOT_MAGIC2,
			unix.LINUX_REBOOT_CMD_CAD_OFF, 0)
	},
	"name the domain": func(victim) error { return unix.Setdomainname([]byte("hacked")) },
	"adjust the clock": func(victim) error {
		return call(unix.SYS_ADJTIMEX, uintptr(unsafe.Pointer(&unix.Timex{Modes: unix.ADJ_TICK, Tick: 10000})))
	},
	"adjust the clock otherwise": adjustClock,
	"empty the log":              func(victim) error { return call(unix.SYS_SYSLOG, 9, 0, 0) },
	"watch all files": func(victim) error {
		_, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_CLOEXEC, unix.O_RDONLY)
		return err
	},
	"watch a secret": func(v victim) error {
		fd, err := unix.FanotifyInit(unix.FAN_CLASS_CONTENT, unix.O_RDONLY)
		if err != nil {
			return err
		}
		return unix.FanotifyMark(fd, unix.FAN_MARK_ADD, unix.FAN_OPEN_PERM, unix.AT_FDCWD, v.home+"/.ssh/id")
	},
	"take a capability back": func(victim) error {
		return unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3},
			&unix.CapUserData{Effective: 1 << unix.CAP_SYS_ADMIN, Permitted: 1 << unix.CAP_SYS_ADMIN})
	},
	"open the memory of the machine": func(victim) error { return opens("/dev/mem", os.O_RDWR) },
	"open ports of the machine":      func(victim) error { return opens("/dev/port", os.O_RDWR) },
	"open the console":               func(victim) error { return opens("/dev/console", os.O_WRONLY) },
	"make a terminal":                func(victim) error { return opens("/dev/tty0", os.O_WRONLY) },
	"open a virtual machine":         func(victim) error { return opens("/dev/kvm", os.O_RDWR) },
	"open a loop device":             func(victim) error { return opens("/dev/loop-control", os.O_RDWR) },
	"open FUSE":                      func(victim) error { return opens("/dev/fuse", os.O_RDWR) },
	"make a control group":           makeGroup,
	"freeze its control group":       freezeGroup,
}

// inSystem are those of the programs above that no network and no preset of files has to stop.
var inSystem = []string{
	"seize the runner", "write the memory of it", "signal it by a descriptor", "signal its thread", "queue a signal",
	"compare with it", "move its pages",
	"make an overlay", "mount proc", "open a file system", "clone a mount", "change a mount", "catch page faults",
	"read a keyring", "ask for a key", "account",
	"swap", "load another kernel", "unload a module", "turn Ctrl-Alt-Del off", "name the domain", "adjust the clock",
	"adjust the clock otherwise",
	"empty the log", "watch all files", "watch a secret", "take a capability back", "nsenter", "kill -9 the runner",
	"pkill the runner", "look at the runner", "write the runner's memory", "turn the firewall off",
	"change an address", "change a route",
}

// protocols are kinds of sockets.
var protocols = map[string][3]int{
	"raw socket of the version 6": {unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6},
	"bluetooth socket":            {unix.AF_BLUETOOTH, unix.SOCK_RAW, 1},
	"CAN socket":                  {unix.AF_CAN, unix.SOCK_RAW, 1},
	"TIPC socket":                 {unix.AF_TIPC, unix.SOCK_STREAM, 0},
	"RDS socket":                  {unix.AF_RDS, unix.SOCK_SEQPACKET, 0},
	"SMC socket":                  {43, unix.SOCK_STREAM, 0},
	"XDP socket":                  {unix.AF_XDP, unix.SOCK_RAW, 0},
	"connector socket":            {unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_CONNECTOR},
	"firewall socket":             {unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER},
	"kernel event socket":         {unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT},
}

func listenUnix(path string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return unix.Bind(fd, &unix.SockaddrUnix{Name: path})
}

func opens(path string, flag int) error {
	f, err := os.OpenFile(path, flag, 0)
	if err == nil {
		_ = f.Close()
	}
	return err
}

func signalFD(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	return unix.PidfdSendSignal(fd, syscall.SIGUSR2, nil, 0)
}

// queueSignal sends a signal with a value.
func queueSignal(pid int) error {
	info := [32]int32{int32(syscall.SIGUSR2), 0, -1}
	return call(unix.SYS_RT_SIGQUEUEINFO, uintptr(pid), uintptr(syscall.SIGUSR2), uintptr(unsafe.Pointer(&info)))
}

// movePages asks where pages of a process are.
func movePages(pid int) error {
	page, status := uintptr(0x400000), int32(0)
	return call(unix.SYS_MOVE_PAGES, uintptr(pid), 1, uintptr(unsafe.Pointer(&page)), 0,
		uintptr(unsafe.Pointer(&status)), 0)
}

func adjustClock(victim) error {
	runtime.LockOSThread()
	_, err := unix.ClockAdjtime(unix.CLOCK_REALTIME, &unix.Timex{Modes: unix.ADJ_TICK, Tick: 10000})
	return err
}

// ownGroup returns the folder of a control group that this process is in.
func ownGroup() string {
	b, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(b)) {
		if part := strings.SplitN(strings.TrimSpace(line), ":", 3); len(part) == 3 {
			for _, kind := range []string{"", part[1], "unified", "pids"} {
				if dir := filepath.Join("/sys/fs/cgroup", kind, part[2]); opens(dir, os.O_RDONLY) == nil {
					return dir
				}
			}
		}
	}
	return "/sys/fs/cgroup"
}

func makeGroup(victim) error {
	dir := filepath.Join(ownGroup(), "loops-hostile")
	err := os.Mkdir(dir, 0o755)
	if err == nil {
		_ = os.Remove(dir)
	}
	return err
}

func freezeGroup(victim) error { return opens(filepath.Join(ownGroup(), "cgroup.procs"), os.O_WRONLY) }
