package inspect

import (
	"fmt"
	"strings"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/humanize"
)

// branchesText says that a state begins with its branches, or continues with them.
func branchesText(e fsm.Event) string {
	n := whole(e, "branches")
	line := humanize.Count(n, "branch")
	if most := whole(e, "max_parallel"); most > 0 && most < n {
		line += fmt.Sprintf(", %d at once", most)
	}
	if e.Get("resumed") != nil {
		line += "; those that have ended do not run again"
	}
	return line
}

// branchText says how a branch ended.
func branchText(e fsm.Event) string {
	line := fmt.Sprintf("branch %s: %s", Text(e.Get("branch")), Text(e.Get("verdict")))
	switch {
	case e.Get("error") != nil:
		line += " (" + Text(e.Get("error")) + ")"
	case str(e, "verdict") != "yes" && e.Get("exit_code") != nil:
		line += " (exit code " + Text(e.Get("exit_code")) + ")"
	}
	return line
}

// branchesDone is what branches came to.
func branchesDone(e fsm.Event) string {
	m, ok := e.Get("branches").(*value.Map)
	if !ok {
		return "" // of a simulation
	}
	var parts []string
	for _, name := range m.Keys() {
		parts = append(parts, fmt.Sprintf("%s: %s", name, Text(m.Value(name))))
	}
	return strings.Join(parts, ", ")
}

// InsideBranch returns the path of the branch or the item that an event is inside of; "" = it is inside of none.
func InsideBranch(e fsm.Event) string {
	if !insideBranch(e) {
		return ""
	}
	return str(e, "branch")
}

// insideBranch reports whether an event is of what runs inside a branch of parallel, and not of the state that runs it.
func insideBranch(e fsm.Event) bool {
	branch, ok := e.Get("branch").(string)
	switch e.Kind {
	case fsm.EventWorktreeAttached, fsm.EventWorktreeDetached, fsm.EventWorktreeError:
		ok = ok && e.Get("git_branch") != nil // else branch is one of git
	case fsm.EventBranchStart, fsm.EventBranchEnd:
		return strings.Contains(branch, "/")
	}
	return ok && e.Depth > 0
}
