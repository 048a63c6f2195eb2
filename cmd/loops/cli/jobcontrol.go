package cli

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"loops/internal/process"
)

// A jobControl hands the signals of job control to a screen, which must give the terminal back before it is stopped.
type jobControl struct {
	Signals chan os.Signal // SIGTSTP and SIGCONT, as they come
}

// jobHeed handles the signals of job control, until Release.
func jobHeed() *jobControl {
	j := &jobControl{make(chan os.Signal, 1)}
	j.heed()
	return j
}

func (j *jobControl) heed() { signal.Notify(j.Signals, syscall.SIGTSTP, syscall.SIGCONT) }

// Release has the signals do what they do to other programs.
func (j *jobControl) Release() { signal.Stop(j.Signals) }

// Stop stops a process, or for 0 all of the group, and returns when a user lets it continue (fg).
func (j *jobControl) Stop(pid int) {
	j.Release()
	defer j.heed()
	on := make(chan os.Signal, 1)
	signal.Notify(on, syscall.SIGCONT)
	defer signal.Stop(on)
	// SIGTSTP was caught before, and a Go program cannot have it do what it does to others after that. SIGTTIN stops it
	// as well.
	if syscall.Kill(pid, syscall.SIGTTIN) == nil {
		select {
		case <-on:
		case <-time.After(300 * time.Millisecond): // no process could let it continue, so it was not stopped
		}
	}
}

// Give has a process group of this session have a terminal; 0 = that of this program.
func (j *jobControl) Give(terminal *os.File, group int) error {
	signal.Ignore(syscall.SIGTTOU) // it would stop a program that takes a terminal that another group has
	defer signal.Reset(syscall.SIGTTOU)
	return process.GiveTerminal(terminal, group)
}
