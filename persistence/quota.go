package persistence

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"loops/fsm"
	"loops/internal/disk"
)

// A reportedWindow is what an agent reported last of one limit of its account.
type reportedWindow struct {
	Used    *float64  `json:"used"` // share; nil = it did not say
	Seconds int64     `json:"window_seconds,omitempty"`
	Resets  time.Time `json:"resets_at"`
	At      time.Time `json:"reported_at"`
}

// reports are the reports by agent and limit.
type reports map[string]map[string]reportedWindow

func (c *Circuit) quotaPath() string { return filepath.Join(filepath.Dir(c.Path), "agent-quota.json") }

// reports returns the reports about windows that are not over. A file that is missing or damaged says nothing.
func (c *Circuit) reports() reports {
	r := reports{}
	b, err := disk.Read(c.quotaPath())
	if err != nil || json.Unmarshal(b, &r) != nil {
		return reports{}
	}
	now := time.Now()
	for _, windows := range r {
		maps.DeleteFunc(windows, func(_ string, w reportedWindow) bool { return !w.Resets.After(now) })
	}
	return r
}

// Report keeps what an agent reported of a limit of its account. One that does not say how much is used leaves what was
// said of the same window. It may fail unnoticed: the next report is near.
func (c *Circuit) Report(host string, w fsm.QuotaWindow) {
	_ = c.alone(func() error {
		all := c.reports()
		if all[host] == nil {
			all[host] = map[string]reportedWindow{}
		}
		n := reportedWindow{Seconds: int64(w.Length.Seconds()), Resets: w.Resets, At: w.At}
		const same = time.Minute // reports of one window may differ by seconds
		if was := all[host][w.Name]; w.Used >= 0 {
			n.Used = &w.Used
		} else if was.Resets.Sub(w.Resets).Abs() < same {
			n.Used = was.Used
		}
		all[host][w.Name] = n
		b, err := json.Marshal(all)
		if err != nil {
			return err
		}
		return replaceFile(c.quotaPath(), b)
	})
}

// Windows implements [fsm.Quotas].
func (c *Circuit) Windows(host string) (list []fsm.QuotaWindow) {
	windows := c.reports()[host]
	for _, name := range slices.Sorted(maps.Keys(windows)) {
		w := windows[name]
		q := fsm.QuotaWindow{
			Name: name, Used: -1, Length: time.Duration(w.Seconds) * time.Second, Resets: w.Resets,
			At: w.At,
		}
		if w.Used != nil {
			q.Used = *w.Used
		}
		list = append(list, q)
	}
	return list
}

// Quotas returns the windows of all agents that reported some, by agent.
func (c *Circuit) Quotas() map[string][]fsm.QuotaWindow {
	all := map[string][]fsm.QuotaWindow{}
	for host, windows := range c.reports() {
		if len(windows) > 0 {
			all[host] = c.Windows(host)
		}
	}
	return all
}
