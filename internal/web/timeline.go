package web

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/humanize"
	"loops/internal/inspect"
)

// A lane of the timeline has the visits of a state, in thousandths of the time that is shown. Below it are
// lanes with the branches or the items that ran side by side in these visits.
type lane struct {
	State string
	Part  string // a branch, or "items"; "" = the lane has the visits
	Bars  []bar
	Over  []bar // in front of them: when a visit waited, and where its further attempts began
}

type bar struct {
	X, Width int
	Class    string
	Address  string
	Title    string
	steps    int
}

// narrow is how wide a bar is at least, so that it can be seen.
const narrow = 3

// add returns the bars with another one, which begins after the others. Where that is too close to the last one
// to tell them apart, that one stands for both: it shows the worse of them, has the title that together returns
// for their number, and the address that all of them have.
func add(bars []bar, b bar, together func(n int) string, address string) []bar {
	n := len(bars)
	if n == 0 || b.X >= bars[n-1].X+bars[n-1].Width || b.Width > narrow || b.Class != bars[n-1].Class &&
		isOver(b.Class) {
		return append(bars, b)
	}
	last := &bars[n-1]
	last.Width, last.steps = max(last.Width, b.X+b.Width-last.X), last.steps+1
	if worse(b.Class, last.Class) {
		last.Class = b.Class
	}
	last.Title, last.Address = together(last.steps), address
	return bars
}

// Classes of what is in front of the bars of visits.
const (
	waited = "wait"
	tried  = "try"
)

func isOver(class string) bool { return class == waited || class == tried }

// A part is a branch or an item of a visit, a wait of it, or the beginning of a further attempt. What is inside
// a branch is part of that.
type part struct {
	visit      int    // its place among the steps
	name       string // of a branch; "" = it is none
	key        string // what it is
	begin, end int64  // in milliseconds since 1970
	class      string
	stopped    bool // a branch was ended because of another one
}

// parts are those of a run in the order in which they began.
type parts struct {
	all  []part
	open map[string]int // those that have not ended, by branch or number of the item
	last int64          // when the newest event was recorded

	visit, attempts int // those of the visit that the newest event belongs to
}

// theWait is what an open wait is called among the open parts.
const theWait = "wait"

// pause takes in whether the run waits after an event, and how often the action of the visit was begun.
func (p *parts) pause(at int64, v *inspect.Visit, waits bool) {
	if p.visit == v.Index && v.Attempts > max(p.attempts, 1) {
		p.all = append(p.all, part{
			visit: v.Index, key: fmt.Sprintf("attempt %d", v.Attempts), begin: at, end: at,
			class: tried,
		})
	}
	p.visit, p.attempts = v.Index, v.Attempts
	i, is := p.open[theWait]
	if is {
		p.all[i].end = at
	}
	switch {
	case is && !waits:
		delete(p.open, theWait)
	case !is && waits:
		p.begin(theWait, part{visit: v.Index, key: "waiting", begin: at, end: at, class: waited})
	}
}

func (p *parts) begin(name string, one part) {
	if p.open == nil {
		p.open = map[string]int{}
	}
	p.open[name] = len(p.all)
	p.all = append(p.all, one)
}

// take takes in the next event of a run, which belongs to a visit. waits is whether the run waits after it.
func (p *parts) take(e fsm.Event, v *inspect.Visit, waits bool) {
	if !e.Time.IsZero() {
		defer func() { p.last = e.Time.UnixMilli() }()
	}
	if e.Kind == fsm.EventLoopResume && e.Depth == 0 { // what was at work was cut short, and begins again
		for name, i := range p.open {
			if p.all[i].end = max(p.last, p.all[i].begin); name != theWait {
				p.all[i].class = "bad"
			}
		}
		p.open = nil
		return
	}
	if v == nil || v.Index < 0 || inspect.InsideBranch(e) != "" {
		return
	}
	if !e.Time.IsZero() {
		p.pause(e.Time.UnixMilli(), v, waits)
	}
	name, key := "", ""
	switch e.Kind {
	case fsm.EventBranchStart, fsm.EventBranchEnd:
		name, _ = e.Get("branch").(string)
		key = name
	case fsm.EventItemStart, fsm.EventItemEnd:
		key = "item " + inspect.Text(e.Get("item"))
	default:
		return
	}
	of := strconv.Itoa(v.Index) + "/" + key
	switch e.Kind {
	case fsm.EventBranchStart, fsm.EventItemStart:
		if text, _ := e.Get("key").(string); name == "" && text != "" && text != inspect.Text(e.Get("item")) {
			key += ", " + value.Truncate(humanize.FirstLine(text), 60)
		}
		p.begin(of, part{
			visit: v.Index, name: strings.Clone(name), key: strings.Clone(key),
			begin: e.Time.UnixMilli(), end: e.Time.UnixMilli(), class: "now",
		})
	default:
		i, ok := p.open[of]
		if !ok {
			return
		}
		delete(p.open, of)
		verdict, _ := e.Get("verdict").(string)
		p.all[i].stopped = name != "" && verdict == fsm.BranchStopped
		if p.all[i].end, p.all[i].class = e.Time.UnixMilli(), classOf(verdict, true); name == "" &&
			p.all[i].class != "yes" {
			p.all[i].class = "bad" // an item has failed, or it has not
		}
	}
}

// reach has the parts that have not ended last until now.
func (p *parts) reach(now time.Time) {
	for _, i := range p.open {
		p.all[i].end = max(p.all[i].end, now.UnixMilli())
	}
}

// of returns the parts of the visits [first, until).
func (p *parts) of(first, until int) (some []part) {
	for _, one := range p.all {
		if one.visit >= first && one.visit < until {
			some = append(some, one)
		}
	}
	return some
}

// mostLanes is how many lanes the items of a state have. Where more of them run at once, the last lane has the rest.
const mostLanes = 8

// lanes lays steps and their parts out in time, a lane for each state in the order in which they came. first is
// the place of the first of them.
func lanes(steps []step, sides []part, first int, to string) (all []lane, marks []string) {
	if len(steps) == 0 {
		return nil, nil
	}
	begin, end := steps[0].begin, steps[0].end
	for _, s := range steps {
		begin, end = min(begin, s.begin), max(end, s.end)
	}
	for _, s := range sides {
		end = max(end, s.end)
	}
	whole := max(end-begin, 1)
	place := func(t int64) int { return int(1000 * (t - begin) / whole) }
	index := map[string]int{}
	for i, s := range steps {
		if s.path == "" {
			continue
		}
		k, ok := index[s.path]
		if !ok {
			k = len(all)
			all, index[s.path] = append(all, lane{State: s.path}), k
		}
		b := bar{X: place(s.begin), Class: s.Class(), steps: 1, Address: to + query("tab", "steps", "step", s.number)}
		b.Width = max(place(s.end)-b.X, narrow)
		b.Title = strings.TrimSpace(fmt.Sprintf("%s %s %s, %s %s", s.number, s.path, s.verdict,
			humanize.Duration(s.took), s.apart))
		all[k].Bars = add(all[k].Bars, b, func(n int) string { return s.path + ", " + humanize.Count(n, "step") },
			to+query("tab", "steps", "until", strconv.Itoa(first+i+1)))
	}
	for i := range 5 {
		marks = append(marks, markOf(begin, whole*int64(i)/4, whole))
	}
	if len(sides) == 0 {
		return all, marks
	}
	below := map[string][]lane{}
	for _, side := range sides {
		s := steps[side.visit-first]
		if side.name != "" && side.class == "no" && s.Class() == "bad" && !side.stopped {
			side.class = "bad" // the branch by which the step failed
		}
		b := bar{
			X: place(side.begin), Class: side.class, steps: 1,
			Address: to + query("tab", "steps", "step", s.number),
		}
		b.Width = max(place(side.end)-b.X, narrow)
		b.Title = s.path + ": " + side.key
		if side.class != tried {
			b.Title += ", " + humanize.Duration(time.Duration(side.end-side.begin)*time.Millisecond)
		}
		if k, ok := index[s.path]; ok && isOver(side.class) {
			all[k].Over = add(all[k].Over, b, func(n int) string {
				return fmt.Sprintf("%s: %s and others, %d", s.path, side.key, n)
			}, b.Address)
			continue
		}
		l := laneOf(below, s.path, side, b.X)
		l.Bars = add(l.Bars, b, func(n int) string {
			return fmt.Sprintf("%s: %d of %s", s.path, n, cmp.Or(side.name, "its items"))
		}, b.Address)
	}
	var sorted []lane
	for _, l := range all {
		sorted = append(append(sorted, l), below[l.State]...)
	}
	return sorted, marks
}

// laneOf returns the lane for a part that begins at x: that of its branch, or the first one that no item occupies then.
func laneOf(below map[string][]lane, path string, side part, x int) *lane {
	name, of := cmp.Or(side.name, "items"), 0
	for i := range below[path] {
		l := &below[path][i]
		if l.Part != name {
			continue
		}
		last := l.Bars[len(l.Bars)-1]
		if of++; side.name != "" || of == mostLanes || x >= last.X+last.Width || last.Width == narrow {
			return l
		}
	}
	below[path] = append(below[path], lane{State: path, Part: name})
	return &below[path][len(below[path])-1]
}

// markOf is what is written below a timeline so many milliseconds after it begins, of all that it spans: when
// it begins, and then how many seconds later; times of day in one that is longer than ten minutes.
func markOf(begin, after, whole int64) string {
	t := time.UnixMilli(begin + after)
	switch {
	case whole > 48*3600_000:
		return t.Format("Jan 2 15:04")
	case after == 0 || whole > 600_000:
		return t.Format(time.TimeOnly)
	case whole < 100:
		return fmt.Sprintf("+%.3f s", float64(after)/1000)
	case whole < 1000:
		return fmt.Sprintf("+%.2f s", float64(after)/1000)
	case whole < 10_000:
		return fmt.Sprintf("+%.1f s", float64(after)/1000)
	}
	return fmt.Sprintf("+%d s", after/1000)
}

func worse(a, b string) bool {
	order := []string{"yes", "no", "now", "bad"}
	return slices.Index(order, a) > slices.Index(order, b)
}
