package project

import (
	"path/filepath"

	"loops/internal/config"
	"loops/persistence"
	"loops/persistence/dirstore"
)

// Ledger returns the ledger of the project, which is closed with the records. In a database it is that of all
// projects with the name that [Project.LedgerName] returns.
func (r *Records) Ledger() persistence.Ledger {
	if d, ok := r.Store.(Database); ok {
		return d.Ledger(r.Project.LedgerName())
	}
	return dirstore.LedgerOf(r.Project.Loops)
}

// UserLedger returns the ledger of a user on this machine, whatever the project; nil = there is no home to keep it in.
func (p *Project) UserLedger(kind string) persistence.Ledger {
	if dir := config.StateDir(p.getenv, kind); dir != "" {
		return dirstore.LedgerOf(dir)
	}
	return nil
}

// LedgerName is the name by which projects that record in one database share schedules: that of the settings, or
// of the folder.
func (p *Project) LedgerName() string {
	if c, _ := p.Declared(); c != nil && c.LedgerName != "" { // what is wrong with it, callers say that need it
		return c.LedgerName
	}
	return filepath.Base(p.Dir)
}
