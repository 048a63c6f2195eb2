package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/app"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/terminal"
)

// graphColumns is how wide a text graph is where no terminal says so.
const graphColumns = 80

type graphOptions struct {
	name, format, by, file string
	width                  int
}

func newGraphCommand(a *program) *cobra.Command {
	var o graphOptions
	cmd := &cobra.Command{
		Use:   "graph NAME|RUN",
		Short: "Draw a loop, or the path of a run",
		Long: `graph draws the states of a loop and the transitions between them: as text for a terminal, Mermaid for Markdown, DOT
for Graphviz, SVG, or one self-contained HTML page.

For a run it also draws what the run did: how often it took each transition, and the last outcome, visits, time or
cost of each state, which colour the states. The loop is the one recorded with the run; for runs of little-loops, which record none,
it is the current loop file. With --by a NAME means the newest run of the loop. A loop
that no file of the project has, because it was run by its path, is drawn as its newest run recorded it.

Marks: ▶ begins here, ■ ends here, ✗ failure, ↻ a transition to the same state, ⇥ entered from anywhere when a limit
is reached. A dashed frame is a state that no run can reach, or that is known only when the loop runs.

Text is as wide as the terminal, else 80 columns; what does not fit as boxes is a list. Code hosts draw Mermaid graphs
of up to 500 transitions.` +
			exitHelpOf(exitMeaning{Code: exitOK, Text: "done"},
				exitMeaning{Code: exitFailed, Text: "the graph could not be written out"},
				exitMeaning{Code: exitUsage, Text: "bad command line, or an id that several runs have"},
				exitMeaning{Code: exitInvalid, Text: "the loop file is not valid"},
				exitMeaning{Code: exitNotFound, Text: "no such loop, run or database of runs"},
				exitMeaning{Code: exitRecord, Text: "the records of runs cannot be used"}),
		Example: `  loops graph fix
  loops graph fix --format svg -o fix.svg
  loops graph fix-20261121T103405 --by time
  loops graph fix --by cost --format mermaid`,
		Args: arguments(1, 1, "NAME of a loop, or a RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			const see = "loops graph --help"
			switch o.format {
			case "text", "mermaid", "dot", "svg", "html":
			default:
				return usageError{fmt.Sprintf("--format %q: expected text, mermaid, dot, svg or html", o.format), see}
			}
			if cmd.Flags().Changed("width") && (o.width < 20 || o.width > 10_000) {
				return usageError{fmt.Sprintf("--width %d: expected 20 to 10000 columns", o.width), see}
			}
			if err := checkBy(o.by, see); err != nil {
				return err
			}
			return runGraph(cmd.Context(), a, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.format, "format", "text", "`FORMAT` is text, mermaid, dot, svg or html")
	flags.StringVar(&o.by, "by", "", "what colours the states of a run: `WHAT` is outcome, visits, time or cost "+
		"(default visits)")
	flags.StringVarP(&o.file, "output", "o", "", "write to `FILE` instead")
	flags.IntVar(&o.width, "width", 0, "width of text in `COLUMNS` (default: that of the terminal, or 80)")
	return cmd
}

func runGraph(ctx context.Context, a *program, o graphOptions) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	g, note, err := app.Graph(ctx, p, o.name, o.by, a.damaged, func() (*fsm.Loop, error) {
		return a.drawnLoop(ctx, p, o.name)
	})
	if err != nil {
		return err
	}
	if note != "" {
		terminal.Say(a.Err, "loops: %s\n", note)
	}
	var text string
	switch o.format {
	case "mermaid":
		text = g.Mermaid()
	case "dot":
		text = g.DOT()
	case "svg":
		text = g.SVG()
	case "html":
		text = g.HTML()
	default:
		text = g.Text(cmp.Or(o.width, terminal.Columns(a.Out, a.getenv), graphColumns), o.file == "" &&
			a.coloured(a.Out))
		if o.file == "" {
			text = humanize.Ours(text)
		}
	}
	return a.writeFile(p, o.file, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// drawnLoop returns a loop that is valid; what is wrong with another one is printed. One that was run by its
// path is as its newest run recorded it.
func (a *program) drawnLoop(ctx context.Context, p *project.Project, name string) (*fsm.Loop, error) {
	lib, err := p.Library()
	if err != nil {
		return nil, err
	}
	path, err := lib.Find(name)
	if err != nil {
		r, err := a.orRecorded(ctx, p, name, err)
		if err != nil {
			return nil, err
		}
		return r.Loop, nil
	}
	f, err := lib.Load(path)
	if err != nil {
		return nil, project.Unreadable(p, path, err)
	}
	if f.Loop == nil {
		fmt.Fprint(a.Err, a.render(p, f.All()))
		return nil, failure(engine.Invalid, "%s has %s; nothing was drawn", p.Short(path),
			humanize.Count(project.CountErrors(f.All()), "error"))
	}
	return f.Loop, nil
}

// checkBy refuses a word that --by does not support.
func checkBy(by, see string) error {
	if by == "" || slices.Contains(inspect.Measures(), by) {
		return nil
	}
	return usageError{fmt.Sprintf("--by %q: expected outcome, visits, time or cost", by), see}
}
