package cli

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/persistence/sqlstore"
)

// A handover is a whole command line for another process of this program, as it was given, so that nothing of it can be
// left out. It goes through a pipe: every user of the machine can read the arguments of a process, and a file could stay
// behind. The environment, which only its user can read, is inherited.
type handover struct {
	Args []string `json:"args"` // without the program's name
	Dir  string   `json:"dir"`  // working directory, absolute
}

// start starts a process that gets the command line on the next descriptor after cmd.ExtraFiles.
func (h handover) start(cmd *exec.Cmd) error {
	b, err := json.Marshal(h)
	if err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, r)
	err = errors.Join(cmd.Start(), r.Close())
	if err == nil {
		_, err = w.Write(b)
		if errors.Is(err, syscall.EPIPE) {
			err = nil // it has ended, and that tells more
		}
	}
	return errors.Join(err, w.Close())
}

// takeOver reads a command line from a descriptor.
func takeOver(fd int) (handover, error) {
	var h handover
	f := os.NewFile(uintptr(fd), "the command line")
	b, err := io.ReadAll(f)
	if err == nil {
		err = json.Unmarshal(b, &h)
	}
	return h, errors.Join(err, f.Close())
}

// piped reports whether all descriptors from one on are pipes, as the program that starts this one makes them. None
// of them is inherited by what this process starts.
func piped(from, to int) bool {
	for fd := from; fd <= to; fd++ {
		var st syscall.Stat_t
		if syscall.Fstat(fd, &st) != nil || st.Mode&syscall.S_IFMT != syscall.S_IFIFO {
			return false
		}
		syscall.CloseOnExec(fd)
	}
	return true
}

// handedOverName is the command that carries out a command line which another process of this program hands over.
const handedOverName = "handed-over"

func newHandedOverCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   handedOverName,
		Short: "Carry out a command line that loops mcp hands over",
		Long: `handed-over carries out the command line that it reads from descriptor 3, in the same process. loops mcp starts it, so that
what an agent passes to a run is not for every user of the machine to see; it is of no use without.` + exitCodes(exitUsage),
		Example: "  loops mcp    starts it",
		Hidden:  true,
		Args:    arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			const fd = 3
			if !piped(fd, fd) {
				return usageError{"this command is what loops mcp starts, and is of no use to anybody else", "loops mcp --help"}
			}
			h, err := takeOver(fd)
			if err != nil {
				return failure(engine.Failed, "the command line cannot be read: %v", err)
			}
			inner := &app{IO: IO{In: a.In, Out: a.Out, Err: a.Err, Dir: h.Dir, Env: a.Env}}
			return passOn(inner.execute(cmd.Context(), h.Args))
		},
	}
}

// shownArguments are the words of a command line as they may be shown and kept: without the passwords of stores.
func shownArguments(args []string) []string {
	shown := make([]string, len(args))
	for i, arg := range args {
		name, value, has := strings.Cut(arg, "=")
		switch {
		case has && name == "--store":
			arg = name + "=" + sqlstore.Redacted(value)
		case i > 0 && args[i-1] == "--store", isPostgres(arg):
			arg = sqlstore.Redacted(arg)
		}
		shown[i] = arg
	}
	return shown
}

// keptArguments are the words of a command line for a log: also without the values of a run's context. Those are in the
// memory of the run, where they are needed.
func keptArguments(args []string) []string {
	kept := shownArguments(args)
	for i, arg := range kept {
		name, value, has := strings.Cut(arg, "=")
		switch {
		case has && name == "--context":
			key, _, _ := strings.Cut(value, "=")
			kept[i] = name + "=" + key + "=..."
		case i > 0 && args[i-1] == "--context" && has:
			kept[i] = name + "=..."
		}
	}
	return kept
}

func isPostgres(arg string) bool {
	return strings.HasPrefix(arg, "postgres://") || strings.HasPrefix(arg, "postgresql://")
}

// discreet is a message without the password of the store that this command line names.
func (a *app) discreet(message string) string {
	given := []string{a.store}
	if env, ok := a.getenv(project.EnvStore); ok {
		given = append(given, env)
	}
	for _, arg := range a.args {
		if _, value, _ := strings.Cut(arg, "="); isPostgres(value) {
			arg = value
		}
		if isPostgres(arg) {
			given = append(given, arg)
		}
	}
	for _, url := range given {
		if shown := sqlstore.Redacted(url); shown != url {
			message = strings.ReplaceAll(message, url, shown)
		}
	}
	return message
}

// commandText is a command line for a person, of words that may be shown.
func commandText(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = quote(word)
	}
	return "loops " + strings.Join(quoted, " ")
}
