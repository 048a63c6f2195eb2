package cli

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// A jobControl hands the signals of job control to a screen, which must give the terminal back before it is stopped.
type jobControl struct{ signals chan os.Signal }

func heedJobs() *jobControl {
	j := &jobControl{make(chan os.Signal, 1)}
	j.heed()
	return j
}

func (j *jobControl) heed()    { signal.Notify(j.signals, syscall.SIGTSTP, syscall.SIGCONT) }
func (j *jobControl) release() { signal.Stop(j.signals) }

// stop stops a process, or for 0 all of the group, and returns when a user lets it continue (fg).
func (j *jobControl) stop(pid int) {
	j.release()
	defer j.heed()
	on := make(chan os.Signal, 1)
	signal.Notify(on, syscall.SIGCONT)
	defer signal.Stop(on)
	// SIGTSTP was once heeded here, and a Go program cannot have it do what it does to others after that. This stops alike.
	if syscall.Kill(pid, syscall.SIGTTIN) == nil {
		select {
		case <-on:
		case <-time.After(300 * time.Millisecond): // nobody could let it continue, so it was not stopped
		}
	}
}
