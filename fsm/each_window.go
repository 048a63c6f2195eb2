package fsm

// A window holds the items of a list that may begin before their own start is durable: it is durable that they
// may. So the next item begins while the result of the last one becomes durable. Their start is written before
// they begin, so that the death of the process loses nothing. After the loss of power each of them counts as
// begun.
type window struct {
	on   bool
	free int    // items before this one may begin
	end  int    // items before this one may, once event at is durable
	at   uint64 // 0 = nothing is announced that is not durable
	// on resume: items before this one may have begun, though no event says so; and those of which one does
	before int
	known  map[int]bool
}

// windowOf is how many items the window holds beyond those that are at work, for each of these.
const windowOf = 8

// flows reports whether items may begin before their start is durable. What is kept with each record is not
// kept so often.
func (e *Executor) flows() bool {
	return e.cfg.Boot != "" && e.cfg.History != nil && e.cfg.Keep == nil && e.machine.driver.syncer() != nil
}

// shut reports whether an item has to wait until what was announced is durable.
func (w *window) shut(item int) bool { return w.on && w.at > 0 && item >= w.free }

// opens reports whether what was announced is durable.
func (w *window) opens(m *Machine) bool { return w.at > 0 && (m.safe >= w.at || m.broken != nil) }

// open takes in what has become durable.
func (w *window) open(m *Machine) {
	if w.opens(m) {
		w.free, w.at = w.end, 0
	}
}

// close has the next item wait until its start is durable: the memory was taken, which does not have what was
// announced, and what is before it is not read again.
func (w *window) close() { w.free, w.at = 0, 0 }

// announce adds to the event of the last item that begins which further ones may begin, where nothing else is
// announced. It also reports whether all that begin now were announced, and that is durable.
func (w *window) announce(r *round) (inside, announced bool) {
	if !w.on {
		return false, false
	}
	inside = r.next <= w.free
	events := r.e.batch.Events
	if last := len(events) - 1; w.at == 0 && last >= 0 && events[last].Kind == EventItemStart &&
		r.next < r.list.count() {
		w.end = min(r.next+windowOf*r.st.Each.Parallel, r.list.count())
		events[last].Fields = append(events[last].Fields, Field{"ahead", int64(w.end)}, Field{"boot", r.e.cfg.Boot})
		announced = true
	}
	return inside, announced
}

// forget forgets what was announced before a process took the list over: it remembers what may have begun.
func (w *window) forget() { w.before, w.known = 0, map[int]bool{} }

// learn notes that an item began, and what that event announces.
func (w *window) learn(item int, ev Event, boot string) {
	w.known[item] = true
	if n, ok := ev.Get("ahead").(int64); ok && ev.Get("boot") != boot {
		w.before = int(n)
	} else if ok {
		w.before = 0 // the system has not lost what was written after it
	}
}

// suspect has all items count as begun once more that may have: the power was lost.
func (w *window) suspect(r *round) {
	for i, end := range r.ends[:min(w.before, len(r.ends))] {
		if !end.over() && !w.known[i] {
			r.start(i, r.started(i)+1)
		}
	}
}
