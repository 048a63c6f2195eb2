package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/api"
	"loops/internal/app"
	"loops/internal/disk"
	"loops/internal/humanize"
	"loops/internal/terminal"
	"loops/persistence/archive"
	"loops/reconcile"
)

type importOptions struct {
	maxSize     string
	json, quiet bool
}

func newImportCommand(a *program) *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Import an exported run",
		Long: `import adds the run in FILE, which loops export wrote, to the store: with its id, history, memory, loop file and
the files of its working folder. It can be inspected and resumed as if it had run here. It is imported whole or not at all.

Nothing is overwritten. A run that exists already is compared: if it is the same, import says so and does nothing; if
it differs, or a file in its working folder does, that is an error.

FILE is checked before anything of it is used. A file that is truncated or damaged, has wrong checksums, contains
links or paths that lead elsewhere, or unpacks to more than --max-size is refused. A run
of little-loops can be imported into a database only.` +
			exitHelpOf(exitMeaning{Code: exitOK, Text: "the run is there, also if it was before"},
				exitMeaning{Code: exitFailed, Text: "FILE is damaged or no archive of a run, or another run has its id or working folder"},
				exitMeaning{Code: exitUsage, Text: "bad command line"}, exitMeaning{Code: exitNotFound, Text: "there is no FILE"},
				exitMeaning{Code: exitConflict, Text: "the run that is there is running"}, exitMeaning{Code: exitRecord, Text: "FILE cannot be read, or the records of runs cannot be used"}),
		Example: `  loops import fix-20261121T103405.tar.zst
  loops import run.tar.gz --store sqlite:.loops/runs.db`,
		Args: arguments(1, 1, "FILE, which loops export wrote"),
		RunE: func(cmd *cobra.Command, args []string) error { return runImport(cmd.Context(), a, o, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.maxSize, "max-size", "4G", "refuse a file with more than `SIZE` in it")
	flags.BoolVarP(&o.json, "json", "j", false, "print a JSON object")
	flagQuiet(cmd.Flags(), &o.quiet)
	return cmd
}

func runImport(ctx context.Context, a *program, o importOptions, arg string) error {
	limit, err := parseBytes("--max-size", o.maxSize, "loops import --help")
	if err != nil {
		return err
	}
	path := a.at(arg)
	var size int64
	switch st, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return failure(engine.NotFound, "there is no file %s", arg)
	case err == nil && !st.Mode().IsRegular():
		return failure(engine.Failed, "%s is no regular file", arg)
	case err == nil:
		size = st.Size()
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	p, err := a.project()
	if err != nil {
		return err
	}
	store, err := p.Records(ctx, true)
	if err != nil {
		return err
	}
	defer store.Close()
	runs := p.RunsDir()
	if err := disk.MakeFolder(p.Loops, runs); err != nil {
		return err
	}
	if _, err := engine.FinishRemovals(ctx, store); err != nil { // it could remove what is about to be placed
		return err
	}
	dir, done, err := archive.NewFolder(runs)
	if err != nil {
		return err
	}
	defer done()
	shown := a.meter("Importing", o.quiet || o.json, humanize.Bytes)
	b, err := archive.Open(ctx, &terminal.MeterStream{Reader: file, Meter: shown, Total: size}, dir, limit)
	shown.End()
	if bad, ok := errors.AsType[*archive.Error](err); ok {
		return failure(engine.Failed, "%s was not imported: %v", arg, bad)
	}
	if err != nil {
		return fmt.Errorf("%s was not imported: %w", arg, err)
	}
	digest, result, err := app.ImportRun(ctx, store, b, filepath.Join(runs, filepath.FromSlash(string(b.Run.ID))))
	if err != nil {
		return fmt.Errorf("%s was not imported: %w", arg, err)
	}
	run := reconcile.View(b.Run, project.Alive(b.Run)) // it may have been exported when its process was dead
	if o.json {
		return terminal.WriteJSON(a.out, api.Imported{
			Instance: string(b.Run.ID), Loop: b.Run.Loop, Status: string(run.Status), Result: result, Events: digest.Events, Files: b.Files, SHA256: digest.Hash,
		})
	}
	if result == app.Already {
		terminal.Say(a.out, "%s already exists and is the same; nothing was imported.\n", b.Run.ID)
		return nil
	}
	terminal.Say(a.out, "Imported %s (%s, %s, %s).\n", b.Run.ID, run.Status, humanize.Count(digest.Events, "event"), humanize.Count(b.Files, "file"))
	return nil
}
