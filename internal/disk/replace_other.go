//go:build !linux

package disk

import (
	"math"
	"os"

	"golang.org/x/sys/unix"
)

func SwapAt(dir int, tmp, name string) error { return unix.Renameat(dir, tmp, dir, name) }

func RenameNew(from, to string) error { return renameChecked(from, to) }
func SyncData(f *os.File) error       { return f.Sync() }

// ManySyncs: there is no way to have all that was written made durable.
const ManySyncs = math.MaxInt

func syncFS(string) error { return nil }
