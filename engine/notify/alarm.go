package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/engine/trigger"
	"loops/fsm"
	"loops/internal/config"
	"loops/internal/disk"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/persistence"
)

// The kinds of alarms.
const (
	Stuck    = "stuck"    // a run made no progress: no event and no output
	Dead     = "dead"     // the process of a run died
	Waiting  = "waiting"  // a question has no answer
	Schedule = "schedule" // a time of a schedule has no run
	Clock    = "clock"    // a time on record is still to come: the clock was ahead
	Spend    = "spend"    // a run waits because runs together spent as much as they may
	Quota    = "quota"    // runs wait because what they may use of an agent's account is used
)

const (
	list     = "alarms"
	every    = 5 * time.Second  // how often a watch looks
	again    = 90 * time.Second // after which what may be unsent is sent again; sending takes 30s at most
	pinging  = time.Minute
	kept     = 30 * 24 * time.Hour
	pingTime = 10 * time.Second
)

// An Alarm is something that a user should look at.
type Alarm struct {
	Kind     string         `json:"kind"`
	Run      persistence.ID `json:"run,omitempty"`
	Loop     string         `json:"loop"`
	Text     string         `json:"text"` // one sentence
	Since    time.Time      `json:"since"`
	Told     bool           `json:"told"`               // by the notifications of the project
	Restarts int            `json:"restarts,omitempty"` // how often the run was resumed because of such an alarm
	Over     bool           `json:"over,omitempty"`     // what it was about; that is still to be reported
	Until    time.Time      `json:"until,omitzero"`     // until when it is left to the process that reports it

	key   string
	entry persistence.Entry
}

// OpenAlarms returns the alarms of a project that are not over, the oldest first.
func OpenAlarms(ctx context.Context, r *project.Records) ([]Alarm, error) {
	all, err := recorded(ctx, r)
	all = slices.DeleteFunc(all, func(a Alarm) bool { return !a.entry.Open || a.Over })
	slices.SortStableFunc(all, func(a, b Alarm) int { return a.Since.Compare(b.Since) })
	return all, err
}

// recorded returns the alarms of a project. The ledger may have those of other checkouts.
func recorded(ctx context.Context, r *project.Records) (all []Alarm, err error) {
	entries, err := r.Ledger().Entries(ctx, list)
	for _, e := range entries {
		a := Alarm{key: e.Key, entry: e}
		if wrong := json.Unmarshal(e.Body, &a); wrong != nil {
			err = errors.Join(err, fmt.Errorf("alarm %s is damaged: %w", e.Key, wrong))
			continue
		}
		if a.Run != "" && errors.As(r.Elsewhere(ctx, a.Run), new(*persistence.ElsewhereError)) {
			continue
		}
		all = append(all, a)
	}
	return all, err
}

// FindAlarms returns what is wrong now with the runs and schedules of a project.
func FindAlarms(ctx context.Context, f project.Finder, conf *config.Config, now time.Time) (all []Alarm, err error) {
	runs, err := f.Store.Runs(ctx, persistence.Query{Live: true})
	if err != nil {
		return nil, err
	}
	add := func(key string, a Alarm) {
		a.key = a.Kind + "/" + key
		all = append(all, a)
	}
	quotas := map[string]bool{} // agents
	for _, r := range project.Current(runs) {
		switch {
		case project.Alive(r):
			v := engine.Glimpse(ctx, f, r)
			// one for all runs that wait for it
			if v.Wait != nil && v.Wait.Why == fsm.WaitQuota && !quotas[v.Wait.Host] {
				quotas[v.Wait.Host] = true
				text := fmt.Sprintf("run %s waits in state %s: %s", r.ID, v.Wait.State, v.Wait.What)
				add(v.Wait.Host, Alarm{Kind: Quota, Run: r.ID, Loop: r.Loop, Since: v.Wait.Since, Text: text})
			}
			if v.Wait != nil && v.Wait.Why == fsm.WaitSpend {
				text := fmt.Sprintf("run %s waits in state %s: %s", r.ID, v.Wait.State, v.Wait.What)
				add(string(r.ID), Alarm{Kind: Spend, Run: r.ID, Loop: r.Loop, Since: v.Wait.Since, Text: text})
			}
			if idle := v.Idle(); conf.Alarm.Stuck > 0 && !v.Waits() && idle >= conf.Alarm.Stuck {
				text := fmt.Sprintf("run %s has made no progress for %s, in state %s", r.ID,
					humanize.Duration(idle.Truncate(time.Second)), r.State)
				add(string(r.ID), Alarm{Kind: Stuck, Run: r.ID, Loop: r.Loop, Since: now.Add(-idle), Text: text})
			}
		case !project.Alive(r) && r.Status == persistence.Interrupted && r.Ended == "":
			text := fmt.Sprintf("the process of run %s died, in state %s", r.ID, r.State)
			add(string(r.ID), Alarm{Kind: Dead, Run: r.ID, Loop: r.Loop, Since: r.UpdatedAt, Text: text})
		}
	}
	if conf.Alarm.Waiting > 0 {
		asked, err := engine.AllQuestions(ctx, f.Store)
		if err != nil {
			return nil, err
		}
		for _, q := range asked {
			if since := q.Question.Wait.Since; now.Sub(since) >= conf.Alarm.Waiting {
				text := fmt.Sprintf("run %s has been asking for %s (question %s): %s", q.Run.ID,
					humanize.Duration(now.Sub(since).Truncate(time.Second)), fsm.ShownAddress(q.Question.Address),
					humanize.Joined(q.Question.Question))
				add(string(q.Run.ID)+"/"+q.Question.Address,
					Alarm{Kind: Waiting, Run: q.Run.ID, Loop: q.Run.Loop, Since: since, Text: text})
			}
		}
	}
	plans, _ := trigger.Plans(f.Project) // what is wrong with loop files is reported elsewhere
	for _, p := range plans {
		times, err := trigger.Times(ctx, f.Store.Ledger(), p.Loop)
		if err != nil {
			return nil, err
		}
		if last, ok := trigger.Latest(times); ok && (last.State == trigger.Failed || last.State == trigger.Missed) {
			text := fmt.Sprintf("the schedule of %s did not start its run of %s: %s", p.Loop,
				last.At.UTC().Format(time.RFC3339), humanize.Reason(last.Why))
			add(p.Loop, Alarm{Kind: Schedule, Loop: p.Loop, Since: last.At, Text: text})
		}
		if why := trigger.Untrusted(ctx, f.Store, p); why != "" {
			text := fmt.Sprintf("the schedule of %s is not going to start: %s. Look at it, then have it run: "+
				"loops trust %s", p.Loop, why, humanize.ShellWord(p.Loop))
			add(p.Loop+"/trust", Alarm{Kind: Schedule, Loop: p.Loop, Since: now, Text: text})
		}
		ahead, err := trigger.Ahead(ctx, f.Store.Ledger(), p.Loop, now)
		if err != nil {
			return nil, err
		}
		if !ahead.IsZero() {
			add(p.Loop, Alarm{Kind: Clock, Loop: p.Loop, Since: now, Text: trigger.AheadText(p.Loop, ahead)})
		}
	}
	return all, nil
}

// An AlarmWatch raises and clears the alarms of one project. Any number of watches, in any number of processes,
// may look after one project.
type AlarmWatch struct {
	Open func() (*project.Project, error) // opens the project again
	// resumes runs whose process died, where alarm.restart says so
	Begin trigger.Begin
	Tell  func(context.Context, *project.Project, ...Event) // delivers events, and returns when that is done
	// receives alarms, and what is wrong, once; nil = they are dropped
	Say func(string)

	said   string
	pinged time.Time
}

// Run looks until ctx ends.
func (w *AlarmWatch) Run(ctx context.Context) {
	for {
		began := time.Now()
		if err := w.Look(ctx, began); err != nil && ctx.Err() == nil && err.Error() != w.said {
			w.said = err.Error()
			w.say(humanize.OneLine(err))
		}
		select {
		case <-time.After(max(every, 9*time.Since(began))): // it takes a tenth of the time at most
		case <-ctx.Done():
			return
		}
	}
}

// Look looks once.
func (w *AlarmWatch) Look(ctx context.Context, now time.Time) error {
	p, err := w.Open()
	if err != nil {
		return err
	}
	conf, err := p.Config()
	if err != nil {
		return err
	}
	plans, _ := trigger.Plans(p) // a schedule may be wrong before anything ran
	if p.HasRecords() || len(plans) > 0 {
		if err := w.look(ctx, p, conf, now); err != nil {
			return err
		}
	}
	return w.ping(ctx, conf.Alarm.Ping, now)
}

func (w *AlarmWatch) look(ctx context.Context, p *project.Project, conf *config.Config, now time.Time) error {
	records, err := p.Records(ctx, false)
	if _, none := errors.AsType[*project.NoDatabaseError](err); none {
		return nil
	}
	if err != nil {
		return err
	}
	defer records.Close()
	found, err := FindAlarms(ctx, records.Finder(), conf, now)
	if err != nil {
		return err
	}
	ledger := records.Ledger()
	known, err := recorded(ctx, records)
	if err != nil {
		return err
	}
	var events []Event
	var told []Alarm
	for _, a := range found {
		raised := true
		if i := slices.IndexFunc(known, func(k Alarm) bool { return k.key == a.key }); i >= 0 {
			k := known[i]
			a.entry, a.Restarts, raised = k.entry, k.Restarts, !k.entry.Open
			if k.entry.Open && (k.Told || k.Over || k.busy(now)) {
				continue
			}
		}
		a, err := a.claim(ctx, ledger, now)
		if raced(err) {
			continue
		}
		if err != nil {
			return err
		}
		if raised {
			w.say("alarm: " + a.Text)
			a = w.restart(ctx, p, conf, a, ledger)
		}
		events, told = append(events, a.event("alarm", a.Text)), append(told, a)
	}
	for _, k := range known {
		if !k.entry.Open || !k.Over && slices.ContainsFunc(found, func(a Alarm) bool { return a.key == k.key }) ||
			k.busy(now) {
			continue
		}
		k.Over = true
		k, err := k.claim(ctx, ledger, now)
		if raced(err) {
			continue
		}
		if err != nil {
			return err
		}
		text := "over: " + k.Text + w.nowIs(ctx, records, k)
		w.say(text)
		events, told = append(events, k.event("all_clear", text)), append(told, k)
	}
	if len(events) > 0 && w.Tell != nil {
		if why := p.ForeignSettings(ctx); why != "" {
			w.say("not sent: " + why + "; loops trust NAME, for any loop of the project, has their notifications sent")
		} else {
			w.Tell(ctx, p, events...)
		}
	}
	for _, a := range told {
		a.Told, a.Until = true, time.Time{}
		if _, err := a.record(ctx, ledger, !a.Over, now); err != nil && !raced(err) {
			return err
		}
	}
	return ledger.Trim(ctx, list, now.Add(-kept), 100)
}

// busy reports whether an alarm, or that it is over, is left to a process that may be reporting it. That one
// may have looked later than now, when this look began; what is further ahead was noted with a clock that was
// set back since.
func (a Alarm) busy(now time.Time) bool { return now.Before(a.Until) && a.Until.Sub(now) <= 2*again }

// claim has this process report an alarm. The error of the process that was slower is raced.
func (a Alarm) claim(ctx context.Context, l persistence.Ledger, now time.Time) (Alarm, error) {
	a.Told, a.Until = a.Over, now.Add(again).UTC()
	return a.record(ctx, l, true, now)
}

// nowIs reports the result of the run of an alarm that is over.
func (w *AlarmWatch) nowIs(ctx context.Context, records *project.Records, a Alarm) string {
	if a.Run == "" {
		return ""
	}
	runs, err := records.Runs(ctx, persistence.Query{ID: a.Run})
	if err != nil || len(runs) == 0 {
		return ""
	}
	return "; it is " + inspect.Outcome(project.Current(runs)[0]) + " now"
}

// restart resumes a run whose process died, as often as the settings allow, where its files are.
func (w *AlarmWatch) restart(ctx context.Context, p *project.Project, conf *config.Config, a Alarm,
	l persistence.Ledger,
) Alarm {
	if a.Kind != Dead || a.Restarts >= conf.Alarm.Restart || w.Begin == nil || !disk.Exists(p.RunDir(a.Run)) {
		return a
	}
	a.Restarts++
	// before it begins: a server that dies meanwhile has used up one attempt
	a, err := a.record(ctx, l, true, a.entry.Added)
	if err == nil {
		r := &engine.ResumeRequest{Run: string(a.Run), Lock: engine.Lock{Queue: true, Limit: -1}}
		_, err = w.Begin(ctx, engine.Request{Resume: r}, []string{"resume", string(a.Run)})
	}
	if err != nil {
		w.say(fmt.Sprintf("run %s could not be resumed: %s", a.Run, humanize.OneLine(err)))
		return a
	}
	a.Text += fmt.Sprintf("; it was resumed (%d of %d times)", a.Restarts, conf.Alarm.Restart)
	w.say("run " + string(a.Run) + " was resumed")
	return a
}

// record puts an alarm on record, as one that is open or over.
func (a Alarm) record(ctx context.Context, l persistence.Ledger, open bool, now time.Time) (Alarm, error) {
	body, err := json.Marshal(a)
	if err != nil {
		return a, err
	}
	e := persistence.Entry{
		List: list, Key: a.key, Rev: a.entry.Rev, Open: open,
		Added: now.UTC().Truncate(time.Millisecond), Body: body,
	}
	if a.entry.Rev == 0 {
		err = l.Add(ctx, e)
		e.Rev = 1
	} else {
		e, err = l.Change(ctx, e)
	}
	a.entry = e
	return a, err
}

// raced reports whether another process was faster, which then does what is to be done.
func raced(err error) bool {
	return errors.Is(err, persistence.ErrTaken) || errors.Is(err, persistence.ErrChanged)
}

func (a Alarm) event(kind, text string) Event {
	return Event{Kind: kind, Run: string(a.Run), Loop: a.Loop, Status: a.Kind, Text: text}
}

// ping notifies a service that watches this server that it is running. A service that gets no ping raises an alarm of
// its own.
func (w *AlarmWatch) ping(ctx context.Context, url string, now time.Time) error {
	if url == "" || now.Sub(w.pinged) < pinging {
		return nil
	}
	w.pinged = now
	ctx, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return errors.New("alarm.ping: the address cannot be used") // it may hold a secret
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return errors.New("alarm.ping: the service cannot be reached")
	}
	defer answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("alarm.ping: the service answers %s", answer.Status)
	}
	return nil
}

func (w *AlarmWatch) say(text string) {
	if w.Say != nil {
		w.Say(strings.TrimSpace(text))
	}
}
