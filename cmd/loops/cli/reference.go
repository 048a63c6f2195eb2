package cli

import (
	"context"
	"io"
	"strings"

	"loops/cmd/loops/cli/helppage"
	"loops/internal/ui"
	"loops/internal/ui/dashboard"
)

// printReference prints what a topic has about a name; a chapter is shown in $PAGER on a terminal.
func (a *app) printReference(ctx context.Context, topic string, words []string) error {
	text, long, err := helppage.About(topic, strings.Join(words, " "))
	if err != nil {
		return usageError{err.Error(), "loops help " + topic}
	}
	write := func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
	kind, _ := a.getenv("TERM")
	if terminal, ok := ui.Terminal(a.Out); ok && long && kind != "dumb" {
		return dashboard.Programs{Dir: a.Dir, Env: a.Env, Terminal: terminal}.Page(ctx, write)
	}
	return write(a.out)
}
