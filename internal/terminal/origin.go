package terminal

import (
	"fmt"
	"path/filepath"

	"loops/internal/humanize"
	"loops/persistence"
)

// ForkedText says in a few words where a run comes from; "" = it is no fork.
func ForkedText(o *persistence.Origin) string {
	if o == nil {
		return ""
	}
	return fmt.Sprintf("%s at step %d [%d]", o.ID, o.Step, o.Seq)
}

// InProject says in which project a run is, if it may be another one than this.
func InProject(r persistence.Run) (note []string) {
	if r.Project != "" {
		note = append(note, "in "+r.Project)
	}
	return note
}

// DamageNote returns a note for a table of runs, none where nothing is damaged.
func DamageNote(r persistence.Run) (note []string) {
	if len(r.Damage) > 0 {
		note = append(note, "damaged record (loops status says where)")
	}
	return note
}

// ElsewhereText says whose run it is, and how to get at it.
func ElsewhereText(e *persistence.ElsewhereError) string {
	there := ""
	if filepath.IsAbs(e.Project) {
		there = ": use loops -C " + humanize.ShellWord(e.Project)
	}
	return e.Error() + there + "; to look at it from here, give --all-projects; to continue it in this project: " +
		"loops resume --here " + humanize.ShellWord(string(e.ID))
}
