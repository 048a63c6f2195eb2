package engine

import (
	"fmt"
	"strings"

	"loops/internal/phrase"
	"loops/internal/plain"
	"loops/persistence/sqlstore"
)

// A Remedy is a command that a user can give. A face writes it in its own words; String is how a shell would have it.
type Remedy struct {
	Command string   // its name with its flags, as in "resume -n 20"; "" = there is none
	Args    []string // its arguments
	Dir     string   // the directory of the project, where that is another one now
	Store   string   // where its runs are recorded, where that is another place now
	Plain   bool     // it is to be given in another directory than the one of the project was
}

// Do returns the remedy of a command with arguments.
func Do(command string, args ...string) Remedy { return Remedy{Command: command, Args: args} }

func (r Remedy) String() string {
	line := "loops "
	if r.Dir != "" {
		line += "-C " + plain.ShellWord(r.Dir) + " "
	}
	if r.Store != "" {
		line += "--store " + plain.ShellWord(sqlstore.Redacted(r.Store)) + " "
	}
	line += r.Command
	for _, arg := range r.Args {
		if strings.HasPrefix(arg, "-") {
			line += " --" // or the name of a run would be taken for a flag
			break
		}
	}
	for _, arg := range r.Args {
		line += " " + plain.ShellWord(arg)
	}
	return line
}

// Lines are texts of others, each on a line of its own, all but the first behind Front.
type Lines struct {
	Front string
	Texts []string
}

func (l Lines) String() string { return strings.Join(l.Texts, "\n"+l.Front) }

// A Text is a sentence with the values in it: remedies, texts of others, other Texts. Only a face knows how to show them, so
// that nothing of others acts on a terminal and a command is one that works where it is shown.
type Text struct {
	Format string
	Args   []any
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

func (t Trouble) String() string { return phrase.OneLine(t.Err) }

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
