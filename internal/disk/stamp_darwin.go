package disk

import "syscall"

func stampOf(st *syscall.Stat_t) (Stamp, bool) {
	return Stamp{uint64(st.Dev), st.Ino, st.Size, st.Mtimespec.Nano(), st.Ctimespec.Nano()}, true
}
