package web

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/inspect"
	"loops/persistence"
)

const (
	// that are kept: fewer than the open pages would have each of these read all of its run again
	mostChronicles = 64
	mostKept       = 500_000 // steps in all of them; the newest is kept whatever it has
	// steps: with more of them, a chronicle is read beside the page that asks for it
	readInline   = 3000
	readPatience = 150 * time.Millisecond // that a page waits for it then
)

// A chronicle is what a run did, as far as it was read: a line a step, and how often and how long it was in
// each state. What was recorded since the last look is added at the next; nothing is read twice. It may be used
// by several goroutines at once, each of which has its turn.
type chronicle struct {
	turn chan struct{} // who holds it may use the rest

	account *inspect.Account
	steps   []step // as they were entered
	parts   parts  // what ran side by side in them
	read    uint64 // the last event that was read
	damage  string
	words   map[string]string
	said    map[int]string // of steps, since they were kept: the first line of output
	fatal   []int          // the steps in which the run failed: that which decided it, and those that ran inside it
	used    time.Time      // guarded by the lock of the chronicles
	size    atomic.Int64   // steps, as they were after the last look
}

// A step is what is kept of a visit.
type step struct {
	number, path, verdict, to, by, apart string
	said                                 string // the first line of its output; of a list, how far it has come
	first, last                          uint64 // its events
	begin, end                           int64  // in milliseconds since 1970
	took                                 time.Duration
	exit                                 int32
	depth                                int32
	exited, failed, over                 bool
	fatal                                bool // the run failed in it
}

// chronicles are those of the runs that were looked at last.
type chronicles struct {
	mu  sync.Mutex
	all map[string]*chronicle // guarded by mu
}

func (c *chronicles) of(p Project, run persistence.Run) *chronicle {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := p.Name + "/" + string(run.ID)
	if c.all == nil {
		c.all = map[string]*chronicle{}
	}
	if c.all[key] == nil {
		c.makeRoom()
		c.all[key] = &chronicle{turn: make(chan struct{}, 1), words: map[string]string{}, said: map[int]string{}}
	}
	c.all[key].used = time.Now()
	return c.all[key]
}

// makeRoom forgets the chronicles that were used longest ago until another one may be kept.
func (c *chronicles) makeRoom() {
	kept := int64(0)
	for _, o := range c.all {
		kept += o.size.Load()
	}
	for len(c.all) >= mostChronicles || kept > mostKept {
		oldest := ""
		for k, o := range c.all {
			if oldest == "" || o.used.Before(c.all[oldest].used) {
				oldest = k
			}
		}
		kept -= c.all[oldest].size.Load()
		delete(c.all, oldest)
	}
}

// chronicle brings the chronicle of a run up to date and has look use it. ready is false, and look was not
// called, where that takes longer than a page may: it is read meanwhile, and ready for one of the next looks.
func (s *Server) chronicle(ctx context.Context, p Project, f project.Finder, run persistence.Run,
	look func(*chronicle),
) (ready bool, err error) {
	c := s.chronicles.of(p, run)
	patience := time.NewTimer(readPatience)
	defer patience.Stop()
	select {
	case c.turn <- struct{}{}:
	case <-patience.C:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if run.Step-len(c.steps) <= readInline {
		defer func() { <-c.turn }()
		if err := c.readOn(ctx, f, run); err != nil {
			return false, err
		}
		look(c)
		return true, nil
	}
	done := make(chan error, 1)
	go func() {
		done <- c.readApart(p, run, s.done)
		<-c.turn
	}()
	select {
	case err := <-done:
		if err != nil {
			return false, err
		}
		return s.chronicle(ctx, p, f, run, look)
	case <-patience.C:
		return false, nil
	}
}

// readApart reads with a session of its own: the page that asked may be answered before.
func (c *chronicle) readApart(p Project, run persistence.Run, end <-chan struct{}) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-end:
			cancel()
		case <-ctx.Done():
		}
	}()
	session, err := p.Open()
	if err != nil {
		return err
	}
	defer session.Close()
	f, err := session.Finder(ctx)
	if err != nil {
		return err
	}
	run.Reading = nil // it belongs to the goroutine of the page
	return c.readOn(ctx, f, run)
}

// readOn reads what was recorded since.
func (c *chronicle) readOn(ctx context.Context, f project.Finder, run persistence.Run) error {
	if c.account == nil {
		prices, err := f.Project.Pricer()
		if err != nil {
			return err
		}
		c.account = inspect.NewAccount(prices)
		c.account.Reader.Done = c.keep
	}
	for e, err := range f.Store.EventsOf(ctx, run, c.read) {
		if project.IsDamage(err) {
			c.damage = err.Error()
			continue
		}
		if err != nil {
			return f.Store.Failed(err)
		}
		c.read = max(c.read, e.Seq)
		_, v := c.account.Take(e)
		c.parts.take(e, v, c.account.Reader.Waits())
		c.listen(e, v)
	}
	defer func() { c.size.Store(int64(len(c.steps) + len(c.parts.all))) }()
	if project.Alive(run) {
		c.parts.reach(time.Now())
	}
	for _, v := range c.account.Reader.Open() {
		c.keep(v)
		if now := time.Now(); project.Alive(run) && v.Index >= 0 && v.State != "" {
			c.steps[v.Index].took, c.steps[v.Index].end = c.account.Reader.Now(v, now), now.UnixMilli()
		}
	}
	c.markFatal(run)
	return nil
}

// markFatal marks the step that decided that the run failed, if it did, and the last steps that acted inside it.
func (c *chronicle) markFatal(run persistence.Run) {
	for _, i := range c.fatal {
		c.steps[i].fatal = false
	}
	c.fatal = nil
	if !inspect.Wasted(run) {
		return
	}
	n, _ := c.account.Decided(run)
	decided, end := strconv.Itoa(n), len(c.steps)
	if slices.ContainsFunc(c.steps, func(s step) bool { return s.number == decided }) {
		for i, s := range slices.Backward(c.steps) {
			if s.number == decided {
				break
			}
			if s.depth == 0 {
				end = i
			}
		}
	}
	depth := int32(-1) // of the last one that was marked
	for i, s := range slices.Backward(c.steps[:end]) {
		if acted := s.exited || s.failed || s.verdict != ""; s.path == "" || depth < 0 && !acted || depth >= 0 &&
			s.depth >= depth {
			continue
		}
		c.steps[i].fatal, depth = true, s.depth
		if c.fatal = append(c.fatal, i); depth == 0 {
			return
		}
	}
}

// keep takes a visit, which may be one that was there already and has gone further.
func (c *chronicle) keep(v *inspect.Visit) {
	if v.Index < 0 || v.State == "" {
		return
	}
	for len(c.steps) <= v.Index {
		c.steps = append(c.steps, step{})
	}
	s := c.stepOf(v)
	s.said = cmp.Or(c.said[v.Index], c.steps[v.Index].said)
	delete(c.said, v.Index)
	c.steps[v.Index] = s
}

// stepOf is what is kept of a visit.
func (c *chronicle) stepOf(v *inspect.Visit) step {
	s := step{
		number: strings.Clone(v.Number()), path: c.word(v.Path()), verdict: c.word(v.Verdict()), to: c.word(v.To()),
		by: c.word(v.Evaluator()), apart: c.word(v.Apart()),
		begin: v.Begin.UnixMilli(), end: v.End.UnixMilli(), took: v.Took(), depth: int32(v.Depth()), failed: v.Failed(), //nolint:gosec // of few levels
		over: v.Over() || v.To() != "" || v.Verdict() != "",
	}
	s.first, s.last = v.Span()
	if code, ended := v.Exit(); ended {
		s.exit, s.exited = int32(code), true //nolint:gosec // of a process
	}
	return s
}

// word keeps each text once, and not the event that it came with.
func (c *chronicle) word(s string) string {
	if kept, ok := c.words[s]; ok || s == "" {
		return kept
	}
	s = strings.Clone(s)
	c.words[s] = s
	return s
}

// window returns the steps [from, until) of those in a state ("" = in any), and how many there are.
func (c *chronicle) window(state string, until, most int) (steps []step, first, all int) {
	if state == "" {
		all = len(c.steps)
		if until <= 0 || until > all {
			until = all
		}
		first = max(0, until-most)
		return slices.Clone(c.steps[first:until]), first, all
	}
	var places []int
	for i := range c.steps {
		if name, _, _ := strings.Cut(c.steps[i].path, " > "); name == state || c.steps[i].path == state {
			places = append(places, i)
		}
	}
	all = len(places)
	if until <= 0 || until > all {
		until = all
	}
	first = max(0, until-most)
	for _, i := range places[first:until] {
		steps = append(steps, c.steps[i])
	}
	return steps, first, all
}

// find returns the newest step with an address. Of one inside a branch or an item it is the step that ran it,
// which is not in one.
func (c *chronicle) find(number string) (s step, ok bool) {
	if a, is := fsm.ParseAddress(number); is {
		a.Question = 0
		number = a.String()
		for i, h := range a.Hops {
			if h.Branch != "" {
				number = fsm.Address{Hops: append(slices.Clone(a.Hops[:i]), fsm.Hop{Step: h.Step})}.String()
				break
			}
		}
	}
	if number == "last" && len(c.steps) > 0 {
		return c.steps[len(c.steps)-1], true
	}
	for _, s := range slices.Backward(c.steps) {
		if s.number == number {
			return s, true
		}
	}
	return s, false
}

// mostInside is how many steps in branches and items a page shows beside one step.
const mostInside = 200

// visitRow returns the row of a visit.
func visitRow(v *inspect.Visit) stepRow {
	c := chronicle{words: map[string]string{}, said: map[int]string{}}
	return c.stepOf(v).row()
}
