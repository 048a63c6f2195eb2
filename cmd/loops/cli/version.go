package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"loops/fsm/value"
	"loops/internal/ui"
)

// version is set by the linker for releases.
var version = ""

func newVersionCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "version prints the version of loops, the Go it was built with and the platform." + exitCodes(exitOK, exitFailed, exitUsage),
		Example: "  loops version\n  loops version --json",
		Args:    arguments(0, 0, ""),
		RunE:    func(*cobra.Command, []string) error { return printVersion(a, asJSON) },
	}
	cmd.Flags().BoolVarP(&asJSON, "json", "j", false, "print one JSON object")
	return cmd
}

func printVersion(a *app, asJSON bool) error {
	v, platform := buildVersion(), runtime.GOOS+"/"+runtime.GOARCH
	if asJSON {
		return ui.WriteJSON(a.out, value.NewMap("version", v, "go", runtime.Version(), "platform", platform))
	}
	_, err := fmt.Fprintf(a.out, "loops %s (%s, %s)\n", v, runtime.Version(), platform)
	return err
}

func buildVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && (v == "" || v == "(devel)") {
			v = "devel-" + s.Value[:min(12, len(s.Value))]
		}
	}
	if v == "" || v == "(devel)" {
		return "devel"
	}
	return v
}
