package disk

import "syscall"

func stampOf(st *syscall.Stat_t) (Stamp, bool) {
	return Stamp{uint64(st.Dev), st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano()}, true //nolint:unconvert // its size differs between machines
}
