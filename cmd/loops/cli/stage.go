package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/internal/api"
	"loops/internal/app"
	"loops/internal/terminal"
)

const envStageDir = "LOOPS_STAGE_DIR"

type stageOptions struct{ dir string }

// newStageCommand is "loops stage", whose commands are for scripts: one line of JSON on stdout, one line for a person
// on stderr for every failure, and exit codes of their own.
func newStageCommand(a *program) *cobra.Command {
	var o stageOptions
	codes := exitStageHelp(false)
	cmd := &cobra.Command{
		Use:   "stage",
		Short: "Record the stages of a script",
		Long: `stage lets a script that was killed continue with the first stage that was not completed. The values of stages
are files
of one directory (--dir or LOOPS_STAGE_DIR): NAME.json is the value of a stage, manifest.json lists the completed
stages. They are valid for one day in UTC. What was saved is durable when the command ends; a kill at any moment leaves
whole files. Scripts that run at once may save different stages.` + codes,
		Example: `  export LOOPS_STAGE_DIR=work
  loops stage begin                  {"resume": false, "run_date": "2026-11-21", "completed": []}
  fetch | loops stage save fetch     {"saved": "fetch"}
  loops stage load fetch             the value, byte for byte
  loops stage done                   {"cleared": true}`,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return stageFailure(a.checkColor(cmd)) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return badStageUse(cmd, "missing argument: begin, save NAME, load NAME or done")
			}
			return badStageUse(cmd, "there is no command stage %s; expected begin, save, load or done", quote(args[0]))
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return badStageUse(cmd, "%s", flagErrorText(cmd, err))
	})
	// It replaces the --dir that other commands have: a script's stages are in no project.
	cmd.PersistentFlags().StringVar(&o.dir, "dir", "", "`directory` of the stages (default: LOOPS_STAGE_DIR)")
	_ = cmd.MarkPersistentFlagDirname("dir")

	cmd.AddCommand(&cobra.Command{
		Use:   "begin",
		Short: "List the completed stages, or start afresh",
		Long: `begin makes the directory if need be and says which stages are completed today. It starts afresh, without any, on a new
day in UTC and where the manifest is absent or damaged. A stage whose value is gone or damaged is no longer completed.` + codes,
		Example: "  loops stage begin --dir work\n  loops stage begin | jq -e '.completed | index(\"fetch\")'",
		Args:    stageArguments(0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runStageBegin(cmd.Context(), a, o) },
	}, &cobra.Command{
		Use:   "save NAME",
		Short: "Save the value of a stage, JSON on stdin, and mark it completed",
		Long: `save reads one JSON value on stdin and keeps its bytes in NAME.json, whose mode stays. NAME is of small
letters, digits,
_ and -, and begins with a letter or digit; manifest is taken.` + codes,
		Example: "  jq -n '{files: 3}' | loops stage save scan",
		Args:    stageArguments(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runStageSave(cmd.Context(), a, o, args[0]) },
	}, &cobra.Command{
		Use:     "load NAME",
		Short:   "Print the value of a completed stage, byte for byte",
		Long:    `load prints the value of a completed stage as it was saved.` + exitStageHelp(true),
		Example: "  loops stage load scan | jq .files\n  if ! value=$(loops stage load scan); then echo not yet; fi",
		Args:    stageArguments(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runStageLoad(cmd.Context(), a, o, args[0]) },
	}, &cobra.Command{
		Use:     "done",
		Short:   "Clear all stages when the script is done",
		Long:    `done removes the manifest and the values of its stages. Other files of the directory stay.` + codes,
		Example: "  loops stage done",
		Args:    stageArguments(0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runStageDone(cmd.Context(), a, o) },
	})
	return cmd
}

// stageArguments wants n names of stages.
func stageArguments(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < n:
			return badStageUse(cmd, "missing argument: NAME of a stage")
		case len(args) > n:
			return badStageUse(cmd, "unexpected argument %s", quote(args[n]))
		}
		for _, name := range args {
			if err := app.CheckStage(name); err != nil {
				return stageFailure(err)
			}
		}
		return nil
	}
}

func badStageUse(cmd *cobra.Command, format string, args ...any) error {
	return failure(engine.Failed, "%s; see: %s --help", fmt.Sprintf(format, args...), cmd.CommandPath())
}

// stageFailure gives every error the exit code and the one line that scripts expect.
func stageFailure(err error) error {
	if err == nil {
		return nil
	}
	return failure(engine.Failed, "%s", oneLine(err))
}

func (o stageOptions) open(a *program) (s app.Stages, err error) {
	dir := o.dir
	if dir == "" {
		dir, _ = a.getenv(envStageDir)
	}
	if dir == "" {
		return s, failure(engine.Failed, "which directory? Give --dir DIR or set %s", envStageDir)
	}
	if a.Dir != "" && !filepath.IsAbs(dir) {
		dir = filepath.Join(a.Dir, dir)
	}
	return app.OpenStages(dir), nil
}

// answer prints one line of JSON.
func (a *program) answer(m any) error {
	return terminal.WriteJSONLine(a.out, m)
}

func runStageBegin(ctx context.Context, a *program, o stageOptions) error {
	s, err := o.open(a)
	if err != nil {
		return err
	}
	b, note, err := s.Begin(ctx)
	if err != nil {
		return stageFailure(err)
	}
	a.stageNote(note)
	return a.answer(b)
}

// stageNote says what is damaged, if anything is.
func (a *program) stageNote(note string) {
	if note != "" {
		terminal.SayLine(a.Err, "loops: "+note)
	}
}

func runStageSave(ctx context.Context, a *program, o stageOptions, name string) error {
	s, err := o.open(a)
	if err != nil {
		return err
	}
	val, err := io.ReadAll(a.In)
	if err != nil {
		return failure(engine.Failed, "stdin cannot be read: %s", oneLine(err))
	}
	note, err := s.Save(ctx, name, val)
	if err != nil {
		return stageFailure(err)
	}
	a.stageNote(note)
	return a.answer(api.StageSaved{Saved: name})
}

func runStageLoad(ctx context.Context, a *program, o stageOptions, name string) error {
	s, err := o.open(a)
	if err != nil {
		return err
	}
	value, done, err := s.Load(ctx, name)
	switch {
	case err != nil:
		return stageFailure(err)
	case !done:
		return stageMissing(name)
	}
	data := terminal.NewSink(terminal.Verbatim(a.Out)) // it is not for people
	_, _ = data.Write(value)                           // close says what went wrong
	return data.Close()
}

func runStageDone(ctx context.Context, a *program, o stageOptions) error {
	s, err := o.open(a)
	if err != nil {
		return err
	}
	note, err := s.Done(ctx)
	if err != nil {
		return stageFailure(err)
	}
	a.stageNote(note)
	return a.answer(api.StagesCleared{Cleared: true})
}
