package dashboard

// suspend gives the terminal back and stops a process, or for 0 all of the group, until a user lets it go on (fg).
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
