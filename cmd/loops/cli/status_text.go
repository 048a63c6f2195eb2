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
	"loops/persistence"
)

const (
	rowIndent   = 11 // of the values of rows
	rowLines    = 3  // of one value on a terminal
	limitsNamed = 3
	nearEnough  = 0.25 // share of a limit but for the nearest, from which it is named
)

// row prints a line of status. On a terminal a long value goes on below, and is cut if it is very long.
func (a *app) row(key, value string) {
	if value = plain.Line(value); value == "" {
		return
	}
	lines := []string{value}
	if width := a.width(); width > 0 {
		lines = strings.Split(fold(value, max(20, width-rowIndent-1)), "\n")
		if len(lines) > rowLines {
			lines = append(lines[:rowLines-1:rowLines-1], plain.Cut(lines[rowLines-1]+" …", max(20, width-rowIndent-1)))
		}
	}
	say(a.out, "%-10s %s\n", key+":", block(strings.Join(lines, "\n"+strings.Repeat(" ", rowIndent))))
}

// width is that of the terminal; 0 = the output is none.
func (a *app) width() int {
	f, is := terminal(a.Out)
	if !is {
		return 0
	}
	return newLive(f).width()
}

// printVitals prints one screen about a run.
func (a *app) printVitals(p *project.Project, store *project.Records, v *vitals, waiting []persistence.Waiter) {
	r := v.run
	lives, id := project.Alive(r), string(r.ID)
	a.row("Loop", r.Loop)
	a.row("Run", id)
	a.row("Fork of", forkedText(r.Origin))
	a.row("Work tree", treeText(p, r))
	a.row("Status", statusWord(r))
	a.row("State", v.where())
	a.row("Step", v.steps())
	if r.Passes > 0 {
		a.row("Passes", fmt.Sprint(r.Passes))
	}
	a.row("Elapsed", phrase.Duration(v.elapsed()))
	if lives {
		a.row("Idle", v.idleText())
	}
	if d := v.acting(); d > 0 {
		a.row("Action", plain.Cut(phrase.FirstLine(strings.TrimSpace(text(v.glance.Acting.Get("action")))), 60)+"  (runs for "+phrase.Duration(d)+")")
	}
	a.printWait(v)
	for _, w := range waiting {
		a.row("Queued", waiterText(p, w))
	}
	a.row("Used", v.used())
	if visit, said := v.verdict(); len(said) > 0 {
		a.row("Verdict", before(visit)+said[0].Text)
	}
	a.row("Way", v.way())
	if lives || r.Resumable {
		a.row("Limits", v.limitsText())
	}
	if !r.StartedAt.IsZero() {
		a.row("Started", phrase.Clock(r.StartedAt))
	}
	if !r.UpdatedAt.IsZero() {
		a.row("Updated", phrase.Clock(r.UpdatedAt)+" ("+since(r.UpdatedAt)+")")
	}
	a.row("Owner", ownerText(r))
	a.row("Lease", leaseText(r))
	a.row("Ended by", r.Ended)
	why := v.why()
	a.row("Why", why)
	if why == "" || v.ended() == nil {
		a.row("Error", honestError(r))
	}
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
func (a *app) printWait(v *vitals) {
	r, id := v.run, string(v.run.ID)
	stands := v.wait != nil && v.wait.Why == fsm.WaitPaused
	if !v.pausedAt.IsZero() {
		a.row("Paused", strings.TrimPrefix(v.pausedText(), "paused "))
		if project.Alive(r) {
			a.row("Unpause", a.command("unpause", id))
		}
	}
	if v.wait == nil || stands {
		return
	}
	a.row("Waits for", waitLine(v.wait))
	if project.Alive(r) {
		a.row("Wake", a.command("retry-now", id))
	}
}

// pausedText says how a run that was asked to pause stands: in the words of every command.
func (v *vitals) pausedText() string {
	switch {
	case !project.Alive(v.run):
		return "paused since " + phrase.Clock(v.pausedAt) + ", until it is resumed"
	case v.stands():
		return "paused since " + phrase.Clock(v.wait.Since) + ", before state " + v.wait.State
	}
	return "asked to pause at " + phrase.Clock(v.pausedAt) + "; pauses before its next state"
}

// waitLine is what a run waits for, and until when.
func waitLine(w *fsm.Wait) string {
	left := "over"
	if d := time.Until(w.Until); d > 0 {
		left = phrase.Duration(d) + " left"
	}
	return fmt.Sprintf("%s, until %s (%s)", waitText(w), phrase.Clock(w.Until), left)
}

// where is the state a run is in; inside sub-loops the states around it, and whose the inner one is.
func (v *vitals) where() string {
	levels := v.levels()
	var path []string
	for _, l := range levels {
		path = append(path, l.state)
	}
	out := strings.Join(path, " > ")
	if n := len(levels); n > 1 {
		out += " (of " + levels[n-1].loop + ")"
	}
	return out
}

// steps writes the step of a run, and those of the sub-loops that it is inside of.
func (v *vitals) steps() string {
	out := steps(v.run)
	for _, l := range v.levels()[1:] {
		out += " > " + steps(persistence.Run{Step: l.step, MaxSteps: l.most})
	}
	return out
}

// idleText is how long nothing was heard of a run, in seconds where that is long.
func (v *vitals) idleText() string {
	d := v.idle()
	out := phrase.Duration(d)
	if d >= time.Minute {
		out += fmt.Sprintf(" (%d seconds)", int(d.Seconds()))
	}
	return out + " since its last event or line of output"
}

// used is what prompts and judges cost, against the budget.
func (v *vitals) used() string {
	if v.memory == nil {
		return ""
	}
	s := v.memory.Spent
	of := map[string]string{}
	for _, l := range v.limits {
		if name, ok := strings.CutPrefix(l.Name, "budget."); ok && l.State == "" && l.Loop == v.memory.Loop {
			of[name] = strings.TrimPrefix(l.Amount(), strings.Split(l.Amount(), " of ")[0])
		}
	}
	if s.Prompts == 0 && s.CostUSD == 0 && len(of) == 0 {
		return ""
	}
	var out []string
	if s.Prompts > 0 || of["cost_usd"] != "" {
		line := inspect.Cost{CostUSD: s.CostUSD, Unknown: s.Unpriced, Prompts: max(1, s.Prompts)}
		out = append(out, line.Text()+of["cost_usd"])
	}
	if n := s.Usage.Total(); n > 0 || of["tokens"] != "" {
		out = append(out, phrase.Tokens(n)+of["tokens"]+" tokens")
	}
	if s.Prompts > 0 || of["prompts"] != "" {
		if of["prompts"] == "" {
			out = append(out, phrase.Count(s.Prompts, "prompt"))
		} else {
			out = append(out, fmt.Sprint(s.Prompts)+of["prompts"]+" prompts")
		}
	}
	return strings.Join(out, ", ")
}

// way says where the run came from, and by which rule.
func (v *vitals) way() string {
	left := v.glance.Left()
	if left == nil {
		return ""
	}
	said := inspect.Way(left, v.lawOf(left))
	if len(said) == 0 {
		return ""
	}
	return left.Path() + " " + strings.TrimPrefix(said[0].Text, "So it ")
}

// before is the path of a visit in front of what is said of it.
func before(visit *inspect.Visit) string {
	if visit == nil {
		return ""
	}
	return visit.Path() + ": "
}

// limitsText names the limits that a run is nearest to.
func (v *vitals) limitsText() string {
	var out []string
	for i, l := range v.limits {
		if i == limitsNamed || i > 0 && l.Share() < nearEnough {
			break
		}
		out = append(out, limitText(l, v.run.Loop))
	}
	return strings.Join(out, "; ")
}

func limitText(l inspect.Limit, loop string) string {
	return l.Title(l.Loop != loop) + ": " + l.Amount() + " used"
}

// ownerText says which process carries a run on, and whether it lives.
func ownerText(r persistence.Run) string {
	elsewhere := outOfSight(r)
	switch {
	case r.Owner.PID == 0:
		return ""
	case elsewhere && r.Held && r.Leased.IsZero():
		return process(r.Owner) + ", which holds its lock; from here it cannot be asked more"
	case elsewhere && r.Held:
		return process(r.Owner) + ", which keeps its lease; from here it cannot be asked more"
	case elsewhere && r.Lapsed:
		return process(r.Owner) + ", whose lease ran out; loops resume takes the run over"
	case elsewhere && project.Alive(r):
		return process(r.Owner) + "; whether it lives cannot be asked from here"
	case project.Alive(r):
		return fmt.Sprintf("pid %d, alive", r.Owner.PID)
	}
	return fmt.Sprintf("pid %d, gone", r.Owner.PID)
}

// leaseText says how long the owner of a run in a database keeps it without being heard of.
func leaseText(r persistence.Run) string {
	switch d := time.Until(r.Leased); {
	case r.Leased.IsZero():
		return ""
	case r.Lapsed:
		return "ran out at " + phrase.Clock(r.Leased)
	default:
		return fmt.Sprintf("until %s (%s left), unless it is renewed", phrase.Clock(r.Leased), phrase.Duration(max(0, d)))
	}
}

// next is what a person may want to do with a run: a word for it, and the command.
func (a *app) next(v *vitals) (word, command string) {
	r, id := v.run, string(v.run.ID)
	switch {
	case project.Alive(r) && v.stands():
		return "unpause", a.command("unpause", id)
	case project.Alive(r) && v.wait != nil:
		return "retry-now", a.command("retry-now", id)
	case project.Alive(r):
		return "attach", a.command("attach", id)
	case r.Resumable:
		return "resume", cmp.Or(v.resume, a.resumeCommand(r.Ended, id, r.MaxSteps, 0))
	case r.Status == "":
		return "", ""
	}
	return "explain", a.command("explain", id)
}

// printBrief prints a run in two or three lines.
func (a *app) printBrief(v *vitals) {
	r := v.run
	head := fmt.Sprintf("%s  %s  %s  step %s, %s", r.ID, statusWord(r), v.where(), v.steps(), phrase.Duration(v.elapsed()))
	if project.Alive(r) {
		head += ", idle " + phrase.Duration(v.idle())
	}
	a.indented("", head)
	switch visit, said := v.verdict(); {
	case project.Alive(r) && !v.pausedAt.IsZero():
		a.indented("  ", v.pausedText()+"; let it go on: "+a.command("unpause", string(r.ID)))
	case !v.pausedAt.IsZero():
		a.indented("  ", v.pausedText())
	case v.wait != nil:
		a.indented("  ", "waits for "+waitLine(v.wait))
	case len(said) > 0 && project.Alive(r):
		a.indented("  ", before(visit)+said[0].Text)
	case !project.Alive(r):
		a.indented("  ", cmp.Or(v.why(), honestError(r)))
	}
	if outOfSight(r) {
		a.indented("  ", "owner: "+ownerText(r))
	}
	if len(r.Damage) > 0 {
		a.indented("  ", "damaged: "+strings.Join(r.Damage, "; "))
	}
	var last []string
	if limits := v.limitsText(); limits != "" {
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
	sayLine(a.out, front+line)
}

// showWaiter tells of a run that is none yet.
func (a *app) showWaiter(p *project.Project, w persistence.Waiter, asJSON bool) error {
	if asJSON {
		return writeJSON(a.out, waiterStatus(p, w))
	}
	a.row("Loop", w.Loop)
	a.row("Run", string(w.Resumes))
	a.row("Status", "queued")
	a.row("Waits for", obstacleText(p, w))
	a.row("Waits", phrase.Duration(time.Since(w.Since))+", since "+phrase.Clock(w.Since))
	a.row("Owner", w.Owner.String())
	if w.Log != "" {
		a.row("Log", p.Short(w.Log))
	}
	a.row("Take it out", a.command("queue remove", shortWaiter(w.ID)))
	return nil
}

func (a *app) printWaiter(p *project.Project, w persistence.Waiter) {
	a.indented("", fmt.Sprintf("%s  queued for %s", cmp.Or(string(w.Resumes), w.Loop), phrase.Duration(time.Since(w.Since))))
	a.indented("  ", "waits for "+obstacleText(p, w))
}

// waiterText says in one line that somebody waits in the queue.
func waiterText(p *project.Project, w persistence.Waiter) string {
	return fmt.Sprintf("pid %d waits for %s, for %s", w.Owner.PID, obstacleText(p, w), phrase.Duration(time.Since(w.Since)))
}

// obstacleText is what somebody in the queue waits for.
func obstacleText(p *project.Project, w persistence.Waiter) string {
	o := w.For
	path := plain.Line(cmp.Or(p.Short(o.Path), shortScope(p, w), "its scope"))
	switch {
	case o.Run != "":
		return fmt.Sprintf("%s, which run %s has", path, o.Run)
	case o.Waiter != "":
		return fmt.Sprintf("%s, which loop %s waits for since %s", path, o.Loop, phrase.Clock(o.Since))
	case o.Loop != "":
		return fmt.Sprintf("%s, which loop %s has", path, o.Loop)
	}
	return path
}
