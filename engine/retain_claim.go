package engine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"loops/internal/disk"
)

// How often retention is applied in a project, and how soon again where it failed or was cut short, also by the
// death of its process.
const (
	retainEvery = 24 * time.Hour
	retainAgain = time.Hour
)

// What is in the stamp after the time.
const (
	stampDone  = "done"
	stampBegun = "begun"
)

// A claim is the right to apply retention in a project. Of all processes that ask, one has it: it holds a lock
// on the stamp.
type claim struct{ stamp *os.File }

// claimRetention takes the right to apply retention now. nil: another process has it, or it is not due.
func claimRetention(path string, now time.Time) (_ *claim, err error) {
	f, err := disk.Open(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	c := &claim{f}
	defer func() {
		if c != nil {
			err = errors.Join(err, disk.Release(f))
		}
	}()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("%s cannot be locked: %w", path, err)
	}
	text, err := io.ReadAll(io.LimitReader(f, 100))
	if err != nil {
		return nil, err
	}
	if !retentionDue(string(text), now) {
		return nil, nil
	}
	if err := c.write(now, stampBegun); err != nil {
		return nil, err
	}
	mine := c
	c = nil
	return mine, nil
}

// retentionDue reports whether a stamp is old enough. One that cannot be read, or is from the future, is.
func retentionDue(stamp string, now time.Time) bool {
	when, how, _ := strings.Cut(strings.TrimSpace(stamp), " ")
	last, err := time.Parse(time.RFC3339, when)
	if err != nil || last.After(now) {
		return true
	}
	if how == stampDone {
		return now.Sub(last) >= retainEvery
	}
	return now.Sub(last) >= retainAgain
}

func (c *claim) write(now time.Time, how string) error {
	line := now.UTC().Format(time.RFC3339) + " " + how + "\n"
	if _, err := c.stamp.WriteAt([]byte(line), 0); err != nil {
		return err
	}
	return c.stamp.Truncate(int64(len(line)))
}

// release gives the claim up, after all was done or only a part: then it is due again in an hour.
func (c *claim) release(now time.Time, all bool) error {
	how := stampBegun
	if all {
		how = stampDone
	}
	return errors.Join(c.write(now, how), disk.Release(c.stamp))
}
