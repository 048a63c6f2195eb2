package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/api"
	"loops/internal/app"
	"loops/internal/humanize"
	"loops/internal/terminal"
	"loops/persistence"
)

type exportOptions struct {
	out                string
	force, json, quiet bool
	withMemory         bool
}

func newExportCommand(a *program) *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:   "export NAME|RUN",
		Short: "Write a run to one file",
		Long: `export writes the run RUN, or the newest run of the loop NAME, into one file: its events, memory, loop file and what
its actions left in the working folder, with the SHA-256 of each. loops import reads it into any store; so does tar,
and then sha256sum -c SHA256SUMS checks it.

The file is compressed with zstd, or with gzip where its name ends in .tar.gz. It is there whole or not at all, and an
existing one is replaced only with --force. A running run is not exported: stop it first, or wait. Symlinks,
pipes and the like in the working folder are left out, and export says so. What is recorded may hold secrets that actions
printed.

Where the files of the project were kept (see undo), FILE has these snapshots: every file of the project that git does not ignore, as
it was; without them loops verify cannot repeat the checks of its receipt elsewhere. Other files of the project, its commits,
a work tree and what was masked (.sealed) do not travel. With --with-memory it also has the memories that the
run began with (see memory), all facts of them; import adds them to those of the project where it is given the same flag.` +
			exitHelpOf(exitMeaning{Code: exitOK, Text: "the file is there"},
				exitMeaning{Code: exitFailed, Text: "the file already exists, or cannot be written"},
				exitMeaning{Code: exitUsage, Text: "bad command line"},
				exitMeaning{Code: exitNotFound, Text: "no such loop, run or database of runs"},
				exitMeaning{Code: exitConflict, Text: "the run is running"},
				exitMeaning{Code: exitRecord, Text: "the run is damaged, or a file of it cannot be read"}),
		Example: `  loops export fix                             its newest run, into fix-20261121T103405.tar.zst
  loops export fix-20261121T103405 -o run.tar.gz`,
		Args: arguments(1, 1, "NAME or RUN"),
		RunE: func(cmd *cobra.Command, args []string) error { return runExport(cmd.Context(), a, o, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.out, "output", "o", "", "write to `FILE`, which ends in .tar.zst or .tar.gz (default: the "+
		"id of the run and .tar.zst)")
	flags.BoolVarP(&o.force, "force", "f", false, "replace FILE if it exists")
	flags.BoolVar(&o.withMemory, "with-memory", false, "also write the memories that the run began with")
	flags.BoolVarP(&o.json, "json", "j", false, "print a JSON object")
	flagQuiet(cmd.Flags(), &o.quiet)
	return cmd
}

func runExport(ctx context.Context, a *program, o exportOptions, arg string) error {
	useZstd := !strings.HasSuffix(o.out, ".tar.gz") && !strings.HasSuffix(o.out, ".tgz")
	if o.out != "" && useZstd && !strings.HasSuffix(o.out, ".tar.zst") && !strings.HasSuffix(o.out, ".tzst") {
		return usageError{
			fmt.Sprintf("--output %q: expected a name that ends in .tar.zst or .tar.gz", o.out),
			"loops export --help",
		}
	}
	p, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	f := store.Finder()
	var run persistence.Run
	if runs, err := f.Runs(ctx, arg, 1); err != nil {
		return store.Failed(err)
	} else if len(runs) == 1 {
		run = runs[0]
	} else if run, err = f.Exactly(ctx, arg); err != nil {
		return app.NoSuchRun(ctx, f, arg)
	}
	if run, err = app.RecordedRun(ctx, store, run); err != nil {
		return err
	}
	if o.out == "" {
		o.out = filepath.Base(string(run.ID)) + ".tar.zst"
	}
	path := a.at(o.out)
	if _, err := os.Lstat(path); err == nil && !o.force {
		return failure(engine.Failed, "%s already exists; to replace it: --force", o.out)
	}
	var memories []string
	if o.withMemory {
		if memories, err = app.MemoriesOf(ctx, store, run); err != nil {
			return fmt.Errorf("run %s was not exported: %w", run.ID, err)
		}
	}
	shown := a.meter("Exporting", o.quiet || o.json, humanize.Bytes)
	through := func(w io.Writer) io.Writer { return &terminal.MeterStream{Writer: w, Meter: shown} }
	written, size, err := app.ExportRun(ctx, path, useZstd, through, store, run, app.WorkFolderOf(p, run), memories)
	shown.End()
	if wrong, ok := errors.AsType[*app.WriteError](err); ok {
		return failure(engine.Failed, "%s cannot be written: %v", o.out, project.Cause(wrong.Err))
	}
	if err != nil {
		return fmt.Errorf("run %s was not exported: %w", run.ID, err)
	}
	for _, left := range written.Left {
		terminal.Say(a.Err, "loops: %s is not a regular file and was left out\n", p.Short(left))
	}
	if written.Receipt && !written.Snapshots {
		terminal.Say(a.Err, "loops: %s has the receipt and not the files that it names, because no snapshots were "+
			"kept: loops verify repeats its checks in this repository alone\n", o.out)
	}
	if o.json {
		return terminal.WriteJSON(a.out, api.Exported{
			Instance: string(run.ID), Loop: run.Loop, File: path, Bytes: size, Events: written.Digest.Events,
			Files: written.Files, LeftOut: written.Left,
			SHA256: written.Digest.Hash, Snapshots: written.Snapshots, Memories: p.AllShort(memories),
		})
	}
	terminal.Say(a.out, "Exported %s to %s (%s, %s, %s).\n", run.ID, o.out,
		humanize.Count(written.Digest.Events, "event"), humanize.Count(written.Files, "file"), humanize.Bytes(size))
	return nil
}
