package view

import (
	"fmt"
	"strings"

	"loops/engine"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/terminal"
	"loops/persistence"
	"loops/reconcile"
)

// CutShort separates the runs whose removal a process that died had begun.
func CutShort(all []engine.Removed) (finished, gone []engine.Removed) {
	for _, r := range all {
		if r.CutShort {
			finished = append(finished, r)
		} else {
			gone = append(gone, r)
		}
	}
	return finished, gone
}

// TellFinished says which removals that were cut short came to their end.
func TellFinished(page *Page, finished []engine.Removed) {
	for _, r := range finished {
		terminal.Say(page.Out, "Removed what was left of %s: %s.\n", r.ID, engine.RemovedWhy)
	}
}

// RemovedRuns returns runs that were removed.
func RemovedRuns(all []engine.Removed) []api.RemovedRun {
	return each(all, func(r engine.Removed) api.RemovedRun {
		return api.RemovedRun{
			Instance: string(r.ID), Loop: r.Loop, Status: api.Text(r.Status),
			Started: api.StampOrNull(r.StartedAt), Bytes: r.Bytes,
		}
	})
}

// RemovedIDs returns the ids of runs that were removed.
func RemovedIDs(all []engine.Removed) []string {
	return each(all, func(r engine.Removed) string { return string(r.ID) })
}

// RunIDs are the ids of runs.
func RunIDs(all []persistence.Run) []string {
	return each(all, func(r persistence.Run) string { return string(r.ID) })
}

// Total is how many bytes runs took.
func Total(rs []engine.Removed) (n int64) {
	for _, r := range rs {
		n += r.Bytes
	}
	return n
}

// TellPruned shows what prune removed, or would, and what stays.
func TellPruned(page *Page, o PruneShown, p engine.Pruned, gone, finished []engine.Removed) error {
	if o.JSON {
		k := p.Kept
		return terminal.WriteJSON(page.Out, api.Pruned{
			DryRun: o.DryRun, Removed: RemovedRuns(gone), Bytes: Total(gone), Finished: RemovedIDs(finished),
			Stay: p.Stay,
			Kept: api.KeptRuns{Live: k.Live, Resumable: k.Resumable, Newest: k.Newest, Unreadable: k.Unreadable},
		})
	}
	TellFinished(page, finished)
	if len(gone) == 0 {
		if !o.Failed {
			terminal.Say(page.Out, "Nothing to remove: %s.\n", stayText(p.Stay, p.Kept))
		}
		return nil
	}
	var table [][]string
	for _, r := range gone {
		table = append(table, []string{string(r.ID), string(r.Status), Since(r.UpdatedAt), humanize.Bytes(r.Bytes)})
	}
	terminal.WriteTable(page.Out, table)
	verb, frees := "Removed", "frees"
	if o.DryRun {
		verb, frees = "Would remove", "would free"
	}
	terminal.Say(page.Out, "%s %s, which %s %s; %s.\n", verb, humanize.Count(len(gone), "run"), frees,
		humanize.Bytes(Total(gone)), stayText(p.Stay, p.Kept))
	return nil
}

// stayText says how many runs stay, and why.
func stayText(n int, k engine.Kept) string {
	if n == 0 {
		return "no run stays"
	}
	text := humanize.Count(n, "run") + " stay"
	if n == 1 {
		text += "s"
	}
	if why := KeptText(k); why != "" {
		text += " (" + why + ")"
	}
	return text
}

// KeptText explains why runs stay whatever they take.
func KeptText(k engine.Kept) string {
	var words []string
	for _, w := range []struct {
		n    int
		Text string
	}{
		{k.Live, "live"},
		{k.Resumable, "resumable"},
		{k.Newest, "among the newest of the loop"},
		{k.Unreadable, "unreadable"},
	} {
		if w.n > 0 {
			words = append(words, fmt.Sprintf("%d %s", w.n, w.Text))
		}
	}
	return strings.Join(words, ", ")
}

// RetainedText says what went and, where the time was too short, who removes the rest; "" where there is
// nothing to say.
func RetainedText(gone []engine.Removed, late bool) string {
	const rest = "loops prune does it at once, a later run continues it."
	switch {
	case len(gone) == 0 && late:
		return "Retention had no time to remove anything: " + rest
	case len(gone) == 0:
		return ""
	}
	text := fmt.Sprintf("Retention removed %s, %s.", humanize.Count(len(gone), "run"), humanize.Bytes(Total(gone)))
	if late {
		text += " There may be more: " + rest
	}
	return text
}

// TellTrees says which work trees runs leave that were removed, and what is in them.
func TellTrees(page *Page, gone []engine.Removed) {
	for _, r := range gone {
		if r.Tree != nil {
			terminal.SayLines(page.Err, "loops: "+terminal.BlockOf("", TreeLines(*r.Tree)))
		}
	}
}

// Change returns what was found out about a run that died.
func Change(c reconcile.Change) api.Change {
	return api.Change{Instance: string(c.ID), Loop: c.Loop, Kind: string(c.Kind), Why: c.Why}
}

// ChangeLine says what was found out about a run that died, and done.
func (page *Page) ChangeLine(c reconcile.Change) string {
	return string(page.Text(engine.ChangeText(c)))
}

// A PruneShown says how what prune did is shown.
type PruneShown struct{ DryRun, JSON, Failed bool }
