package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"loops/internal/api"
	"loops/internal/terminal"
)

// A release sets these through the linker; commit and date are those of the commit it was built from.
var version, commit, date string

func newVersionCommand(a *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `version prints the version of loops, the Go it was built with and the platform. --json adds the commit, its date in
RFC 3339 and the modules that the program was built from.` + exitHelp(exitOK, exitFailed, exitUsage),
		Example: "  loops version\n  loops version --json",
		Args:    arguments(0, 0, ""),
		RunE:    func(*cobra.Command, []string) error { return printVersion(a, asJSON) },
	}
	cmd.Flags().BoolVarP(&asJSON, "json", "j", false, "print one JSON object")
	return cmd
}

func printVersion(a *program, asJSON bool) error {
	v, platform := buildVersion(), runtime.GOOS+"/"+runtime.GOARCH
	if asJSON {
		return terminal.WriteJSON(a.out, versionObject(v, platform))
	}
	_, err := fmt.Fprintf(a.out, "loops %s (%s, %s)\n", v, runtime.Version(), platform)
	return err
}

// versionObject has null where the program does not know: one that was built by hand outside a clone has no commit.
func versionObject(v, platform string) api.VersionInfo {
	at, when, modules := commit, date, []api.Module{}
	if info, ok := debug.ReadBuildInfo(); ok {
		if at == "" {
			at, when = setting(info, "vcs.revision"), setting(info, "vcs.time")
		}
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			modules = append(modules, api.Module{Path: m.Path, Version: m.Version, Sum: m.Sum})
		}
	}
	return api.VersionInfo{
		Version: v, Commit: api.Text(at), Date: api.Text(when), Go: runtime.Version(),
		Platform: platform, Modules: modules,
	}
}

func setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
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
	if at := setting(info, "vcs.revision"); at != "" && (v == "" || v == "(devel)") {
		v = "devel-" + at[:min(12, len(at))]
	}
	if v == "" || v == "(devel)" {
		return "devel"
	}
	return v
}
