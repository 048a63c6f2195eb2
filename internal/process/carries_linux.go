package process

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Opened reports whether a process of this PID namespace has a file open. known is false where that is not known.
func Opened(pid int, file fs.FileInfo) (open, known bool) {
	st, err := look(pid)
	if err != nil {
		return false, errors.Is(err, errGone)
	}
	dir := "/proc/" + strconv.Itoa(st.entry()) + "/fd/"
	d, err := os.Open(dir)
	if err != nil {
		return false, false
	}
	defer func() { _ = d.Close() }()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return false, false
	}
	for _, name := range names {
		if other, err := os.Stat(dir + name); err == nil && os.SameFile(file, other) {
			return true, true
		}
	}
	return false, true
}

// CommandLine returns the words of the command line of a process of this PID namespace, nil where it cannot be read.
func CommandLine(pid int) []string {
	st, err := look(pid)
	if err != nil {
		return nil
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(st.entry()) + "/cmdline")
	if err != nil || len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
}

// Catches reports whether a process of this PID namespace is known to handle a signal itself, so that sending
// it does not end the process.
func Catches(pid int, sig syscall.Signal) bool {
	st, err := look(pid)
	if err != nil {
		return false
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(st.entry()) + "/status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		if mask, ok := strings.CutPrefix(line, "SigCgt:"); ok {
			caught, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
			return err == nil && caught>>(sig-1)&1 == 1
		}
	}
	return false
}
