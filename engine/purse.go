package engine

import (
	"loops/fsm"
	"loops/internal/config"
	"loops/persistence"
)

// purse limits what a run spends together with others.
func (e *Engine) purse(j *job, id persistence.ID) fsm.Purse {
	limits := j.config.Spend
	settings := func() config.Spend {
		if c, err := j.project.Layers.Load(); err == nil { // else those of before hold on
			limits = c.Spend
		}
		return limits
	}
	return NewPurse(id, settings, j.store.Ledger(), j.project.UserLedger("spend"))
}
