package fsm

import (
	"context"
	"iter"
	"slices"
	"time"
)

// A driver is the side of a run that has goroutines and timers: it tells the machine what happened, and does
// what the machine has begun.
type driver struct {
	machine *machine
	cfg     *Config
	ended   chan *effect
	calls   chan func()                         // of effects that are being done, to be made on the side of the machine
	flying  map[*effect]context.CancelCauseFunc // that were started and have not ended
	ctx     context.Context                     // of all effects
	cancel  context.CancelCauseFunc
	inline  bool // the one effect is done on the goroutine of the machine
}

// drive runs x until it ends. The error is that the run could not be recorded any more.
func drive(ctx context.Context, x *Executor, run func()) error {
	m := &machine{life: &life{}}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d := &driver{
		machine: m, cfg: &x.cfg, ctx: ctx, cancel: cancel, flying: map[*effect]context.CancelCauseFunc{},
		ended: make(chan *effect), calls: make(chan func()),
	}
	m.driver, x.life = d, m.life
	m.begin(x, run)
	var changed <-chan struct{}
	for in := (input{}); ; {
		select {
		case <-changed: // whatever else happened first
			in.news = true
		default:
		}
		if d.cfg.Changed != nil {
			changed = d.cfg.Changed() // before the looks whose answers may change
		}
		if !m.waits() {
			select {
			case <-d.cfg.Wake: // from before the next wait
			default:
			}
		}
		if ctx.Err() != nil {
			in.stop = context.Cause(ctx)
		}
		select {
		case <-d.cfg.Drain:
			in.drain = true
		default:
		}
		m.step(time.Now(), in)
		d.record()
		if len(m.tasks) == 0 {
			d.await()
			return m.broken
		}
		m.flush()
		in = d.next(changed)
	}
}

// next does what the machine has begun, and returns what happens first.
func (d *driver) next(changed <-chan struct{}) (in input) {
	m := d.machine
	if m.broken != nil { // what was begun is not started: it is as if it had ended
		in.done, m.begun = m.begun, nil
	}
	left, limited := m.next()
	if len(m.tasks) == 1 && len(d.flying) == 0 && len(m.begun) == 1 && !limited {
		return d.alone()
	}
	d.start()
	d.end()
	var held, drain, stopped, wake <-chan struct{}
	if d.cfg.Held != nil {
		held = d.cfg.Held()
	}
	// it was released since the machine asked, or it is broken
	if len(in.done) > 0 || (d.cfg.Held != nil || m.broken != nil) && m.ready() {
		return in
	}
	if m.life.ended() == nil {
		stopped = d.ctx.Done()
	}
	if m.waits() {
		wake = d.cfg.Wake
	}
	if !m.drains {
		drain = d.cfg.Drain
	}
	fires, stop := timer(left, limited)
	defer stop()
	for {
		select {
		case x := <-d.ended:
			d.take(&in, x)
		case call := <-d.calls: // an output: no task waits for it
			call()
			if m.broken == nil {
				continue
			}
		case <-fires:
		case <-stopped:
		case <-drain:
			in.drain = true
		case <-held:
		case <-changed:
			in.news = true
		case <-wake:
			in.wake = true
		}
		return in
	}
}

// fired is a timer whose time is up.
var fired = func() chan time.Time {
	c := make(chan time.Time)
	close(c)
	return c
}()

// timer fires after a time, if it is limited and not stopped before.
func timer(left time.Duration, limited bool) (fires <-chan time.Time, stop func() bool) {
	switch {
	case !limited:
		return nil, func() bool { return false }
	case left <= 0:
		return fired, func() bool { return false }
	}
	t := time.NewTimer(left)
	return t.C, t.Stop
}

// alone does the one effect that was begun on the goroutine of the machine, which need not continue before that
// has ended.
func (d *driver) alone() input {
	x := d.machine.begun[0]
	d.machine.begun = d.machine.begun[:0]
	d.inline = true
	x.run(d.ctx)
	d.inline = false
	return input{done: []*effect{x}}
}

// run does the effect.
func (x *effect) run(ctx context.Context) {
	began := time.Now()
	x.do(ctx)
	x.took = time.Since(began)
}

// start begins what the machine has begun.
func (d *driver) start() {
	for _, x := range d.machine.begun {
		ctx, cancel := context.WithCancelCause(d.ctx)
		d.flying[x] = cancel
		go func() {
			x.run(ctx)
			d.ended <- x
		}()
	}
	d.machine.begun = d.machine.begun[:0]
}

// await waits for the effects that no task waits for: what was written becomes durable.
func (d *driver) await() {
	d.cancel(nil)
	for len(d.flying) > 0 {
		x := <-d.ended
		delete(d.flying, x)
	}
}

// syncer is the recorder where it can make durable what it has recorded while it records more; nil = it cannot.
func (d *driver) syncer() Syncer {
	s, _ := d.cfg.Recorder.(Syncer)
	return s
}

// gathering is how long results of items gather that become durable together.
const gathering = 5 * time.Millisecond

// sync makes durable what was recorded, and what gathers until then. A stop does not end it.
func (d *driver) sync(ctx context.Context) error {
	t := time.NewTimer(gathering)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return d.syncer().Sync(context.WithoutCancel(ctx))
}

// end ends the effects whose branch or item is to end.
func (d *driver) end() {
	for x, cancel := range d.flying {
		if why := x.life.ended(); why != nil {
			cancel(why)
		}
	}
}

// take takes an effect that has ended, and those that have ended meanwhile.
func (d *driver) take(in *input, x *effect) {
	for {
		d.flying[x](nil)
		delete(d.flying, x)
		in.done = append(in.done, x)
		select {
		case x = <-d.ended:
		default:
			return
		}
	}
}

// call has f called on the side of the machine, by an effect that is being done, and what it emits recorded. It
// returns when that was done.
func (d *driver) call(f func()) {
	now := func() {
		d.machine.now = time.Now()
		f()
		d.record()
	}
	if d.inline {
		now()
		return
	}
	done := make(chan struct{})
	d.calls <- func() {
		defer close(done)
		now()
	}
	<-done
}

// record has recorded what the machine wants to be. If that fails the machine is broken, and all that is being
// done is ended.
func (d *driver) record() {
	m, b := d.machine, &d.machine.out
	if m.broken == nil && (len(b.Events) > 0 || b.Snapshot != nil || b.Checkpoint) {
		err := d.keep(b)
		if err == nil && d.cfg.Verify && b.Snapshot != nil {
			err = b.Snapshot.verify()
		}
		if err == nil {
			// a stop must not keep the end of the run from being recorded
			err = d.cfg.Recorder.Record(context.WithoutCancel(d.ctx), b)
		}
		if m.broken = err; err == nil {
			m.recorded(b)
			d.observe(b.Events)
		}
	}
	if m.broken != nil {
		d.cancel(m.broken)
	}
	clear(b.Events)
	m.out = Batch{Events: b.Events[:0]}
}

// observe shows what was recorded.
func (d *driver) observe(events []Event) {
	if d.cfg.Observe != nil {
		for _, ev := range events {
			d.cfg.Observe(ev)
		}
	}
}

// keep has files kept before what depends on them is recorded. Of a batch their event is the first.
func (d *driver) keep(b *Batch) error {
	if d.cfg.Keep == nil || b.Snapshot == nil && !b.Checkpoint {
		return nil
	}
	ev, changed, err := d.cfg.Keep(d.ctx)
	if changed && err == nil {
		ev.Time = d.machine.now
		b.Events = slices.Insert(b.Events, 0, ev)
	}
	return err
}

// limited is an effect that has to end after a time.
func limited(most time.Duration, f func(context.Context)) func(context.Context) {
	return func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, most)
		defer cancel()
		f(ctx)
	}
}

// history yields what was recorded of the run after an event.
func (d *driver) history(after uint64) iter.Seq2[Event, error] { return d.cfg.History(d.ctx, after) }
