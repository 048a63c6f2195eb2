package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"loops/fsm"
	"loops/internal/config"
	"loops/internal/humanize"
	"loops/persistence"
)

const (
	list = "spend"
	part = 5 * time.Minute // an entry is of so long
	kept = 25 * time.Hour  // entries are

	form = "20060102T150405Z" // of the time in a key

	unreadable = time.Minute // how long no prompt begins where it cannot be known what was spent
)

// An account is what some runs spent together.
type account struct {
	whose  string
	ledger persistence.Ledger
	limits func(config.Spend) config.SpendRate

	mine persistence.Entry // the newest of this run, as it was written last; guarded by Purse.mu
}

// A Purse has the limits of one run. It fits [fsm.Purse].
type Purse struct {
	run      persistence.ID
	settings func() config.Spend // called with mu
	now      func() time.Time

	mu       sync.Mutex
	accounts []*account
}

var _ fsm.Purse = (*Purse)(nil)

// NewPurse returns the purse of a run. The settings are read again before each prompt, by one goroutine at a
// time, so that a limit that is raised holds at once. user is the ledger of all runs of the user on this
// machine; nil = there is none.
func NewPurse(run persistence.ID, settings func() config.Spend, project, user persistence.Ledger) *Purse {
	p := &Purse{run: run, settings: settings, now: time.Now}
	p.accounts = append(p.accounts,
		&account{whose: "this project", ledger: project, limits: func(s config.Spend) config.SpendRate {
			return s.Project
		}})
	if user != nil {
		p.accounts = append(p.accounts,
			&account{
				whose: "all your runs on this machine", ledger: user,
				limits: func(s config.Spend) config.SpendRate { return s.All },
			})
	}
	return p
}

// Full implements [fsm.Purse].
func (p *Purse) Full(ctx context.Context) (why string, until time.Time) {
	p.mu.Lock()
	settings := p.settings()
	p.mu.Unlock()
	for _, a := range p.accounts {
		limits := a.limits(settings)
		if limits == (config.SpendRate{}) {
			continue
		}
		text, end, err := a.full(ctx, limits, p.now())
		if err != nil {
			text, end = "what "+a.whose+" spent cannot be read: "+humanize.OneLine(err), p.now().Add(unreadable)
		}
		if end.After(until) {
			why, until = text, end
		}
	}
	return why, until
}

// A sum is what was spent in one part of an hour.
type sum struct {
	end time.Time // of the part
	usd float64
}

// full is Full of one account.
func (a *account) full(ctx context.Context, limits config.SpendRate, now time.Time) (why string, until time.Time,
	_ error,
) {
	entries, err := a.ledger.Entries(ctx, list)
	if err != nil {
		return "", until, err
	}
	var sums []sum // the oldest first, as the keys are
	for _, e := range entries {
		at, _, _ := strings.Cut(e.Key, "-")
		begin, err := time.Parse(form, at)
		usd, known := amountSpent(e)
		if err != nil || !known {
			return "", until, fmt.Errorf("entry %s is damaged", e.Key)
		}
		sums = append(sums, sum{begin.Add(part), usd})
	}
	for _, w := range []struct {
		name  string
		span  time.Duration
		limit float64
	}{{"hour", time.Hour, limits.PerHour}, {"day", 24 * time.Hour, limits.PerDay}} {
		spent := 0.0
		for _, s := range sums {
			if s.end.After(now.Add(-w.span)) {
				spent += s.usd
			}
		}
		if spent = micro(spent); w.limit == 0 || spent < w.limit {
			continue
		}
		rest, end := spent, now
		for _, s := range sums {
			if s.end.After(now.Add(-w.span)) && rest >= w.limit {
				rest, end = micro(rest-s.usd), s.end.Add(w.span)
			}
		}
		if end.After(until) {
			why, until = fmt.Sprintf("%s spent %s in the last %s, and may spend %s", a.whose, humanize.USD(spent),
				w.name, humanize.USD(w.limit)), end
		}
	}
	return why, until, nil
}

// micro rounds to a millionth of a dollar: ten times ten cents are one dollar.
func micro(usd float64) float64 { return math.Round(usd*1e6) / 1e6 }

func amountSpent(e persistence.Entry) (usd float64, known bool) {
	var body struct {
		USD *float64 `json:"usd"`
	}
	if json.Unmarshal(e.Body, &body) != nil || body.USD == nil || *body.USD < 0 {
		return 0, false
	}
	return *body.USD, true
}

// Spent implements [fsm.Purse]. It is durable on return. What has no limit is not counted.
func (p *Purse) Spent(usd float64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var errs []error
	settings := p.settings()
	for _, a := range p.accounts {
		if a.limits(settings) != (config.SpendRate{}) {
			errs = append(errs, a.add(ctx, p.run, usd, p.now()))
		}
	}
	return errors.Join(errs...)
}

// add adds to the entry of a run for this part of an hour. A process before this one may have made it.
func (a *account) add(ctx context.Context, run persistence.ID, usd float64, now time.Time) error {
	key := now.UTC().Truncate(part).Format(form) + "-" + string(run)
	e, has := a.mine, a.mine.Key == key
	for range 3 {
		if !has {
			found, err := a.ledger.Entries(ctx, list, key)
			if err != nil {
				return err
			}
			if len(found) > 0 {
				e = found[0]
			} else {
				e = persistence.Entry{List: list, Key: key, Added: now.UTC().Truncate(time.Millisecond)}
			}
		}
		before, _ := amountSpent(e)
		body, err := json.Marshal(map[string]float64{"usd": before + usd})
		if err != nil {
			return err
		}
		next := e
		next.Body = body
		if next.Rev == 0 {
			err = a.ledger.Add(ctx, next)
			next.Rev = 1
		} else {
			next, err = a.ledger.Change(ctx, next)
		}
		switch {
		case err == nil:
			fresh := a.mine.Key != key
			if a.mine = next; fresh {
				return a.ledger.Trim(ctx, list, now.Add(-kept), 0)
			}
			return nil
		case !errors.Is(err, persistence.ErrTaken) && !errors.Is(err, persistence.ErrChanged):
			return err
		}
		has = false // a process that had the run before wrote it
	}
	return errors.New("others change what this run spent")
}
