package fsm

// ItemsAgain says which items of a list that have ended are done again.
type ItemsAgain struct {
	Failed      bool // those that came to another verdict than yes, but for
	Interrupted bool // those with idempotent: false that were cut short, whether they have an end or not; branches too
}

// fields returns what the event of the list says of it.
func (a ItemsAgain) fields() (fields []Field) {
	if a.Failed {
		fields = append(fields, Field{"retry_failed", true})
	}
	if a.Interrupted {
		fields = append(fields, Field{"rerun", true})
	}
	return fields
}

func againOf(ev Event) ItemsAgain {
	return ItemsAgain{Failed: ev.Get("retry_failed") == true, Interrupted: ev.Get("rerun") == true}
}

// takes reports whether an item that came to an end is done again.
func (a ItemsAgain) takes(end itemEnd) bool {
	switch end {
	case itemOpen, itemBegun, itemYes:
		return false
	case itemInterrupted:
		return a.Interrupted
	}
	return a.Failed
}

// reopen takes the ends of items back that are done again. An item that was cut short keeps the number of its starts.
// A failed item has none.
func (r *round) reopen(again ItemsAgain) {
	if again == (ItemsAgain{}) {
		return
	}
	for i, end := range r.ends {
		switch {
		case again.takes(end):
			starts := 0
			if end == itemInterrupted {
				starts = r.started(i)
			}
			r.open(i, starts)
			r.done--
			r.failed--
		case end == itemBegun && again.Interrupted:
			r.open(i, r.started(i))
		}
	}
}

func (r *round) indexOf(ev Event) (int, bool) {
	return itemIndex(ev, len(r.ends))
}

func (r *round) settle(i int, end itemEnd) {
	r.ends[i] = end
	delete(r.starts, i)
	r.count(end)
	r.fresh++
}

func (r *round) count(end itemEnd) {
	if !end.over() {
		return
	}
	r.done++
	if end != itemYes {
		r.failed++
	}
}
