package cli

import (
	"context"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/internal/api"
	"loops/internal/app"
	"loops/internal/terminal"
)

type upgradeOptions struct {
	from        string
	check, json bool
}

func newUpgradeCommand(a *program) *cobra.Command {
	var o upgradeOptions
	cmd := &cobra.Command{
		Use:   "upgrade --check",
		Short: "Check whether there is a newer release",
		Long: `upgrade --check compares this program with the newest release, and tells how to install that. It reads one small file,
latest.json, from the folder or URL that --from or the setting upgrade.from names; without one it reads nothing. It never
downloads or replaces a program: install.sh of the release and package managers do.` + exitHelpOf(
			exitMeaning{Code: exitOK, Text: "it was found out, whatever the answer"},
			exitMeaning{Code: exitFailed, Text: "the release could not be read"},
			exitMeaning{Code: exitUsage, Text: "bad command line, or nothing says where releases are"}),
		Example: `  loops upgrade --check --from https://example.org/loops
  loops upgrade --check --json | jq .newer`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !o.check {
				return usageError{"upgrade does not replace the program; ask with --check", "loops upgrade --help"}
			}
			return runUpgrade(cmd.Context(), a, o)
		},
	}
	cmd.Flags().BoolVar(&o.check, "check", false, "compare with the newest release")
	cmd.Flags().StringVar(&o.from, "from", "", "a `FOLDER` or URL with the files of a release (default: the setting "+
		"upgrade.from)")
	cmd.Flags().BoolVarP(&o.json, "json", "j", false, "print one JSON object")
	return cmd
}

func runUpgrade(ctx context.Context, a *program, o upgradeOptions) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	from := o.from
	if from == "" {
		c, err := p.Config()
		if err != nil {
			return err
		}
		from = c.Releases
	} else if !strings.Contains(from, "://") && !filepath.IsAbs(from) {
		from = filepath.Join(p.Cwd, from)
	}
	if from == "" {
		return usageError{"nothing says where releases are: give --from FOLDER|URL, or set upgrade.from " +
			"in the settings", "loops upgrade --help"}
	}
	ctx, stop := signal.NotifyContext(ctx, signalEnds...)
	defer stop()
	r, err := app.FindRelease(ctx, from)
	if err != nil {
		return failure(engine.Failed, "the newest release could not be read: %v", err)
	}
	current := buildVersion()
	newer, known := r.Newer(current)
	if o.json {
		o := api.Release{
			Version: current, Latest: r.Version, Date: r.Date.Format(time.RFC3339), URL: api.Text(r.URL),
			From: from,
		}
		if known {
			o.Newer = &newer
		}
		return terminal.WriteJSON(a.out, o)
	}
	where := r.URL
	if where == "" {
		where = from
	}
	switch {
	case !known:
		terminal.SayLine(a.out, "This program was built from source, "+current+"; the newest release is "+r.Version+
			", in "+where+".")
	case newer:
		terminal.SayLine(a.out, "loops "+r.Version+" of "+r.Date.Format(time.DateOnly)+
			" is newer than this program, "+current+".")
		terminal.SayLine(a.out, "Install it with install.sh or the packages in "+where+".")
	default:
		terminal.SayLine(a.out, "loops "+current+" is the newest release.")
	}
	return nil
}
