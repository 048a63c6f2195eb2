package live

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// lookForeground is how often a program in the background of its terminal looks whether it is in the
// foreground: one that reads there before is stopped.
const lookForeground = 300 * time.Millisecond

// A Keyboard reads what is typed at the terminal that this process belongs to.
type Keyboard struct {
	tty  *os.File
	rest string
}

// OpenKeyboard opens it. It is closed by Close.
func OpenKeyboard() (*Keyboard, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := tty.SetReadDeadline(time.Time{}); err != nil {
		_ = tty.Close()
		return nil, err // nothing could be waited for and given up
	}
	return &Keyboard{tty: tty}, nil
}

// Close closes the terminal for this reader.
func (k *Keyboard) Close() { _ = k.tty.Close() }

// Line fits [Terminal].
func (k *Keyboard) Line(ctx context.Context) (string, error) {
	buf := make([]byte, 4096)
	for {
		if line, rest, ok := strings.Cut(k.rest, "\n"); ok {
			k.rest = rest
			return line, nil
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if !k.foreground() {
			time.Sleep(lookForeground)
			continue
		}
		_ = k.tty.SetReadDeadline(time.Now().Add(lookForeground))
		n, err := k.tty.Read(buf)
		k.rest += string(buf[:n])
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return "", err
		}
	}
}

// foreground reports whether this process may read from the terminal.
func (k *Keyboard) foreground() bool {
	conn, err := k.tty.SyscallConn()
	if err != nil {
		return false
	}
	mine := false
	err = conn.Control(func(fd uintptr) {
		group, err := unix.IoctlGetInt(int(fd), unix.TIOCGPGRP) //nolint:gosec // a descriptor
		mine = err == nil && group == unix.Getpgrp()
	})
	return err == nil && mine
}
