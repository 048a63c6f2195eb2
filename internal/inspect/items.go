package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/humanize"
)

// Progress is how far a run has come with the list of a state with for_each.
type Progress struct {
	Items, Done, Failed, Running int
	Left                         time.Duration // about how long the rest takes; 0 = it is not known
}

// progress gathers it from the newest events of a run, newest first. Of several lists that branches work on
// side by side it is that of the newest event.
type progress struct {
	begun  map[string]int // items that began since newest, by branch
	left   []string       // branches that went to another state since newest
	newest *fsm.Event     // end of an item, or beginning of the list; nil = none was seen
	oldest *fsm.Event     // end of an item of the same list and process
	over   bool           // what is older is of something else
}

func (p *progress) add(e fsm.Event) {
	if p.over {
		return
	}
	branch := str(e, "branch")
	switch e.Kind {
	case fsm.EventItemStart, fsm.EventItemEnd, fsm.EventItemsStart:
		if p.newest == nil && !slices.ContainsFunc(p.left, func(of string) bool { return isIn(branch, of) }) ||
			p.newest != nil && branch == str(*p.newest, "branch") {
			p.item(e, branch)
		}
	case fsm.EventStateEnter, fsm.EventRoute, fsm.EventLoopResume:
		switch {
		case branch == "" || p.newest != nil && isIn(str(*p.newest, "branch"), branch):
			p.over = true
		case p.newest == nil:
			p.left = append(p.left, branch)
		}
	}
}

// isIn reports whether a branch is another one, or inside it.
func isIn(branch, of string) bool {
	return branch == of || strings.HasPrefix(branch, of+"/")
}

// item takes in an event of the list.
func (p *progress) item(e fsm.Event, branch string) {
	switch e.Kind {
	case fsm.EventItemStart:
		if p.newest == nil {
			if p.begun == nil {
				p.begun = map[string]int{}
			}
			p.begun[branch]++
		}
	case fsm.EventItemEnd:
		if p.newest == nil {
			p.newest = &e
		}
		p.oldest = &e
	case fsm.EventItemsStart:
		if p.newest == nil {
			p.newest = &e
		}
		p.over = true
	}
}

// Items is how far the run has come with the list it works on; nil = it works on none.
func (g *Glance) Items() *Progress {
	e := g.items.newest
	if e == nil {
		return nil
	}
	p := &Progress{
		Items: whole(*e, "items"), Done: whole(*e, "done"), Failed: whole(*e, "failed"),
		Running: whole(*e, "running") + g.items.begun[str(*e, "branch")],
	}
	if first := g.items.oldest; first != nil {
		p.Left = left(*first, *e)
	}
	return p
}

// Items is how far the run has come with the list it works on; nil = it works on none. Of a run that no process
// carries no item is running.
func (v *Status) Items() *Progress {
	p := v.Glance.Items()
	if p != nil && !v.Alive {
		p.Running, p.Left = 0, 0
	}
	if p != nil && v.Paused() {
		p.Left = 0
	}
	return p
}

// ItemsText is how far a run has come with a list.
func (v *Status) ItemsText() string {
	p := v.Items()
	if p == nil {
		return ""
	}
	text := fmt.Sprintf("%d of %d done", p.Done, p.Items)
	if p.Failed > 0 {
		text += fmt.Sprintf(", %d of them failed", p.Failed)
	}
	if p.Running > 0 {
		text += fmt.Sprintf(", %d running", p.Running)
	}
	if p.Left >= time.Second {
		text += ", about " + humanize.Duration(p.Left) + " left"
	}
	return text
}

// itemText says how an item ended.
func itemText(e fsm.Event) string {
	line := fmt.Sprintf("item %s of %s, %s: %s", Text(e.Get("item")), Text(e.Get("items")), Text(e.Get("key")),
		Text(e.Get("verdict")))
	var more []string
	switch {
	case e.Get("error") != nil:
		more = append(more, Text(e.Get("error")))
	case str(e, "timeout_kind") != "":
		more = append(more, "it timed out")
	case str(e, "final_state") != "" && str(e, "verdict") != "yes":
		more = append(more, "its loop ended in "+str(e, "final_state"))
	case str(e, "verdict") != "yes" && e.Get("exit_code") != nil:
		more = append(more, "exit code "+Text(e.Get("exit_code")))
	}
	if n := whole(e, "retries"); n > 0 {
		more = append(more, humanize.Count(n, "retry"))
	}
	if len(more) > 0 {
		line += " (" + strings.Join(more, ", ") + ")"
	}
	return line
}

// itemsText says that a state begins with a list, or continues with it.
func itemsText(e fsm.Event) string {
	line := humanize.Count(whole(e, "items"), "item")
	if pattern := str(e, "pattern"); pattern != "" {
		return line + " match " + humanize.PlainLine(pattern)
	}
	if n := whole(e, "parallel"); n > 1 {
		line += fmt.Sprintf(", %d at once", n)
	}
	if n := whole(e, "done"); n > 0 {
		line += fmt.Sprintf("; %d of them have ended before", n)
	}
	return line
}

// itemsDone is what a list came to.
func itemsDone(e fsm.Event) string {
	items, done, failed := whole(e, "items"), whole(e, "done"), whole(e, "failed")
	switch {
	case e.Get("items") == nil:
		return "" // of a simulation
	case items == 0:
		return "there was nothing to do: the list is empty"
	case failed == 0 && done == items:
		return humanize.Count(items, "item") + " passed"
	}
	text := fmt.Sprintf("%d of %s failed", failed, humanize.Count(items, "item"))
	if done < items {
		text += fmt.Sprintf("; %d did not begin", items-done)
	}
	return text
}

// failedTold is how many items that did not end with yes are explained one by one.
const failedTold = 20

// item says how an item ended that did not end with yes.
func (x *explainer) item(e fsm.Event) {
	if str(e, "verdict") == "yes" {
		return
	}
	if x.failed++; x.failed <= failedTold {
		text := itemText(e)
		text = strings.ToUpper(text[:1]) + text[1:] + "."
		if errs := lastLine(str(e, "stderr_preview")); errs != "" {
			text += " Last lines of standard error: " + humanize.Quote(errs) + "."
		}
		text += refusedBy(e)
		x.add(Sentence{Text: text, Events: []uint64{e.Seq}})
	}
}

// moreItems says how many items were not explained one by one, after the last of them.
func (x *explainer) moreItems(e fsm.Event) {
	if more := x.failed - failedTold; more > 0 {
		x.add(say(e, "%s did not end with yes; loops events lists each.", humanize.Count(more, "more item")))
	}
	x.failed = 0
}

// A Pace is how fast the items of a list end. The zero one has seen none.
type Pace struct{ first *fsm.Event }

// Left takes the next event of a list, its beginning or the end of an item, and returns about how long the rest
// takes; 0 = it is not known.
func (p *Pace) Left(e fsm.Event) time.Duration {
	if e.Kind == fsm.EventItemsStart || p.first == nil {
		p.first = &e
		return 0
	}
	return left(*p.first, e)
}

// left is about how long the rest of a list takes, as far as two of its events show; 0 = they do not.
func left(first, last fsm.Event) time.Duration {
	done := whole(last, "done")
	n := done - whole(first, "done")
	if n <= 0 {
		return 0
	}
	return last.Time.Sub(first.Time) / time.Duration(n) * time.Duration(max(0, whole(last, "items")-done))
}

// ItemKeys are the keys of the items that are at work, by their names among the branches. The zero one is empty.
type ItemKeys map[string]string

// Add takes in the next event of a run.
func (k *ItemKeys) Add(e fsm.Event) {
	if e.Kind != fsm.EventItemStart && e.Kind != fsm.EventItemEnd {
		return
	}
	name := fmt.Sprintf("#%d", whole(e, "item"))
	if branch := str(e, "branch"); branch != "" {
		name = branch + "/" + name
	}
	if e.Kind == fsm.EventItemEnd {
		delete(*k, name)
		return
	}
	if *k == nil {
		*k = ItemKeys{}
	}
	(*k)[name] = value.Truncate(humanize.FirstLine(str(e, "key")), 40)
}

// Label is a branch for people: an item has its key behind its number.
func (k ItemKeys) Label(branch string) string {
	parts := strings.Split(branch, "/")
	path := ""
	for i, part := range parts {
		name, _, _ := strings.Cut(part, ".") // without the number of its try
		if key, ok := k[path+name]; ok {
			parts[i] += " " + key
		}
		path += part + "/"
	}
	return strings.Join(parts, "/")
}
