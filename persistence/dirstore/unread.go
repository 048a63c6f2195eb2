package dirstore

import (
	"errors"
	"fmt"
	"os"

	"loops/fsm/value"
	"loops/internal/disk"
	"loops/persistence"
)

// unread explains why the process of a run cannot read the commands that are sent to it; "" = it can. A file that
// root just made, in a folder of yet another user, becomes that of the process. f is the open file; nil = it is
// only looked at.
func unread(f *os.File, path, lock string) string {
	runner, ok := disk.Owner(lock) // root's locks are those of the owner of the folder, and root can read all
	if !ok {
		return ""
	}
	st, err := os.Lstat(path)
	if err != nil || disk.Reads(st, runner) {
		return ""
	}
	if f != nil && st.Size() == 0 && os.Geteuid() == 0 && f.Chown(runner, -1) == nil {
		return ""
	}
	owner, _ := disk.Owner(path)
	return fmt.Sprintf("its process is of user %d and cannot read %s, which is of user %d: chown %d %s, or "+
		"send as that user", runner, path, owner, runner, value.ShellQuote(path))
}

// unlessDamage is err, but nil where it is about single lines.
func unlessDamage(err error) error {
	if _, ok := errors.AsType[*persistence.DamageError](err); ok {
		return nil
	}
	return err
}

func unlessMissing(err error) error {
	if errors.Is(err, persistence.ErrNotFound) {
		return nil
	}
	return err
}
