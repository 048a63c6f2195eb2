package inspect

import (
	"fmt"
	"strings"
	"time"

	"loops/fsm"
	"loops/internal/humanize"
	"loops/persistence"
)

// WaitText is what a run waits for, for people.
func WaitText(w *fsm.Wait) string {
	what := map[string]string{
		fsm.WaitRateLimit: "the rate limit of an agent host",
		fsm.WaitAPIError:  "the API of an agent host, which failed",
		fsm.WaitInfra:     "an agent host that was ended from outside",
		fsm.WaitCircuit:   "the rate limit that another run met",
		fsm.WaitSpend:     "room to spend: " + w.What,
		fsm.WaitQuota:     "the quota of its agent: " + w.What,
		fsm.WaitJudge:     "the rate limit of the host of a judge",
		fsm.WaitMemory:    "memory of this machine",
		fsm.WaitRetry:     "the next try of its action",
		fsm.WaitBackoff:   "its backoff between states",
		fsm.WaitState:     w.What,
		fsm.WaitPaused:    "loops unpause",
	}[w.Why]
	switch {
	case what == "":
		what = w.Why
	case w.Host != "" && w.Why == fsm.WaitCircuit:
		what = "the rate limit of " + w.Host + ", which another run met"
	}
	return what + " (state " + w.State + ")"
}

// How many limits are named, and the share from which those after the first are.
const (
	limitsNamed = 3
	nearEnough  = 0.25 // share of a limit but for the nearest, from which it is named
)

// PausedText is the status of a run that was asked to pause, with the same text in every command.
func (v *Status) PausedText() string {
	switch {
	case !v.Alive:
		return "paused since " + humanize.Clock(v.PausedAt) + ", until it is resumed"
	case v.Paused():
		return pausedText(v.Wait)
	}
	return "asked to pause at " + humanize.Clock(v.PausedAt) + "; pauses before its next state"
}

func pausedText(w *fsm.Wait) string {
	text := "paused since " + humanize.Clock(w.Since) + ", before state " + w.State
	if w.By != "" {
		text += ", by " + w.By
	}
	return text
}

// WaitLine is what a run waits for, until when, and what was seen of it last.
func WaitLine(w *fsm.Wait) string {
	if w.Seen != "" {
		seen := *w
		if seen.Seen = ""; w.Choices != "" {
			return WaitLine(&seen) + "; " + w.Seen
		}
		return fmt.Sprintf("%s; check %d: %s", WaitLine(&seen), w.Looks, w.Seen)
	}
	if w.Until.IsZero() {
		return WaitText(w) + ", however long that takes"
	}
	left := "over"
	if d := time.Until(w.Until); d > 0 {
		left = humanize.Duration(d) + " left"
	}
	return fmt.Sprintf("%s, until %s (%s)", WaitText(w), humanize.Clock(w.Until), left)
}

// Open are all that the run waits for, in whatever branches, items and sub-loops; nil = nothing, or nothing
// that is known.
func (v *Status) Open() []fsm.OpenWait {
	if v.Wait == nil || v.Memory == nil {
		return nil
	}
	return v.Memory.Waits()
}

// mostWaits is how many waits of a run are told one by one.
const mostWaits = 5

// WaitLines says what the run waits for: a line for each wait, with its branch or item where there are several,
// and how many more there are.
func (v *Status) WaitLines() (lines []string) {
	open := v.Open()
	if len(open) < 2 && v.Wait != nil {
		return []string{WaitLine(v.Wait)}
	}
	for i, w := range open {
		if i == mostWaits {
			return append(lines, humanize.Count(len(open)-i, "other wait"))
		}
		line := WaitLine(w.Wait)
		if w.Path != "" {
			line = PlaceText(w.Path) + ": " + line
		}
		lines = append(lines, line)
	}
	return lines
}

// WhereText is the state a run is in; inside sub-loops the states around it, and whose the inner one is.
func (v *Status) WhereText() string {
	levels := v.Levels()
	var path []string
	for _, l := range levels {
		path = append(path, l.State)
	}
	out := strings.Join(path, " > ")
	if n := len(levels); n > 1 {
		out += " (of " + levels[n-1].Loop + ")"
	}
	return out
}

// ActionText says in one line what the action in flight does: the description of its state, else the beginning
// of the action itself.
func (v *Status) ActionText() string {
	e, m := v.Glance.Acting, v.Memory
	for i := 0; i < e.Depth && m != nil; i++ {
		m = single(m)
	}
	if l := v.Loops[m]; m != nil && l != nil && !insideBranch(*e) {
		if st := l.States[m.Current]; st != nil && st.Title() != "" {
			return st.Title()
		}
	}
	return humanize.FirstLine(strings.TrimSpace(Text(e.Get("action"))))
}

// StepsText writes the step of a run, and those of the sub-loops that it is inside of.
func (v *Status) StepsText() string {
	out := StepText(v.Run)
	for _, l := range v.Levels()[1:] {
		out += " > " + StepText(persistence.Run{Step: l.Step, MaxSteps: l.Most})
	}
	return out
}

// IdleText is how long nothing was heard of a run, in seconds where that is long.
func (v *Status) IdleText() string {
	d := v.Idle()
	out := humanize.Duration(d)
	if d >= time.Minute {
		out += fmt.Sprintf(" (%d seconds)", int(d.Seconds()))
	}
	return out + " since its last event or line of output"
}

// UsedText is what prompts and judges cost, against the budget.
func (v *Status) UsedText() string {
	if v.Memory == nil {
		return ""
	}
	s, line := v.Memory.Spent, SpentCost(v.Memory, v.Alive)
	of := map[string]string{}
	for _, l := range v.Limits {
		if name, ok := strings.CutPrefix(l.Name, "budget."); ok && l.State == "" && l.Loop == v.Memory.Loop {
			of[name] = strings.TrimPrefix(l.Amount(), strings.Split(l.Amount(), " of ")[0])
		}
	}
	if line.Prompts == 0 && s.CostUSD == 0 && len(of) == 0 {
		return ""
	}
	var out []string
	if line.Prompts > 0 || of["cost_usd"] != "" {
		line.Prompts = max(1, line.Prompts)
		out = append(out, line.Text()+of["cost_usd"])
	}
	if n := s.Usage.Total(); n > 0 || of["tokens"] != "" {
		out = append(out, humanize.Tokens(n)+of["tokens"]+" tokens")
	}
	if s.Prompts > 0 || of["prompts"] != "" {
		if of["prompts"] == "" {
			out = append(out, humanize.Count(s.Prompts, "prompt"))
		} else {
			out = append(out, fmt.Sprint(s.Prompts)+of["prompts"]+" prompts")
		}
	}
	return strings.Join(out, ", ")
}

// RouteText says where the run came from, and by which rule.
func (v *Status) RouteText() string {
	left := v.Glance.Left()
	if left == nil {
		return ""
	}
	said := Way(left, v.LoopOf(left))
	if len(said) == 0 {
		return ""
	}
	return left.Path() + " " + strings.TrimPrefix(said[0].Text, "So it ")
}

// Before is the path of a visit in front of the sentences about it.
func Before(visit *Visit) string {
	if visit == nil {
		return ""
	}
	return visit.Path() + ": "
}

// LimitsText names the limits that a run is nearest to.
func (v *Status) LimitsText() string {
	var out []string
	for i, l := range v.Limits {
		if i == limitsNamed || i > 0 && l.Share() < nearEnough {
			break
		}
		out = append(out, limitText(l, v.Run.Loop))
	}
	return strings.Join(out, "; ")
}

func limitText(l Limit, loop string) string {
	return l.Title(l.Loop != loop) + ": " + l.Amount() + " used"
}

// PlaceText names the branches and items of a path (see fsm.OpenWait) for people, outermost first: branch lint, item 2.
func PlaceText(path string) string {
	names := strings.Split(path, "/")
	for i, name := range names {
		if n := fsm.ItemOf(name); n > 0 {
			names[i] = fmt.Sprintf("item %d", n)
		} else {
			names[i] = "branch " + name
		}
	}
	return strings.Join(names, ", ")
}
