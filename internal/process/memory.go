package process

import "github.com/shirou/gopsutil/v3/mem"

// MemoryUsed returns how much of this machine's memory is in use, in percent: what programs cannot have without
// others giving something up. ok is false where the system does not report it.
func MemoryUsed() (percent float64, ok bool) {
	m, err := mem.VirtualMemory()
	if err != nil {
		return 0, false
	}
	return memoryUsed(m.Total, m.Available)
}

func memoryUsed(total, available uint64) (percent float64, ok bool) {
	if total == 0 || available == 0 || available > total {
		return 0, false
	}
	return 100 * (1 - float64(available)/float64(total)), true
}
