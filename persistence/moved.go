package persistence

import (
	"fmt"
	"os"
	"strings"

	"loops/fsm"
)

// Moved returns an [fsm.ErrMoved] that says where the open file with this descriptor is now, if the system reports it.
func Moved(fd uintptr) error {
	to, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil || strings.HasSuffix(to, " (deleted)") { // another of its names was removed
		return fsm.ErrMoved
	}
	return fmt.Errorf("%w to %s", fsm.ErrMoved, to)
}
