package cli

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"loops/internal/humanize"
)

// helpMeanings are the words that other programs have for what a command of loops does.
var helpMeanings = map[string]string{
	"start": "run", "exec": "run", "execute": "run", "begin": "run", "launch": "run", "dry-run": "run --dry-run",
	"kill": "stop", "cancel": "stop", "abort": "stop", "terminate": "stop", "end": "stop", "halt": "stop",
	"suspend": "pause", "hold": "pause", "unhold": "unpause", "wake": "retry-now", "nudge": "retry-now",
	"approve": "answer", "reject": "answer", "reply": "answer", "send": "signal", "event": "signal",
	"notify-run": "signal",
	"continue":   "resume", "restart": "resume", "recover": "resume", "rerun": "retry", "clone": "fork",
	"ps": "list --running", "ls": "list", "jobs": "list --running", "running": "list --running",
	"tail": "logs -f", "log": "logs", "output": "logs", "cat": "show", "describe": "show", "view": "show",
	"inspect": "explain", "why": "explain", "debug": "explain",
	"follow": "attach", "dashboard": "watch", "ui": "watch", "info": "status", "state": "status",
	"init": "new", "create": "new", "add": "new", "generate": "new", "edit": "show", "copy": "install",
	"lint": "validate", "check": "validate", "compare": "diff", "draw": "graph", "plot": "graph",
	"delete": "rm", "remove": "rm", "clean": "prune", "gc": "prune", "cleanup": "sweep", "reap": "sweep",
	"repair": "sweep",
	"backup": "export", "dump": "export", "restore": "import", "load": "import", "cron": "schedule", "price": "cost",
	"usage": "cost",
	"trace": "events", "journal": "events", "metrics": "stats", "waiters": "queue list", "health": "doctor",
}

// helpInsteadOf are the commands of little-loops that loops does not have, and what comes closest to each.
var helpInsteadOf = map[string]string{
	"edit-routes": "loops show NAME prints the states and where each verdict leads; edit the file, then " +
		"loops validate NAME",
	"next-loop": "loops list prints each loop with its last run; loops stats, how often they complete",
	"audit":     "loops report RUN, and for programs loops stats NAME --json",
	"evidence": "loops report RUN, and for programs loops events RUN --json: the first event has the " +
		"commit, the branch and a digest of the files",
	"audit-meta":          "loops stats NAME prints the verdicts of each state",
	"diagnose-evaluators": "loops stats NAME prints the verdicts of each state over all runs",
	"calibrate-budget":    "loops stats NAME prints how many steps runs took; loops cost NAME, what they used",
	"scaffold-eval":       "loops new NAME --from PATTERN; the patterns: loops new --list",
	"scaffold-verify":     "loops new NAME --from PATTERN; the patterns: loops new --list",
}

// helpNear returns the commands that a word may mean: one that does what the word means elsewhere, else those
// spelled like it.
func helpNear(cmd *cobra.Command, word string) []string {
	if meant, ok := helpMeanings[word]; ok && !cmd.HasParent() {
		return []string{cmd.Name() + " " + meant}
	}
	cmd.SuggestionsMinimumDistance = 2
	near, least := cmd.SuggestionsFor(word), math.MaxInt
	for _, name := range near {
		least = min(least, humanize.Distance(word, name, len(name)))
	}
	if least >= len(word) { // they share hardly a letter with it
		least = -1
	}
	near = slices.DeleteFunc(near, func(name string) bool {
		return humanize.Distance(word, name, len(name)) > least && !strings.HasPrefix(name, word)
	})
	if meant := humanize.Nearest(word, slices.Sorted(maps.Keys(helpMeanings))); len(near) == 0 && meant != "" &&
		!cmd.HasParent() {
		near = append(near, cmd.Name()+" "+helpMeanings[meant])
	}
	return near
}

// helpNoCommand is the message about a word that is not a command.
func helpNoCommand(word string, near []string) string {
	if text := helpInsteadOf[word]; text != "" {
		return fmt.Sprintf("only little-loops has the command %s; what comes closest: %s", word, text)
	}
	text := fmt.Sprintf("there is no command %q", word)
	if len(near) > 0 {
		text += fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
	}
	return text
}
