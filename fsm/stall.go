package fsm

import "loops/fsm/value"

// A stallFire means that the stall detector found the same record again and again.
type stallFire struct {
	Kind  string // consecutive or recurrent
	Count int
}

// recordStall adds an evaluated visit to the records of the stall detector. print is the fingerprint of the progress
// paths, "" for none: when it is not the one this state saw last, there was progress and the window starts again. Equal
// records that fill the window fire it; else so many of them in the whole run fire the recurrent detector.
func (m *Snapshot) recordStall(cfg *Stall, rec StallRecord, print string) (stallFire, bool) {
	if cfg == nil {
		return stallFire{}, false
	}
	routes := cfg.OnRepeated != "" && cfg.OnRepeated != "abort"
	if print != "" {
		if last, ok := m.StallPrints[rec.State]; ok && last != print {
			m.StallRing, m.StallPrints = nil, nil
		}
		if m.StallPrints == nil {
			m.StallPrints = make(map[string]string)
		}
		m.StallPrints[rec.State] = print
	}
	if cfg.Window > 0 {
		m.StallRing = append(m.StallRing, rec)
		if extra := len(m.StallRing) - cfg.Window; extra > 0 {
			m.StallRing = append([]StallRecord(nil), m.StallRing[extra:]...)
		}
		if len(m.StallRing) == cfg.Window && allEqual(m.StallRing) {
			if routes {
				m.StallRing = nil // the recovery gets a full window of its own (D20)
			}
			return stallFire{"consecutive", cfg.Window}, true
		}
	}
	if cfg.RecurrentWindow <= 0 {
		return stallFire{}, false
	}
	if m.StallCounts == nil {
		m.StallCounts = make(map[string]int)
	}
	key := stallKey(rec)
	m.StallCounts[key]++
	n := m.StallCounts[key]
	if n < cfg.RecurrentWindow {
		return stallFire{}, false
	}
	if routes {
		delete(m.StallCounts, key) // D20
	}
	return stallFire{"recurrent", n}, true
}

// stallKey names a record; no two records share a key.
func stallKey(r StallRecord) string {
	return string(value.AppendJSON(nil, []any{r.State, r.ExitCode, r.Verdict}))
}

func allEqual(ring []StallRecord) bool {
	for _, r := range ring[1:] {
		if r != ring[0] {
			return false
		}
	}
	return true
}
