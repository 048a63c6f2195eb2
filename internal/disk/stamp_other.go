//go:build !linux && !darwin

package disk

import "syscall"

func stampOf(*syscall.Stat_t) (Stamp, bool) { return Stamp{}, false }
