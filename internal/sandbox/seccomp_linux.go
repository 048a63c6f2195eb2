//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"maps"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What a filter looks at: struct seccomp_data.
const (
	dataNumber = 0
	dataArch   = 4
	dataArg0   = 16 // the low half of the first argument
	dataArg1   = 24
	dataArg2   = 32
)

const (
	filterAllow = 0x7fff0000
	filterErrno = 0x00050000
	filterSet   = 1 // SECCOMP_SET_MODE_FILTER
)

// forbidden are the system calls that no sandbox lets through: they change the system, look into other processes, or
// go around what Landlock and this filter look at.
var forbidden = map[uintptr]string{
	unix.SYS_PTRACE: "ptrace", unix.SYS_PROCESS_VM_READV: "process_vm_readv",
	unix.SYS_PROCESS_VM_WRITEV: "process_vm_writev", unix.SYS_PIDFD_GETFD: "pidfd_getfd", unix.SYS_KCMP: "kcmp",
	unix.SYS_MOUNT: "mount", unix.SYS_UMOUNT2: "umount2", unix.SYS_PIVOT_ROOT: "pivot_root",
	unix.SYS_MOVE_MOUNT: "move_mount", unix.SYS_OPEN_TREE: "open_tree", unix.SYS_FSOPEN: "fsopen",
	unix.SYS_FSCONFIG: "fsconfig", unix.SYS_FSMOUNT: "fsmount", unix.SYS_FSPICK: "fspick",
	unix.SYS_MOUNT_SETATTR: "mount_setattr", unix.SYS_SETNS: "setns", unix.SYS_KEYCTL: "keyctl",
	unix.SYS_ADD_KEY: "add_key", unix.SYS_REQUEST_KEY: "request_key", unix.SYS_BPF: "bpf",
	unix.SYS_PERF_EVENT_OPEN: "perf_event_open", unix.SYS_USERFAULTFD: "userfaultfd",
	unix.SYS_OPEN_BY_HANDLE_AT: "open_by_handle_at", unix.SYS_INIT_MODULE: "init_module",
	unix.SYS_FINIT_MODULE: "finit_module", unix.SYS_DELETE_MODULE: "delete_module", unix.SYS_KEXEC_LOAD: "kexec_load",
	unix.SYS_KEXEC_FILE_LOAD: "kexec_file_load", unix.SYS_SWAPON: "swapon", unix.SYS_SWAPOFF: "swapoff",
	unix.SYS_REBOOT: "reboot", unix.SYS_SETTIMEOFDAY: "settimeofday", unix.SYS_CLOCK_SETTIME: "clock_settime",
	unix.SYS_ADJTIMEX: "adjtimex", unix.SYS_SETHOSTNAME: "sethostname", unix.SYS_SETDOMAINNAME: "setdomainname",
	unix.SYS_QUOTACTL: "quotactl", unix.SYS_ACCT: "acct", unix.SYS_SYSLOG: "syslog",
}

// How far sockets reach.
const (
	socketsAll   = iota // TCP and UDP
	socketsTCP          // no UDP: only what Landlock looks at
	socketsLocal        // unix sockets alone
)

const (
	ioctlTIOCSTI   = 0x5412 // types into the terminal
	ioctlTIOCLINUX = 0x541c
	typeMask       = 0xf // of the type of a socket, without its flags
)

// A program is a filter that is being written. Its jumps go forward by a number of instructions.
type program []unix.SockFilter

func (p *program) load(offset uint32) {
	*p = append(*p, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset})
}

// when adds a comparison: if the loaded value is k, the next instruction is done, else the one after next.
func (p *program) when(k uint32) {
	*p = append(*p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jf: 1})
}

func (p *program) give(action uint32) {
	*p = append(*p, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action})
}

// section adds instructions that are done only for one system call. They end with an answer.
func (p *program) section(call uintptr, body program) {
	*p = append(*p, unix.SockFilter{
		Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(call),
		Jf: uint8(len(body)),
	})
	*p = append(*p, body...)
}

// filter returns the program for sockets that reach so far. asks says that this process answers for it, see
// [listener]: with the same error, which programs get without that.
func filter(reach int, asks bool) program {
	var p program
	refuse := func(no syscall.Errno) uint32 {
		if asks {
			return filterAsk
		}
		return filterErrno | uint32(no)
	}
	p.load(dataArch)
	p = append(p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: auditArch, Jt: 1})
	p.give(filterErrno | uint32(unix.ENOSYS)) // a program of another architecture, whose numbers mean other calls
	p.load(dataNumber)
	if otherABI != 0 {
		p = append(p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: otherABI, Jf: 1})
		p.give(filterErrno | uint32(unix.ENOSYS))
	}
	for _, call := range slices.Sorted(maps.Keys(forbidden)) {
		p.when(uint32(call))
		p.give(refuse(unix.EPERM))
	}
	p.when(unix.SYS_IO_URING_SETUP) // it makes sockets that no filter sees; programs do without
	p.give(filterErrno | uint32(unix.ENOSYS))

	var terminal program
	terminal.load(dataArg1)
	terminal.when(ioctlTIOCSTI)
	terminal.give(refuse(unix.EPERM))
	terminal.when(ioctlTIOCLINUX)
	terminal.give(refuse(unix.EPERM))
	terminal.give(filterAllow)
	p.section(unix.SYS_IOCTL, terminal)

	var limits program // of other processes
	limits.load(dataArg0)
	limits.when(0)
	limits.give(filterAllow)
	limits.give(refuse(unix.EPERM))
	p.section(unix.SYS_PRLIMIT64, limits)

	p.section(unix.SYS_SOCKET, socketFilter(reach, refuse(unix.EACCES)))
	p.give(filterAllow)
	return p
}

func socketFilter(reach int, refuse uint32) program {
	var s program
	s.load(dataArg0)
	s.when(unix.AF_UNIX)
	s.give(filterAllow)
	var netlink program // what names the addresses of this machine; nothing else
	netlink.load(dataArg2)
	netlink.when(unix.NETLINK_ROUTE)
	netlink.give(filterAllow)
	netlink.give(refuse)
	s.section(unix.AF_NETLINK, netlink)
	if reach == socketsLocal {
		s.give(refuse)
		return s
	}
	var inet program
	inet.load(dataArg1)
	inet = append(inet, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: typeMask})
	if reach == socketsAll {
		inet.when(unix.SOCK_STREAM)
		inet.give(filterAllow)
		inet.when(unix.SOCK_DGRAM)
		inet.give(filterAllow)
	} else {
		var stream program // MPTCP and SCTP are not what Landlock looks at
		stream.load(dataArg2)
		for _, protocol := range []uint32{0, unix.IPPROTO_TCP} {
			stream.when(protocol)
			stream.give(filterAllow)
		}
		stream.give(filterErrno | uint32(unix.EPROTONOSUPPORT))
		inet.section(unix.SOCK_STREAM, stream)
	}
	inet.give(refuse)
	s.section(unix.AF_INET, inet)
	s.section(unix.AF_INET6, inet)
	s.give(refuse)
	return s
}

// enforce lets this thread, and what it starts from now on, do only what the filter lets through. It returns
// the descriptor of who answers for it; -1 = the filter does not ask.
func (p program) enforce(asks bool) (fd int, err error) {
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	var flags uintptr
	if asks {
		flags = filterListener
	}
	r, _, e := unix.Syscall(unix.SYS_SECCOMP, filterSet, flags, uintptr(unsafe.Pointer(&prog)))
	if e != 0 {
		return -1, fmt.Errorf("seccomp: %w", e)
	}
	if asks {
		return int(r), nil
	}
	return -1, nil
}
