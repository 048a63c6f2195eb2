package dashboard

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// heedJobs has signals of job control come to the screen, which must give the terminal back before it stops.
func (ui *board) heedJobs() { signal.Notify(ui.jobs, syscall.SIGTSTP, syscall.SIGCONT) }

// suspend gives the terminal back and stops a process, or for 0 all of the group, until somebody lets it go on (fg).
func (ui *board) suspend(pid int) {
	if ui.screen.Suspend() != nil {
		return
	}
	signal.Stop(ui.jobs)
	on := make(chan os.Signal, 1)
	signal.Notify(on, syscall.SIGCONT)
	// SIGTSTP was once heeded here, and a Go program cannot have it do what it does to others after that. This stops alike.
	if syscall.Kill(pid, syscall.SIGTTIN) == nil {
		select {
		case <-on:
		case <-time.After(300 * time.Millisecond): // nobody could let it go on, so it was not stopped
		}
	}
	signal.Stop(on)
	ui.heedJobs()
	ui.resume()
}

// resume takes the terminal again.
func (ui *board) resume() {
	if err := ui.screen.Resume(); err == nil {
		ui.redraw()
	}
}
