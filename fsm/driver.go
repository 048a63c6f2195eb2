package fsm

import (
	"context"
	"time"
)

// A driver is the side of a run that has goroutines and timers: it tells the machine what happened, and does what the machine has begun.
type driver struct {
	machine *machine
	cfg     *Config
	ended   chan *effect
	calls   chan func() // of effects that are being done, to be made on the side of the machine
	flying  int         // effects that were started and have not ended
	alone   bool        // the one effect is done on the goroutine of the machine
}

// drive runs x until it ends.
func drive(ctx context.Context, x *Executor, run func()) {
	m := &machine{}
	d := &driver{machine: m, cfg: &x.cfg, ended: make(chan *effect), calls: make(chan func())}
	m.driver = d
	m.begin(x, run, func() {})
	stopped, drain := ctx.Done(), x.cfg.Drain
	for {
		var changed, held <-chan struct{}
		if d.cfg.Changed != nil {
			changed = d.cfg.Changed() // before the looks whose answers may change
		}
		m.advance()
		if len(m.tasks) == 0 {
			return
		}
		left, limited := m.next()
		if len(m.tasks) == 1 && d.flying == 0 && len(m.begun) == 1 && !limited {
			d.doAlone()
			continue
		}
		d.start()
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
				d.take(x)
				d.takeAll()
			case call := <-d.calls: // an output: no task waits for it
				call()
				news = false
			case <-fires:
			case <-stopped:
				stopped = nil
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
	m := d.machine
	x := m.begun[0]
	m.begun = m.begun[:0]
	d.alone = true
	x.do()
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
		d.flying++
		go func() {
			x.do()
			d.ended <- x
		}()
	}
	d.machine.begun = d.machine.begun[:0]
}

func (d *driver) take(x *effect) {
	d.flying--
	d.finish(x)
}

// takeAll takes what has ended meanwhile.
func (d *driver) takeAll() {
	for d.flying > 0 {
		select {
		case x := <-d.ended:
			d.take(x)
		default:
			return
		}
	}
}

func (d *driver) finish(x *effect) {
	x.done = true
	if x.then != nil {
		x.then()
	}
}

// call has f called on the side of the machine, by an effect that is being done. It returns when that was done.
func (d *driver) call(f func()) {
	if d.alone {
		f()
		return
	}
	done := make(chan struct{})
	d.calls <- func() { defer close(done); f() }
	<-done
}
