package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// loops rm "$UNSET" removed the newest run. Whatever the command, an empty name is a mistake, at every place
// and for every flag that takes a text, and nothing is done.
func TestEmptyNames(t *testing.T) {
	refused := func(args ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		code := Main(args, IO{In: strings.NewReader(""), Out: &out, Err: &errs, Dir: t.TempDir(), Env: []string{}})
		want, hint := exitUsage, "\nTry: loops "
		if args[0] == "stage" {
			want, hint = exitFailed, "" // a line alone, as scripts expect
		}
		if code != want || out.Len() > 0 || !strings.Contains(errs.String(), "is empty") ||
			!strings.Contains(errs.String(), hint) {
			t.Errorf("%q: exit code %d\n%s%s", args, code, out.String(), errs.String())
		}
	}
	arguments, flags := 0, 0
	completeVisit(newRootCommand(&program{}, ""), func(cmd *cobra.Command) {
		path := strings.Fields(cmd.CommandPath())[1:]
		if !cmd.Runnable() || cmd.HasSubCommands() || path[0] == "help" {
			return // it takes no names
		}
		places := completePlacesOf(cmd)
		filled := make([]string, len(places))
		for i := range filled {
			filled[i] = "x"
		}
		for i, place := range places {
			if slices.Contains(argvValues, place) {
				continue
			}
			for _, empty := range []string{"", " \t"} {
				arguments++
				given := slices.Clone(filled)
				given[i] = empty
				refused(slices.Concat(path, given)...)
				refused(slices.Concat(path, []string{"--"}, given)...)
			}
		}
		cmd.InheritedFlags() // adds them to those of the command
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !strings.HasPrefix(f.Value.Type(), "string") {
				return // what it is not is said by its type
			}
			for _, empty := range []string{"", " "} {
				flags++
				refused(slices.Concat(path, filled, []string{"--" + f.Name + "=" + empty})...)
			}
		})
	})
	if arguments < 60 || flags < 80 {
		t.Errorf("only %d arguments and %d flags", arguments, flags)
	}
}
