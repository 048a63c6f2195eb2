package live

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// AppendToJob adds to the file at path, which the variable name of a job names; "" = there is none. most is how
// long it may get, 0 = no limit; write gets the rest of that.
func AppendToJob(name, path string, most int, write func(w io.Writer, room int) error) error {
	if path == "" {
		return nil
	}
	// A pipe that nothing reads is an error, and nothing to wait for.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return err
	}
	room := most
	if info, err := f.Stat(); err == nil && most > 0 && info.Mode().IsRegular() {
		if room = most - 1 - int(min(info.Size(), int64(most))); room < 4_000 {
			return errors.Join(fmt.Errorf("%s has %d bytes already, of at most %d", name, info.Size(), most), f.Close())
		}
	}
	if endsMidLine(path) { // an action, or a step before, wrote to it as well
		if _, err := io.WriteString(f, "\n"); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return errors.Join(write(f, room), f.Close())
}

// endsMidLine reports whether what is added to a file would continue its last line.
func endsMidLine(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return false
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], info.Size()-1)
	return err == nil && last[0] != '\n'
}
