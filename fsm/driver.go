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
	machine *Machine
	cfg     *Config
	ended   chan *Effect
	calls   chan func()                         // of effects that are being done, to be made on the side of the machine
	begun   []*Effect                           // that were not started, and what started them is on record
	flying  map[*Effect]context.CancelCauseFunc // that were started and have not ended
	ctx     context.Context                     // of all effects
	cancel  context.CancelCauseFunc
	inline  bool // the one effect is done on the goroutine of the machine
}

// drive steps a machine until its run ends. The error is that the run could not be recorded any more.
func drive(ctx context.Context, m *Machine, cfg *Config) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d := &driver{
		machine: m, cfg: cfg, ctx: ctx, cancel: cancel, flying: map[*Effect]context.CancelCauseFunc{},
		ended: make(chan *Effect), calls: make(chan func()),
	}
	m.driver = d
	var changed <-chan struct{}
	for in := (Input{}); ; {
		select {
		case <-changed: // whatever else happened first
			in.News = true
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
			in.Stop = context.Cause(ctx)
		}
		select {
		case <-d.cfg.Drain:
			in.Drain = true
		default:
		}
		out := m.Step(time.Now(), in)
		d.record()
		if out.Ended {
			d.await()
			return m.broken
		}
		d.begun = append(d.begun[:0], out.Start...)
		if sync := m.flush(); sync != nil {
			d.begun = append(d.begun, sync)
		}
		in = d.next(out, changed)
	}
}

// next does what the machine has begun, and returns what happens first.
func (d *driver) next(out Output, changed <-chan struct{}) (in Input) {
	m := d.machine
	if m.broken != nil { // what was begun is not started: it is as if it had ended
		in.Done, d.begun = d.begun, nil
	}
	if len(m.tasks) == 1 && len(d.flying) == 0 && len(d.begun) == 1 && !out.Timed {
		return d.alone()
	}
	d.start()
	d.end()
	var held, drain, stopped, wake <-chan struct{}
	if d.cfg.Held != nil {
		held = d.cfg.Held()
	}
	// it was released since the machine asked, or it is broken
	if len(in.Done) > 0 || (d.cfg.Held != nil || m.broken != nil) && m.ready() {
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
	fires, stop := timer(out.Wake, out.Timed)
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
			in.Drain = true
		case <-held:
		case <-changed:
			in.News = true
		case <-wake:
			in.Wake = true
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
func (d *driver) alone() Input {
	x := d.begun[0]
	d.inline = true
	x.run(d.ctx)
	d.inline = false
	return Input{Done: []*Effect{x}}
}

// run does the effect.
func (x *Effect) run(ctx context.Context) {
	began := time.Now()
	x.do(ctx)
	x.took = time.Since(began)
}

// start begins what the machine has begun.
func (d *driver) start() {
	for _, x := range d.begun {
		ctx, cancel := context.WithCancelCause(d.ctx)
		d.flying[x] = cancel
		go func() {
			x.run(ctx)
			d.ended <- x
		}()
	}
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
func (d *driver) take(in *Input, x *Effect) {
	for {
		d.flying[x](nil)
		delete(d.flying, x)
		in.Done = append(in.Done, x)
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
