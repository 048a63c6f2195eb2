package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"loops/internal/humanize"
)

// flagErrorText says what is wrong with a flag, and which one may have been meant.
func flagErrorText(cmd *cobra.Command, err error) string {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, "--"+f.Name)
			}
		})
		if text := insteadOf(cmd, unknown.GetSpecifiedName()); text != "" {
			return "only little-loops has --" + unknown.GetSpecifiedName() + "; what comes closest: " + text
		}
		return "unknown flag: --" + unknown.GetSpecifiedName() + humanize.DidYouMean("--"+unknown.GetSpecifiedName(),
			names)
	}
	bad, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err.Error()
	}
	want := map[string]string{
		"int": "a whole number", "uint64": "a whole number from 0", "float64": "a number",
		"bool": "true or false",
	}[bad.GetFlag().Value.Type()]
	if want == "" {
		return err.Error()
	}
	name := "--" + bad.GetFlag().Name
	if len(bad.GetFlag().Name) == 1 {
		name = name[1:]
	}
	return fmt.Sprintf("%s %q: expected %s", name, bad.GetValue(), want)
}
