package watch

import (
	"context"
	"os"
	"syscall"
)

// suspend gives the terminal back and stops a process, or for 0 all of the group, until a user lets it continue (fg).
func (ui *board) suspend(pid int) {
	if ui.options.Stop == nil || ui.screen.Suspend() != nil {
		return
	}
	ui.options.Stop(pid)
	ui.resume()
}

// resume takes the terminal again.
func (ui *board) resume() {
	if err := ui.screen.Resume(); err == nil {
		ui.redraw()
	}
}

// lend gives the terminal to a pager or an editor, and takes it again when that ends.
func (ui *board) lend(ctx context.Context, c Command) {
	terminal, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		terminal = ui.options.Terminal
	}
	if terminal == nil || ui.screen.Suspend() != nil {
		ui.model.Say("The terminal cannot be given to another program.", true)
		return
	}
	done := make(chan error, 1)
	go func() {
		defer ui.guard()
		done <- ui.src.Show(ctx, c, terminal)
	}()
	for err = nil; ; {
		select {
		case err = <-done:
		case s := <-ui.options.Jobs:
			// by kill: Ctrl-Z is for the program, and [Programs] hears of its stop
			if s == syscall.SIGTSTP && ui.options.Stop != nil {
				ui.options.Stop(os.Getpid())
			}
			continue
		}
		break
	}
	if terminal != ui.options.Terminal {
		_ = terminal.Close()
	}
	ui.resume()
	if err != nil {
		ui.model.Say(ui.options.Explain(err), true)
	}
}

// signal hands on the first signal that ends the screen. Ctrl-C and Ctrl-\ send none: they are keys of the screen, and
// signals for the process group of the pager or editor that has the terminal.
func (ui *board) signal(ctx context.Context) <-chan os.Signal {
	ends := make(chan os.Signal, 1)
	go func() {
		select {
		case s := <-ui.options.Signals:
			ends <- s
		case <-ctx.Done():
		}
	}()
	return ends
}
