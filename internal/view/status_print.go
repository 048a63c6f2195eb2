package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/terminal"
	"loops/persistence"
)

const (
	rowIndent = 11 // of the values of rows
	rowLines  = 3  // of one value on a terminal
)

// row prints a line of status. On a terminal a long value continues below, and is cut if it is very long.
func (page *Page) row(key, value string) {
	if value = humanize.PlainLine(value); value == "" {
		return
	}
	lines := []string{value}
	if width := page.Columns; width > 0 {
		lines = strings.Split(Fold(value, max(20, width-rowIndent-1)), "\n")
		if len(lines) > rowLines {
			lines = append(lines[:rowLines-1:rowLines-1],
				humanize.Cut(lines[rowLines-1]+" …", max(20, width-rowIndent-1)))
		}
	}
	terminal.Say(page.Out, "%-10s %s\n", key+":",
		terminal.Block(strings.Join(lines, "\n"+strings.Repeat(" ", rowIndent))))
}

// PrintStatus prints one screen about a run.
func (page *Page) PrintStatus(p *project.Project, store *project.Records, v *inspect.Status,
	waiting []persistence.Waiter,
) {
	r := v.Run
	lives, id := project.Alive(r), string(r.ID)
	page.row("Loop", r.Loop)
	page.row("Run", id)
	page.row("Project", r.Project)
	page.row("Fork of", terminal.ForkedText(r.Origin))
	page.row("Started by", inspect.StartedBy(r))
	page.row("Work tree", TreeText(p, r))
	page.row("Status", v.StatusText())
	page.row("State", v.WhereText())
	page.row("Step", v.StepsText())
	if r.Passes > 0 {
		page.row("Passes", fmt.Sprint(r.Passes))
	}
	page.row("Elapsed", humanize.Duration(v.Elapsed()))
	if lives {
		page.row("Idle", v.IdleText())
	}
	if d := v.Acting(); d > 0 {
		page.row("Action", humanize.Cut(v.ActionText(), 60)+"  (runs for "+humanize.Duration(d)+")")
	}
	page.row("Git", v.GitText())
	page.row("Not kept", v.LeftFiles())
	page.row("Branches", v.BranchesText())
	page.row("Items", v.ItemsText())
	page.printWait(v)
	page.printAnswers(v)
	for _, w := range waiting {
		page.row("Queued", WaiterText(p, w))
	}
	page.row("Used", v.UsedText())
	if visit, said := v.VerdictText(); len(said) > 0 {
		page.row("Verdict", inspect.Before(visit)+said[0].Text)
	}
	page.row("Route", v.RouteText())
	if lives || r.Resumable {
		page.row("Limits", v.LimitsText())
	}
	if !r.StartedAt.IsZero() {
		page.row("Started", humanize.Clock(r.StartedAt))
	}
	if !r.UpdatedAt.IsZero() {
		page.row("Updated", humanize.Clock(r.UpdatedAt)+" ("+Since(r.UpdatedAt)+")")
	}
	page.row("Owner", OwnerText(r))
	page.row("Lease", LeaseText(r))
	page.row("Ended by", r.Ended)
	page.row("Reason", inspect.Reason(r))
	why := v.Why()
	if inspect.Reason(r) == "" {
		page.row("Why", why)
	}
	if why == "" || v.Ended() == nil {
		page.row("Error", inspect.HonestError(r))
	}
	page.row("Message", humanize.FirstLine(r.Message))
	page.row("Continue", humanize.FirstLine(r.Continuation))
	if r.Events != "" {
		page.row("Events", p.Short(r.Events))
	}
	if !store.Files {
		page.row("Store", store.Name)
	}
	if len(r.Damage) > 0 {
		page.row("Damaged", strings.Join(r.Damage, "; "))
		page.row("Accept",
			page.Remedy(engine.Do(engine.OpSweep, "",
				engine.Setting{Name: engine.SetAcceptDamage, Value: string(r.ID)})))
	}
	switch word, command := page.next(v); word {
	case "resume":
		page.row("Resume", command)
	case "attach":
		page.row("Watch", command)
	case "explain":
		page.row("Explain", command)
		page.row("Again", page.Remedy(engine.Again(r)))
	}
}

// printWait prints what a run waits for, and how that is ended.
func (page *Page) printWait(v *inspect.Status) {
	r, id := v.Run, string(v.Run.ID)
	stands := v.Wait != nil && v.Wait.Why == fsm.WaitPaused
	if !v.PausedAt.IsZero() {
		page.row("Paused", strings.TrimPrefix(v.PausedText(), "paused "))
		if project.Alive(r) {
			page.row("Unpause", page.Command("unpause", id))
		}
	}
	if v.Wait == nil || stands {
		return
	}
	if v.Answered {
		page.row("Waits for", "a process that continues it: what it asked was answered")
		return
	}
	for i, line := range v.WaitLines() {
		page.row([]string{"Waits for", "and for"}[min(i, 1)], line)
	}
	wakes, events := false, map[string]bool{"": true}
	for _, w := range v.Open() {
		if !events[w.Event] {
			page.row("Signal", page.Command("signal", id, w.Event))
		}
		events[w.Event] = true
		wakes = wakes || w.Event == "" && w.Choices == ""
	}
	if wakes && project.Alive(r) {
		page.row("Wake", page.Command("retry-now", id))
	}
	for i, q := range v.Asks {
		if i == mostAsks {
			page.row("Answer", page.Command("answer", id)+"  ("+humanize.Count(len(v.Asks)-i, "other question")+")")
			break
		}
		page.row("Answer", page.AnswerCommand(id, q))
	}
}

// How many questions and answers of a run status prints.
const (
	mostAsks    = 5
	mostAnswers = 3
)

// printAnswers prints who answered the run last, and what.
func (page *Page) printAnswers(v *inspect.Status) {
	n := len(v.Answers)
	for _, g := range v.Answers[max(0, n-mostAnswers):] {
		page.row("Answered", g.Asked()+": "+g.Text())
	}
	if n > mostAnswers {
		page.row("Answered", humanize.Count(n-mostAnswers, "question")+" before: "+
			page.Command("events", string(v.Run.ID)))
	}
}

// next is what a person may want to do with a run: a word for it, and the command.
func (page *Page) next(v *inspect.Status) (word, command string) {
	r, id := v.Run, string(v.Run.ID)
	switch {
	case project.Alive(r) && v.Paused():
		return "unpause", page.Command("unpause", id)
	case project.Alive(r) && v.Wait != nil && v.Wait.Choices != "":
		return "answer", page.Remedy(engine.AnswerRemedy(id, v.Wait.Question))
	case project.Alive(r) && v.Wait != nil && v.Wait.Event != "":
		return "signal", page.Command("signal", id, v.Wait.Event)
	case project.Alive(r) && v.Wait != nil:
		return "retry-now", page.Command("retry-now", id)
	case project.Alive(r):
		return "attach", page.Command("attach", id)
	case r.Resumable && !r.Carried():
		return "resume", cmp.Or(v.Resume, page.Remedy(engine.ResumeRemedy(r.Ended, id, r.MaxSteps, 0)))
	case r.Status == "":
		return "", ""
	}
	return "explain", page.Command("explain", id)
}

// PrintBrief prints a run in two or three lines.
func (page *Page) PrintBrief(v *inspect.Status) {
	r := v.Run
	head := fmt.Sprintf("%s  %s  %s  step %s, %s", r.ID, v.StatusText(), v.WhereText(), v.StepsText(),
		humanize.Duration(v.Elapsed()))
	if project.Alive(r) {
		head += ", idle " + humanize.Duration(v.Idle())
	}
	page.indented("", head)
	switch visit, said := v.VerdictText(); {
	case project.Alive(r) && !v.PausedAt.IsZero():
		page.indented("  ", v.PausedText()+"; continue it: "+page.Command("unpause", string(r.ID)))
	case !v.PausedAt.IsZero():
		page.indented("  ", v.PausedText())
	case v.Wait != nil:
		page.indented("  ", "waits for "+strings.Join(v.WaitLines(), "; "))
	case len(said) > 0 && project.Alive(r):
		page.indented("  ", inspect.Before(visit)+said[0].Text)
	case !project.Alive(r):
		page.indented("  ", cmp.Or(inspect.Reason(r), v.Why(), inspect.HonestError(r)))
	}
	if OutOfSight(r) {
		page.indented("  ", "owner: "+OwnerText(r))
	}
	if len(r.Damage) > 0 {
		page.indented("  ", "damaged: "+strings.Join(r.Damage, "; "))
	}
	var last []string
	if limits := v.LimitsText(); limits != "" {
		last = append(last, limits)
	}
	if word, command := page.next(v); word == "resume" {
		last = append(last, command)
	}
	page.indented("  ", strings.Join(last, "; "))
}

// indented prints one line, cut to the terminal.
func (page *Page) indented(front, line string) {
	if line = humanize.PlainLine(line); line == "" {
		return
	}
	if width := page.Columns; width > 0 {
		line = humanize.Cut(line, max(20, width-1-len(front)))
	}
	terminal.SayLine(page.Out, front+line)
}

// ShowWaiter shows a waiter, which is not a run yet.
func (page *Page) ShowWaiter(p *project.Project, w persistence.Waiter) {
	page.row("Loop", w.Loop)
	page.row("Run", string(w.Resumes))
	page.row("Status", "queued")
	page.row("Waits for", ObstacleText(p, w))
	page.row("Waits", humanize.Duration(time.Since(w.Since))+", since "+humanize.Clock(w.Since))
	page.row("Owner", w.Owner.String())
	if w.Log != "" {
		page.row("Log", p.Short(w.Log))
	}
	page.row("Take it out", page.Command("queue remove", ShortWaiter(w.ID)))
}

// PrintWaiter prints a run that waits in the queue in two lines.
func (page *Page) PrintWaiter(p *project.Project, w persistence.Waiter) {
	page.indented("", fmt.Sprintf("%s  queued for %s", cmp.Or(string(w.Resumes), w.Loop),
		humanize.Duration(time.Since(w.Since))))
	page.indented("  ", "waits for "+ObstacleText(p, w))
}
