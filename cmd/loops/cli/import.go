package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/internal/app"
	"loops/internal/humanize"
	"loops/internal/terminal"
)

type importOptions struct {
	maxSize     string
	json, quiet bool
	withMemory  bool
}

func newImportCommand(a *program) *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Import an exported run",
		Long: `import adds the run in FILE, which loops export wrote, to the store: with its id, history, memory, loop file and
the files of its working folder. It can be inspected and resumed as if it had run here. It is imported whole or not at all.
The snapshots of its files, if FILE has any, go into the repository of the project (see undo).

Nothing is overwritten. A run that exists already is compared: if it is the same, import says so and does nothing; if
it differs, or a file in its working folder does, that is an error. Memories in FILE (see memory) are only taken with --with-memory: their facts
get into prompts of later runs. They are added to those of the project.

FILE is checked before anything of it is used. A file that is truncated or damaged, has wrong checksums, contains
links or paths that lead elsewhere, or unpacks to more than --max-size is refused. A run
of little-loops can be imported into a database only.` +
			exitHelpOf(exitMeaning{Code: exitOK, Text: "the run is there, also if it was before"},
				exitMeaning{
					Code: exitFailed,
					Text: "FILE is damaged or no archive of a run, or another run has its id or working folder",
				},
				exitMeaning{Code: exitUsage, Text: "bad command line"},
				exitMeaning{Code: exitNotFound, Text: "there is no FILE"},
				exitMeaning{Code: exitConflict, Text: "the run that is there is running"},
				exitMeaning{Code: exitRecord, Text: "FILE cannot be read, or the records of runs cannot be used"}),
		Example: `  loops import fix-20261121T103405.tar.zst
  loops import run.tar.gz --store sqlite:.loops/runs.db`,
		Args: arguments(1, 1, "FILE, which loops export wrote"),
		RunE: func(cmd *cobra.Command, args []string) error { return runImport(cmd.Context(), a, o, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.maxSize, "max-size", "4G", "refuse a file with more than `SIZE` in it")
	flags.BoolVar(&o.withMemory, "with-memory", false, "add the memories in FILE to those of the project")
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
	shown := a.meter("Importing", o.quiet || o.json, humanize.Bytes)
	run, err := app.ImportFile(ctx, store, &terminal.MeterStream{Reader: file, Meter: shown, Total: size}, limit,
		o.withMemory, shown.End)
	if err != nil {
		return app.NotImported(arg, err)
	}
	if run.SnapshotsLost != "" {
		terminal.Say(a.Err, "loops: the snapshots of its files were left out, so loops undo has nothing of it: %s\n",
			run.SnapshotsLost)
	}
	if len(run.Memories) > 0 && !run.MemoriesTaken {
		terminal.Say(a.Err, "loops: %s has a memory (%s), which was left out; to add it to that of the project: "+
			"--with-memory\n", arg, humanize.List(run.Memories))
	}
	if o.json {
		return terminal.WriteJSON(a.out, run)
	}
	if run.Result == app.Already {
		terminal.Say(a.out, "%s already exists and is the same; nothing was imported.\n", run.Instance)
		return nil
	}
	terminal.Say(a.out, "Imported %s (%s, %s, %s).\n", run.Instance, run.Status, humanize.Count(run.Events, "event"),
		humanize.Count(run.Files, "file"))
	return nil
}
