package trigger

import (
	"slices"
	"time"

	"loops/persistence"
)

// A Stand is what workers are to do about a submitted run.
type Stand int

// The stands.
const (
	Over  Stand = iota // nothing any more: it has ended, or is its user's
	Owned              // nothing now: it has an owner
	Parks              // nothing now: it waits for what has not come
	Due                // carry it
)

// StandOf returns what is to be done about a submitted run. It looks at the run alone, not at what a queue holds of it.
func StandOf(p persistence.Placed) Stand {
	switch {
	case !p.Open:
		return Over
	case p.Claimed:
		return Owned
	}
	switch {
	case !p.State.Due():
		return Over
	case p.State.Status == persistence.Awaiting && p.Waits:
		return Parks
	}
	return Due
}

// QueueLimits are how many runs may be carried at once, by key; that of a queue is under "queue:NAME", that of
// a label under "label:NAME".
type QueueLimits map[string]int

// names are the keys of the limits that hold for a job.
func (l QueueLimits) names(j persistence.Job) (names []string) {
	add := func(name string) {
		if l[name] > 0 {
			names = append(names, name)
		}
	}
	if j.Key != "" {
		add(j.Key)
	}
	add("queue:" + j.Queue)
	for _, label := range j.Labels {
		add("label:" + label)
	}
	return names
}

// Limited reports whether a limit holds for a job, so that it is placed only by Arranged.
func (l QueueLimits) Limited(j persistence.Job) bool { return len(l.names(j)) > 0 }

// Settled are the runs that workers are done with, of those that were submitted.
func Settled(all []persistence.Placed) (done []persistence.ID) {
	for _, p := range all {
		if p.Open && StandOf(p) == Over {
			done = append(done, p.Run)
		}
	}
	return done
}

// Arranged is what a queue is to be changed to: all are the submitted runs that are open, in the order they are
// to begin, queued what the queue holds, and gone reports whether a worker is, or does nothing about a run.
// Runs that are due and have no job get one, keys take turns, limits hold; a job whose worker is gone is
// replaced when no process owns its run. now is the time by our clock.
func Arranged(all []persistence.Placed, queued map[persistence.ID]Ticket,
	gone func(worker string, run persistence.ID) bool, limits QueueLimits, now time.Time,
) (plan QueuePlan) {
	at := make(map[string]int)      // how many are carried, or on their way, by limit
	waiting := make(map[string]int) // how many are queued, by queue and key
	var due []persistence.Placed
	count := func(j persistence.Job) {
		for _, name := range limits.names(j) {
			at[name]++
		}
	}
	known := make(map[persistence.ID]bool, len(all))
	for _, p := range all {
		known[p.Run] = true
		ticket, has := queued[p.Run]
		switch stand := StandOf(p); {
		case stand == Owned:
			count(p.Job) // with a job or without: the owner counts
		case stand != Due:
			if has && !ticket.Taken {
				plan.Drop = append(plan.Drop, p.Run)
			}
		case has && ticket.Taken && (gone(ticket.Worker, p.Run) || silent(p.State, ticket)):
			count(p.Job)
			plan.Replace = append(plan.Replace, p.Job)
		case has:
			count(p.Job)
			if !ticket.Taken {
				waiting[turnOf(p.Job)]++
			}
		// the latter was asked something before its time came
		case !p.At.After(now), p.State.Status == persistence.Awaiting && p.Note == "":
			due = append(due, p)
		}
	}
	for id, ticket := range queued {
		if !known[id] && !ticket.Taken {
			plan.Drop = append(plan.Drop, id)
		}
	}
	for len(due) > 0 { // one of each key a round
		round := make(map[string]bool)
		var later []persistence.Placed
		placed := false
		for _, p := range due {
			turn := turnOf(p.Job)
			switch {
			case round[turn]:
				later = append(later, p)
				continue
			case waiting[turn] >= Window, slices.ContainsFunc(limits.names(p.Job), func(name string) bool {
				return at[name] >= limits[name]
			}):
				continue
			}
			round[turn], placed = true, true
			waiting[turn]++
			count(p.Job)
			plan.Place = append(plan.Place, p.Job)
		}
		if due = later; !placed {
			break
		}
	}
	slices.Sort(plan.Drop)
	return plan
}

// silent reports whether the owner of a run let its lease run out that it got by this job: it is frozen, or cut
// off. Who has a job that is younger than that lease is about to take the run over.
func silent(r persistence.Run, t Ticket) bool { return r.Lapsed && t.Since.Before(r.Leased) }

func turnOf(j persistence.Job) string { return j.Queue + "\x00" + j.Key }
