package fsm

import (
	"context"
	"iter"
	"slices"
	"time"
)

// A driver is the side of a run that has goroutines and timers: it tells the machine what happened, and does what the machine has begun.
type driver struct {
	machine *machine
	cfg     *Config
	ended   chan *effect
	calls   chan func()                         // of effects that are being done, to be made on the side of the machine
	flying  map[*effect]context.CancelCauseFunc // that were started and have not ended
	ctx     context.Context                     // of all effects
	cancel  context.CancelCauseFunc
	alone   bool // the one effect is done on the goroutine of the machine
}

// drive runs x until it ends.
func drive(ctx context.Context, x *Executor, run func()) {
	m := &machine{now: time.Now()}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d := &driver{machine: m, cfg: &x.cfg, ctx: ctx, cancel: cancel, flying: map[*effect]context.CancelCauseFunc{}, ended: make(chan *effect), calls: make(chan func())}
	m.driver = d
	x.life = &life{}
	m.begin(x, run, func() {})
	stopped, drain := ctx.Done(), x.cfg.Drain
	for {
		var changed, held <-chan struct{}
		if d.cfg.Changed != nil {
			changed = d.cfg.Changed() // before the looks whose answers may change
		}
		if m.now = time.Now(); ctx.Err() != nil {
			x.life.end(context.Cause(ctx))
			stopped = nil
		}
		m.advance()
		if len(m.tasks) == 0 {
			return
		}
		left, limited := m.next()
		if len(m.tasks) == 1 && len(d.flying) == 0 && len(m.begun) == 1 && !limited {
			d.doAlone()
			continue
		}
		d.start()
		d.end()
		if d.cfg.Held != nil {
			if held = d.cfg.Held(); m.ready() { // it was released since the machine asked
				continue
			}
		}
		fires, stop := timer(left, limited)
		for news := false; !news; {
			news = true
			select {
			case x := <-d.ended:
				d.finish(x)
				d.takeAll()
			case call := <-d.calls: // an output: no task waits for it
				call()
				news = m.broken != nil
			case <-fires:
			case <-stopped:
			case <-drain:
				drain = nil
			case <-held:
			case <-changed:
				m.news++
			case <-d.cfg.Wake:
				m.wake = true
			}
		}
		stop()
	}
}

// timer fires after a time, if it is limited and not stopped before.
func timer(left time.Duration, limited bool) (fires <-chan time.Time, stop func() bool) {
	if !limited {
		return nil, func() bool { return false }
	}
	t := time.NewTimer(left)
	return t.C, t.Stop
}

// doAlone does the one effect that was begun, where nothing else can happen meanwhile.
func (d *driver) doAlone() {
	x := d.machine.begun[0]
	d.machine.begun = d.machine.begun[:0]
	d.alone = true
	x.do(d.ctx)
	d.alone = false
	d.finish(x)
	select {
	case <-d.cfg.Wake: // from before the next wait
	default:
	}
}

// start begins what the machine has begun.
func (d *driver) start() {
	for _, x := range d.machine.begun {
		ctx, cancel := context.WithCancelCause(d.ctx)
		d.flying[x] = cancel
		go func() {
			x.do(ctx)
			d.ended <- x
		}()
	}
	d.machine.begun = d.machine.begun[:0]
}

// end ends the effects whose branch or item is to end.
func (d *driver) end() {
	for x, cancel := range d.flying {
		if why := x.life.ended(); why != nil {
			cancel(why)
		}
	}
}

// takeAll takes what has ended meanwhile.
func (d *driver) takeAll() {
	for {
		select {
		case x := <-d.ended:
			d.finish(x)
		default:
			return
		}
	}
}

// finish takes the result of an effect.
func (d *driver) finish(x *effect) {
	if cancel := d.flying[x]; cancel != nil {
		cancel(nil)
		delete(d.flying, x)
	}
	d.machine.now = time.Now()
	x.done = true
	if x.then != nil {
		x.then()
	}
}

// call has f called on the side of the machine, by an effect that is being done. It returns when that was done.
func (d *driver) call(f func()) {
	if d.alone {
		d.machine.now = time.Now()
		f()
		return
	}
	done := make(chan struct{})
	d.calls <- func() {
		defer close(done)
		d.machine.now = time.Now()
		f()
	}
	<-done
}

// record has a batch recorded. If that fails the machine is broken, and all that is being done is ended.
func (d *driver) record(b *Batch) {
	err := d.keep(b)
	if err == nil {
		err = d.cfg.Recorder.Record(context.WithoutCancel(d.ctx), b) // a stop must not keep the end of the run from being recorded
	}
	if err != nil {
		d.machine.broken = err
		d.cancel(err)
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

// history yields what was recorded of the run behind an event.
func (d *driver) history(after uint64) iter.Seq2[Event, error] { return d.cfg.History(d.ctx, after) }
