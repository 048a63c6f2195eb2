package view

import (
	"loops/engine"
	"loops/internal/api"
	"loops/internal/git"
	"loops/internal/humanize"
	"loops/internal/terminal"
)

// changeWords are what happened to files, as programs and as people read it.
var changeWords = map[git.ChangeKind][2]string{
	git.Added: {"added", "+"}, git.Changed: {"changed", "~"},
	git.Deleted: {"deleted", "-"},
}

// PrintUndone shows what undo changed, or would.
func PrintUndone(page *Page, u *engine.Undone, dryRun, asJSON bool) error {
	if asJSON {
		return terminal.WriteJSON(page.Out, api.Undone{
			Instance: string(u.Run.ID), Loop: u.Run.Loop, Folder: u.Dir, To: u.To.Label(), Commit: u.To.Commit,
			DryRun: dryRun, Found: api.Text(u.Found),
			Changes: each(u.Changes, func(c git.Change) api.ChangedFile {
				return api.ChangedFile{Path: c.Path, Change: changeWords[c.Kind][0]}
			}),
			Others: each(u.Others, func(c git.Change) string { return c.Path }),
		})
	}
	for _, c := range u.Changes {
		terminal.Say(page.Out, "%s %s\n", changeWords[c.Kind][1], c.Path)
	}
	if dryRun && len(u.Others) > 0 {
		terminal.Say(page.Err, "loops: %s changed since the last snapshot of the run (%s ...); --force "+
			"would be needed\n", humanize.Count(len(u.Others), "file"), u.Others[0].Path)
	}
	switch n := humanize.Count(len(u.Changes), "file"); {
	case len(u.Changes) == 0:
		terminal.Say(page.Out, "Nothing to undo: the files of %s are as they were (%s).\n", u.Run.ID, u.To.Label())
	case dryRun:
		terminal.Say(page.Out, "Would change %s of %s (%s).\n", n, u.Run.ID, u.To.Label())
	default:
		terminal.Say(page.Out, "Changed %s of %s (%s). To take that back: %s\n", n, u.Run.ID, u.To.Label(),
			terminal.Block(page.CommandWith("undo", []string{"--to", engine.UndoFound}, string(u.Run.ID))))
	}
	return nil
}

// SnapshotTo returns what undo --to takes for a snapshot.
func SnapshotTo(s git.Snapshot) string {
	switch s.When {
	case git.After:
		return s.Step + engine.UndoAfter
	case git.Found:
		return engine.UndoFound
	case git.Before:
		return s.Step
	}
	return ""
}

// SnapshotPlace returns what follows the label of a snapshot whose files are those of a work tree; "" for any other.
func SnapshotPlace(s git.Snapshot) string {
	if s.Folder == "" {
		return ""
	}
	return " in " + s.Folder
}

// PrintSnapshots lists the snapshots of a run.
func PrintSnapshots(page *Page, all []git.Snapshot, asJSON bool) error {
	if asJSON {
		return terminal.WriteJSON(page.Out, each(all, func(s git.Snapshot) api.Snapshot {
			step := s.Step
			if s.When == git.Found || s.When == git.Restored {
				step = ""
			}
			return api.Snapshot{
				To: SnapshotTo(s), Step: api.Text(step), When: s.When, Time: api.Stamp(s.Time),
				Commit: s.Commit, Folder: api.Text(s.Folder),
			}
		}))
	}
	for _, s := range all {
		terminal.Say(page.Out, "%.12s  %s  %s%s\n", s.Commit, s.Time.Format("2006-01-02 15:04:05"), s.Label(),
			SnapshotPlace(s))
	}
	return nil
}
