package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"loops/internal/humanize"
	"loops/persistence"
)

// argvShown are the words of a command line as they may be shown and kept: without the passwords of stores.
func argvShown(args []string) []string {
	shown := make([]string, len(args))
	for i, arg := range args {
		name, value, has := strings.Cut(arg, "=")
		switch {
		case has && name == "--store":
			arg = name + "=" + persistence.Redacted(value)
		case i > 0 && args[i-1] == "--store", argvIsPostgres(arg):
			arg = persistence.Redacted(arg)
		}
		shown[i] = arg
	}
	return shown
}

// argvKept are the words of a command line for a log: also without the values of a run's context. Those are in the
// memory of the run, where they are needed.
func argvKept(args []string) []string {
	kept := argvShown(args)
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

// argvIsPostgres reports whether a word names a PostgreSQL.
func argvIsPostgres(arg string) bool {
	return strings.HasPrefix(arg, "postgres://") || strings.HasPrefix(arg, "postgresql://")
}

// argvText is a command line for a person, of words that may be shown.
func argvText(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = humanize.ShellWord(word)
	}
	return "loops " + strings.Join(quoted, " ")
}

// argvFirstWord returns the place of the first argument that is not a flag of loops itself, -1 if there is
// none, and the value of -C before it.
func argvFirstWord(args []string) (place int, dir string) {
	flags := pflag.NewFlagSet("loops", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	flags.SetInterspersed(false)
	flags.StringVarP(&dir, "dir", "C", "", "")
	flags.String("color", "", "")
	flags.String("store", "", "")
	if flags.Parse(args) != nil || flags.NArg() == 0 || flags.ArgsLenAtDash() >= 0 {
		return -1, ""
	}
	return len(args) - flags.NArg(), dir
}

// argvValues are the places of arguments that hold a text, which may be empty, and not the name of something.
var argvValues = []string{"INPUT", "JSON"}

// argvEmptyArgument says which argument is empty and stands for a name, "" = none does. places are those of the
// command.
func argvEmptyArgument(args, places []string) string {
	for i, arg := range args {
		place := "an argument"
		if len(places) > 0 {
			place, _ = strings.CutSuffix(places[min(i, len(places)-1)], "...")
		}
		if strings.TrimSpace(arg) == "" && !slices.Contains(argvValues, place) {
			return place + " is empty; is it a variable that is not set?"
		}
	}
	return ""
}

// argvEmptyFlag says which flag was given an empty text, "" = none was.
func argvEmptyFlag(flags *pflag.FlagSet) (empty string) {
	flags.Visit(func(f *pflag.Flag) {
		given := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			given = list.GetSlice()
		}
		if empty == "" &&
			(len(given) == 0 ||
				slices.ContainsFunc(given, func(text string) bool { return strings.TrimSpace(text) == "" })) {
			empty = fmt.Sprintf("--%s is empty: leave it out to have what is the default; is it a variable "+
				"that is not set?", f.Name)
		}
	})
	return empty
}
