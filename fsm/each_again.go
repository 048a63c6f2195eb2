package fsm

// ItemsAgain says which items of a list that have ended are done again.
type ItemsAgain struct {
	Failed      bool // those that came to another verdict than yes, but for
	Interrupted bool // those with idempotent: false that were cut short, whether they have an end or not
}

// fields tell of it in the event of the list.
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

// takes reports whether an item that came to a verdict is done again.
func (a ItemsAgain) takes(verdict string) bool {
	switch verdict {
	case "", "yes":
		return false
	case ItemInterrupted:
		return a.Interrupted
	}
	return a.Failed
}

// reopen takes the ends of items back that are done again.
func (r *round) reopen(again ItemsAgain) {
	if again == (ItemsAgain{}) {
		return
	}
	for i, verdict := range r.ends {
		if again.takes(verdict) {
			r.ends[i] = ""
			r.done--
			r.failed--
		}
	}
	if again.Interrupted {
		clear(r.begun)
	}
}

func (r *round) indexOf(ev Event) (int, bool) {
	n, ok := ev.Get("item").(int64)
	return int(n) - 1, ok && n >= 1 && n <= int64(len(r.items))
}

func (r *round) settle(i int, verdict string) {
	r.ends[i] = verdict
	r.done++
	if verdict != "yes" {
		r.failed++
	}
}
