package process

import (
	"os"
	"testing"

	"github.com/shirou/gopsutil/v3/process"
)

// What gopsutil takes for what this package asks of one process, and of all: see the comment at look.
func BenchmarkLook(b *testing.B) {
	pid := os.Getpid()
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			if _, err := look(pid); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("gopsutil", func(b *testing.B) {
		for b.Loop() {
			p, err := process.NewProcess(int32(pid)) //nolint:gosec // a pid
			if err != nil {
				b.Fatal(err)
			}
			_, err1 := p.CreateTime()
			_, err2 := p.Ppid()
			_, err3 := p.Status()
			if err1 != nil || err2 != nil || err3 != nil {
				b.Fatal(err1, err2, err3)
			}
		}
	})
}

func BenchmarkList(b *testing.B) {
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			if _, err := list(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("gopsutil", func(b *testing.B) {
		for b.Loop() {
			all, err := process.Processes()
			if err != nil {
				b.Fatal(err)
			}
			for _, p := range all {
				_, _ = p.Ppid()
				_, _ = p.CreateTime()
			}
		}
	})
}
