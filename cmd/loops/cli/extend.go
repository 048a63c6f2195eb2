package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
)

// checkExtend refuses a limit that another flag sets.
func checkExtend(f *engine.Extend, cmd *cobra.Command, budget project.Budget) error {
	for _, k := range engine.ExtendKinds {
		if f.By[k.Name] == 0 {
			continue
		}
		other := ""
		if _, set := budget.Limits[k.Key]; set {
			other = "--budget"
		}
		if k.Flag != "" && cmd.Flags().Changed(k.Flag) {
			other = "--" + k.Flag
		}
		if other != "" {
			return extendsAndSets(k.Name, other, cmd.CommandPath()+" --help")
		}
	}
	return nil
}

// extendsAndSets is the error of a limit that is to be raised, and is set by a flag.
func extendsAndSets(limit, flag, see string) error {
	return usageError{fmt.Sprintf("--extend %s and %s exclude each other: one raises the limit, the other sets it", limit, flag), see}
}
