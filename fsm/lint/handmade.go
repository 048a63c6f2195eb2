package lint

import (
	"slices"
	"strings"

	"loops/fsm"
	"loops/fsm/pyregexp"
)

var (
	assigns = pyregexp.Lazy(`^\w+=\S*\s+`)
	counts  = pyregexp.Lazy(`^for\s+(?:\w+\s+in\s[^\n;]*(?:\bseq\b|\.\.)|\(\()`)
	forIn   = pyregexp.Lazy(`^for\s+\w+\s+in\s`)
)

// workers are programs that may take their time, so that it is a loss to begin again.
var workers = []string{
	"loops", "make", "go", "npm", "npx", "yarn", "pnpm", "node", "python", "python3", "uv", "cargo", "docker",
	"podman", "kubectl", "terraform", "curl",
	"wget", "ssh", "rsync", "ffmpeg", "pandoc", "claude", "codex", "gemini", "qwen",
}

// A bashLoop is one that is open where a script is read.
type bashLoop struct {
	at     int
	list   bool // it works through a list
	waits  bool // it may run for as long as something has not come: a while, an until, or a count of tries
	body   bool // its do was read
	worker bool // its body starts a program that may take its time
	jobs   bool // its body starts one in the background
}

// handmade looks for what a script does by hand and a state does durably: waiting, something for each item,
// several things at once.
func (c *checker) handmade(s *fsm.State) {
	script := s.Action
	warn := func(rule string, at int, text string) {
		c.warnf(rule, spot{at, []string{"states", s.Name, "action"}}, "%s", text)
	}
	var open []*bashLoop
	job, jobs := -1, 0
	for _, p := range scanAll(script, references(script)).pieces {
		if p.op == '&' && !strings.HasPrefix(script[p.at:], "&&") &&
			(p.at == 0 || script[p.at-1] != '&' && script[p.at-1] != '|') {
			if jobs == 0 {
				job = p.at
			}
			if jobs++; len(open) > 0 {
				jobs++ // one for each turn
				open[len(open)-1].jobs = true
			}
		}
		if p.op != 0 {
			continue
		}
		command := script[p.at:]
		for m := assigns().FindString(command); m != ""; m = assigns().FindString(command) {
			command = command[len(m):]
		}
		word := command[:wordEnd(command)]
		var last *bashLoop
		if len(open) > 0 {
			last = open[len(open)-1]
		}
		switch {
		case word == "for" || word == "while" || word == "until":
			open = append(open, &bashLoop{
				at: p.at, list: word == "for" && forIn().MatchString(command),
				waits: word != "for" || counts().MatchString(command),
			})
		case word == "wait" && jobs > 1:
			warn("handmade-jobs", job, "this is run in the background and joined by wait, so a run that is killed "+
				"repeats all of it; a state with parallel runs them as branches, and those that have ended do "+
				"not run again")
			return
		case last == nil:
		case word == "do":
			last.body = true
		case word == "read" && !last.body:
			last.list = true
		case word == "sleep" && last.body && last.waits:
			warn("handmade-wait", last.at, "this loop sleeps until something comes; a state with wait looks every: "+
				"5s for a check, a file, a URL, a time or an event, continues after a kill and is shown as waiting")
			return
		case word == "done":
			open = open[:len(open)-1]
			if last.list && last.worker && !last.jobs {
				warn("handmade-list", last.at, "this loop works through a list, so a run that is killed begins the "+
					"list again; a state with for_each does an action for each item and continues with those "+
					"that lack an end")
				return
			}
		case last.body && (strings.HasPrefix(word, "./") || slices.Contains(workers, word)):
			for _, l := range open {
				l.worker = true
			}
		}
	}
}

func wordEnd(s string) int {
	if n := strings.IndexAny(s, " \t\r\n;&|()<>"); n >= 0 {
		return n
	}
	return len(s)
}
