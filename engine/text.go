package engine

import (
	"fmt"
	"strings"

	"loops/internal/humanize"
)

// Lines are texts of others, each on a line of its own, all but the first behind Front.
type Lines struct {
	Front string
	Texts []string
}

func (l Lines) String() string { return strings.Join(l.Texts, "\n"+l.Front) }

// A Text is a sentence with the values in it: remedies, texts of others, other Texts. Only a face knows how to
// show them, so that nothing of others acts on a terminal and a command is one that works where it is shown.
type Text struct {
	Format string
	Args   []any
}

// inLines joins texts, each on a line of its own.
func inLines(texts []Text) Text {
	args := make([]any, len(texts))
	for i, t := range texts {
		args[i] = t
	}
	return Text{"%s" + strings.Repeat("\nloops: %s", max(0, len(texts)-1)), args}
}

func textf(format string, args ...any) Text { return Text{format, args} }

// With returns the text with every value as show returns it.
func (t Text) With(show func(arg any) any) string {
	args := make([]any, len(t.Args))
	for i, arg := range t.Args {
		if inner, ok := arg.(Text); ok {
			arg = inner.With(show)
			args[i] = shown(arg.(string))
			continue
		}
		args[i] = show(arg)
	}
	return fmt.Sprintf(t.Format, args...)
}

// Trouble is an error that a face explains in its own words where a text has it among its values.
type Trouble struct{ Err error }

func (t Trouble) String() string { return humanize.OneLine(t.Err) }

// shown is a text whose values were shown already.
type shown string

func (t Text) String() string { return t.With(func(arg any) any { return arg }) }

// remedies are the commands among the values.
func (t Text) remedies() (all []Remedy) {
	for _, arg := range t.Args {
		switch arg := arg.(type) {
		case Remedy:
			all = append(all, arg)
		case Text:
			all = append(all, arg.remedies()...)
		}
	}
	return all
}
