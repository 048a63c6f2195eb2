package notify

import (
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// show shows a message on the desktop.
func (s *Sender) show(e Event, limit time.Duration) error {
	program, args := desktop(runtime.GOOS, e)
	path, err := exec.LookPath(program)
	if err != nil {
		return fmt.Errorf("%w (%s)", ErrAbsent, program)
	}
	return s.start(limit, s.Env, nil, path, args...)
}

// desktop returns the command line that shows an event. What the event says is an argument, never code.
func desktop(system string, e Event) (program string, args []string) {
	title, text := "loops: "+printable(e.Loop)+" "+e.Kind, printable(e.Text)
	if system == "darwin" {
		return "osascript", []string{
			"-e", "on run argv", "-e", "display notification (item 2 of argv) with title (item 1 of argv)", "-e",
			"end run", "--", title, text,
		}
	}
	urgency := "normal"
	if slices.Contains([]string{"failed", "timed_out", "stalled", "budget", "limited"}, e.Kind) {
		urgency = "critical"
	}
	// The body may hold markup, the title not.
	text = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
	return "notify-send", []string{"--app-name=loops", "--urgency=" + urgency, "--", title, text}
}
