package cli

import (
	"context"
	"io"
	"strings"

	"loops/internal/terminal"
	"loops/internal/watch"
)

// printReference prints what a topic has about a name; a chapter is shown in $PAGER on a terminal.
func (a *program) printReference(ctx context.Context, topic string, words []string) error {
	text, long, err := helpAbout(topic, strings.Join(words, " "))
	if err != nil {
		return usageError{err.Error(), "loops help " + topic}
	}
	write := func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
	kind, _ := a.getenv("TERM")
	if terminal, ok := terminal.Terminal(a.Out); ok && long && kind != "dumb" {
		return watch.Programs{Dir: a.Dir, Env: a.Env, Terminal: terminal}.Page(ctx, write)
	}
	return write(a.out)
}
