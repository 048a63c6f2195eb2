package helppage

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"loops/internal/humanize"
)

// Meanings are the words that other programs have for what a command of loops does.
var Meanings = map[string]string{
	"start": "run", "exec": "run", "execute": "run", "begin": "run", "launch": "run", "dry-run": "run --dry-run",
	"kill": "stop", "cancel": "stop", "abort": "stop", "terminate": "stop", "end": "stop", "halt": "stop",
	"suspend": "pause", "hold": "pause", "unhold": "unpause", "wake": "retry-now", "nudge": "retry-now", "approve": "answer", "reject": "answer", "reply": "answer", "send": "signal", "event": "signal", "notify-run": "signal",
	"continue": "resume", "restart": "resume", "recover": "resume", "retry": "resume", "rerun": "fork", "replay": "fork", "clone": "fork",
	"ps": "list --running", "ls": "list", "jobs": "list --running", "running": "list --running",
	"tail": "logs -f", "log": "logs", "output": "logs", "cat": "show", "describe": "show", "view": "show", "inspect": "explain", "why": "explain", "debug": "explain",
	"follow": "attach", "dashboard": "watch", "ui": "watch", "info": "status", "state": "status",
	"init": "new", "create": "new", "add": "new", "generate": "new", "edit": "show", "copy": "install",
	"lint": "validate", "check": "validate", "verify": "validate", "compare": "diff", "draw": "graph", "plot": "graph",
	"delete": "rm", "remove": "rm", "clean": "prune", "gc": "prune", "cleanup": "sweep", "reap": "sweep", "repair": "sweep",
	"backup": "export", "dump": "export", "restore": "import", "load": "import", "cron": "schedule", "price": "cost", "usage": "cost",
	"trace": "events", "journal": "events", "metrics": "stats", "waiters": "queue list", "health": "doctor",
}

// Near returns the commands that a word may mean: one that does what the word means elsewhere, else those spelled like it.
func Near(cmd *cobra.Command, word string) []string {
	if meant, ok := Meanings[word]; ok && !cmd.HasParent() {
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
	if meant := humanize.Nearest(word, slices.Sorted(maps.Keys(Meanings))); len(near) == 0 && meant != "" && !cmd.HasParent() {
		near = append(near, cmd.Name()+" "+Meanings[meant])
	}
	return near
}
