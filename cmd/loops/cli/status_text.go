package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/inspect"
	"loops/internal/phrase"
	"loops/internal/plain"
	"loops/internal/ui"
	"loops/internal/ui/views"
	"loops/persistence"
)

const (
	rowIndent = 11 // of the values of rows
	rowLines  = 3  // of one value on a terminal
)

// row prints a line of status. On a terminal a long value goes on below, and is cut if it is very long.
func (a *app) row(key, value string) {
	if value = plain.Line(value); value == "" {
		return
	}
	lines := []string{value}
	if width := a.width(); width > 0 {
		lines = strings.Split(views.Fold(value, max(20, width-rowIndent-1)), "\n")
		if len(lines) > rowLines {
			lines = append(lines[:rowLines-1:rowLines-1], plain.Cut(lines[rowLines-1]+" …", max(20, width-rowIndent-1)))
		}
	}
	ui.Say(a.out, "%-10s %s\n", key+":", ui.Block(strings.Join(lines, "\n"+strings.Repeat(" ", rowIndent))))
}

// width is that of the terminal; 0 = the output is none.
func (a *app) width() int {
	f, is := ui.Terminal(a.Out)
	if !is {
		return 0
	}
	return ui.Width(f)
}

// printVitals prints one screen about a run.
func (a *app) printVitals(p *project.Project, store *project.Records, v *inspect.Vitals, waiting []persistence.Waiter) {
	r := v.Run
	lives, id := project.Alive(r), string(r.ID)
	a.row("Loop", r.Loop)
	a.row("Run", id)
	a.row("Fork of", ui.ForkedText(r.Origin))
	a.row("Work tree", views.TreeText(p, r))
	a.row("Status", inspect.StatusWord(r))
	a.row("State", v.WhereText())
	a.row("Step", v.StepsText())
	if r.Passes > 0 {
		a.row("Passes", fmt.Sprint(r.Passes))
	}
	a.row("Elapsed", phrase.Duration(v.Elapsed()))
	if lives {
		a.row("Idle", v.IdleText())
	}
	if d := v.Acting(); d > 0 {
		a.row("Action", plain.Cut(phrase.FirstLine(strings.TrimSpace(inspect.Text(v.Glance.Acting.Get("action")))), 60)+"  (runs for "+phrase.Duration(d)+")")
	}
	a.printWait(v)
	for _, w := range waiting {
		a.row("Queued", views.WaiterText(p, w))
	}
	a.row("Used", v.UsedText())
	if visit, said := v.VerdictText(); len(said) > 0 {
		a.row("Verdict", inspect.Before(visit)+said[0].Text)
	}
	a.row("Way", v.WayText())
	if lives || r.Resumable {
		a.row("Limits", v.LimitsText())
	}
	if !r.StartedAt.IsZero() {
		a.row("Started", phrase.Clock(r.StartedAt))
	}
	if !r.UpdatedAt.IsZero() {
		a.row("Updated", phrase.Clock(r.UpdatedAt)+" ("+views.Since(r.UpdatedAt)+")")
	}
	a.row("Owner", views.OwnerText(r))
	a.row("Lease", views.LeaseText(r))
	a.row("Ended by", r.Ended)
	why := v.Why()
	a.row("Why", why)
	if why == "" || v.Ended() == nil {
		a.row("Error", inspect.HonestError(r))
	}
	a.row("Message", phrase.FirstLine(r.Message))
	a.row("Continue", phrase.FirstLine(r.Continuation))
	if r.Events != "" {
		a.row("Events", p.Short(r.Events))
	}
	if !store.Files {
		a.row("Store", store.Name)
	}
	a.row("Damaged", strings.Join(r.Damage, "; "))
	switch word, command := a.next(v); word {
	case "resume":
		a.row("Resume", command)
	case "attach":
		a.row("Watch", command)
	case "explain":
		a.row("Explain", command)
	}
}

// printWait tells what a run waits for, and how that is ended.
func (a *app) printWait(v *inspect.Vitals) {
	r, id := v.Run, string(v.Run.ID)
	stands := v.Wait != nil && v.Wait.Why == fsm.WaitPaused
	if !v.PausedAt.IsZero() {
		a.row("Paused", strings.TrimPrefix(v.PausedText(), "paused "))
		if project.Alive(r) {
			a.row("Unpause", a.command("unpause", id))
		}
	}
	if v.Wait == nil || stands {
		return
	}
	a.row("Waits for", inspect.WaitLine(v.Wait))
	if project.Alive(r) {
		a.row("Wake", a.command("retry-now", id))
	}
}

// next is what a person may want to do with a run: a word for it, and the command.
func (a *app) next(v *inspect.Vitals) (word, command string) {
	r, id := v.Run, string(v.Run.ID)
	switch {
	case project.Alive(r) && v.Stands():
		return "unpause", a.command("unpause", id)
	case project.Alive(r) && v.Wait != nil:
		return "retry-now", a.command("retry-now", id)
	case project.Alive(r):
		return "attach", a.command("attach", id)
	case r.Resumable:
		return "resume", cmp.Or(v.Resume, a.resumeCommand(r.Ended, id, r.MaxSteps, 0))
	case r.Status == "":
		return "", ""
	}
	return "explain", a.command("explain", id)
}

// printBrief prints a run in two or three lines.
func (a *app) printBrief(v *inspect.Vitals) {
	r := v.Run
	head := fmt.Sprintf("%s  %s  %s  step %s, %s", r.ID, inspect.StatusWord(r), v.WhereText(), v.StepsText(), phrase.Duration(v.Elapsed()))
	if project.Alive(r) {
		head += ", idle " + phrase.Duration(v.Idle())
	}
	a.indented("", head)
	switch visit, said := v.VerdictText(); {
	case project.Alive(r) && !v.PausedAt.IsZero():
		a.indented("  ", v.PausedText()+"; let it go on: "+a.command("unpause", string(r.ID)))
	case !v.PausedAt.IsZero():
		a.indented("  ", v.PausedText())
	case v.Wait != nil:
		a.indented("  ", "waits for "+inspect.WaitLine(v.Wait))
	case len(said) > 0 && project.Alive(r):
		a.indented("  ", inspect.Before(visit)+said[0].Text)
	case !project.Alive(r):
		a.indented("  ", cmp.Or(v.Why(), inspect.HonestError(r)))
	}
	if views.OutOfSight(r) {
		a.indented("  ", "owner: "+views.OwnerText(r))
	}
	if len(r.Damage) > 0 {
		a.indented("  ", "damaged: "+strings.Join(r.Damage, "; "))
	}
	var last []string
	if limits := v.LimitsText(); limits != "" {
		last = append(last, limits)
	}
	if word, command := a.next(v); word == "resume" {
		last = append(last, command)
	}
	a.indented("  ", strings.Join(last, "; "))
}

// indented prints one line, cut to the terminal.
func (a *app) indented(front, line string) {
	if line = plain.Line(line); line == "" {
		return
	}
	if width := a.width(); width > 0 {
		line = plain.Cut(line, max(20, width-1-len(front)))
	}
	ui.SayLine(a.out, front+line)
}

// showWaiter tells of a run that is none yet.
func (a *app) showWaiter(p *project.Project, w persistence.Waiter, asJSON bool) error {
	if asJSON {
		return a.reply(views.WaiterStatus(p, w))
	}
	a.row("Loop", w.Loop)
	a.row("Run", string(w.Resumes))
	a.row("Status", "queued")
	a.row("Waits for", views.ObstacleText(p, w))
	a.row("Waits", phrase.Duration(time.Since(w.Since))+", since "+phrase.Clock(w.Since))
	a.row("Owner", w.Owner.String())
	if w.Log != "" {
		a.row("Log", p.Short(w.Log))
	}
	a.row("Take it out", a.command("queue remove", views.ShortWaiter(w.ID)))
	return nil
}

func (a *app) printWaiter(p *project.Project, w persistence.Waiter) {
	a.indented("", fmt.Sprintf("%s  queued for %s", cmp.Or(string(w.Resumes), w.Loop), phrase.Duration(time.Since(w.Since))))
	a.indented("  ", "waits for "+views.ObstacleText(p, w))
}
