package cli

import (
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/internal/api"
	"loops/internal/app"
	"loops/internal/auth"
	"loops/internal/inspect"
	"loops/internal/simulate"
	"loops/internal/view"
	"loops/internal/web"
	"loops/persistence"
)

// completionWait is how long a shell waits for a database at most.
const completionWait = time.Second

// completing reports whether a command line asks for completions of another one.
func completing(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// offerCompletions has every command below root offer what is valid in its places, which its usage names: NAME|RUN,
// [STEP] or `FILE` of a flag. Whatever is wrong, a shell that asks gets no error message.
func (a *program) offerCompletions(root *cobra.Command) {
	a.Err = io.Discard
	root.InitDefaultHelpCmd()
	offers := a.places(root)
	root.ValidArgsFunction = completeSafe(a.loopsByName(root))
	completeVisit(root, func(cmd *cobra.Command) {
		if words := completePlacesOf(cmd); len(words) > 0 {
			cmd.ValidArgs, cmd.ValidArgsFunction = nil, completeSafe(offers.Arguments(cmd, words))
		} else if !cmd.HasSubCommands() {
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
		for _, flags := range []*pflag.FlagSet{cmd.LocalNonPersistentFlags(), cmd.PersistentFlags()} {
			flags.VisitAll(func(f *pflag.Flag) {
				if offer := offers.Flag(cmd, f); offer != nil {
					// fails only where it was done before
					_ = cmd.RegisterFlagCompletionFunc(f.Name, completeSafe(offer))
				}
				_, f.Usage = pflag.UnquoteUsage(f) // a shell shows it
			})
		}
	})
}

func (a *program) places(root *cobra.Command) completePlaces {
	from := app.NewCompletion(a.project, a.engineOptions())
	runs := func(f app.RunFilter) completeOffer { return completeFound(completeInOrder, from.Runs(f)) }
	only := func(f app.RunFilter) completeOffer { return completeFound(completeInOrder, from.RunsOnly(f)) }
	words := func(of func(loopfile.Entry) []string) completeOffer {
		return completeFound(completeNoFiles, from.LoopWords(of))
	}
	live, goOn := runs(app.IsLive), runs(app.IsResumable)
	stores := completeFoundOr(completeNoSpace, completeNoSpace, from.Stores)
	limits := completeUnfinished("steps=", "passes=", "cost=", "tokens=", "prompts=", "time=")
	return completePlaces{
		"NAME": completeFound(completeNoFiles, from.Loops), "PATH": completeFiles, "FOLDER": completeFiles,
		"FILE": completeFiles, "FILE:LINE": completeFiles, "RUN": runs(app.IsAny),
		"WORKER": completeFound(completeInOrder, from.Workers), "STATE": completeFound(completeInOrder, from.States),
		"STEP":  completeFound(completeInOrder, from.Steps),
		"INPUT": completeNothing, "COMMAND": commands(root), "TOPIC": topics(root), "FROM": stores, "TO": stores,
		"URL":       stores,
		"HOST":      completeFound(completeInOrder, from.Hosts),
		"KEY=VALUE": completeFoundOr(completeNoSpace, completeNoSpace, from.ContextKeys),
		"LIMIT=N":   completeUnfinished("cost=", "tokens=", "wall=", "steps=", "prompts="),
		"--extend":  limits, "extend LIMIT=N": limits, "extend RUN": live, "extend NAME": completeNothing,
		"LEVEL": completeFixed(persistence.Strict.String(), persistence.Grouped.String(), persistence.None.String()),
		"KIND":  completeFixed(fsm.EventKinds...), "STATUS": completeListed(app.Statuses...),
		"list --status": listStatuses,
		"CATEGORY":      words(func(e loopfile.Entry) []string { return []string{e.Category} }),
		"LABEL":         words(func(e loopfile.Entry) []string { return e.Labels }),
		"TIER":          completeFixed(append(app.Tiers, allTiers)...), "PATTERN": completeFixed(app.StarterNames...),
		"BRANCH": completeFound(completeInOrder, from.Branches), "PRESET": completeFixed(project.SandboxPresets()...),
		"WHERE": completeFixed(project.SnapshotWords...), "MODEL": completeNothing,
		"EFFORT": completeFixed("low", "medium", "high"), "N": completeNothing, "EXPR": completeNothing,
		"AGE": completeNothing, "WHEN": completeNothing, "SIZE": completeNothing, "TIME": completeNothing,
		"SECONDS": completeNothing, "COLUMNS": completeNothing, "DURATION": completeNothing, "DIR": completeFolder,
		"NUMBER": completeNothing, "CODE": completeNothing, "ID": completeNothing,
		"MANAGER": completeFixed(app.Systemd, app.Cron, app.Launchd),
		"CLAIM":   completeFixed("email", "preferred_username", "sub"), "ADDR": completeFixed("127.0.0.1:8080"),
		"PREFIX": completeNothing, "AUTHORITY": completeNothing, "NETWORK": completeNothing,
		"ROLE": completeFixed(auth.Roles...), "TEXT": completeNothing, "NAME=SCORE": completeNothing,
		"QUEUE=USER": completeNothing, "SERVER/TOOL": completeNothing, "SCRIPT": completeNothing,
		"GLOB": completeFiles, "JSON": completeNothing, "EVENT": completeNothing, "ADDRESS": completeNothing,
		"CHOICE": completeNothing, "NAME=TEXT": completeNothing,

		"attach RUN": live, "attach NAME": completeNothing, "stop RUN": live, "stop NAME": completeNothing,
		"pause RUN": live, "pause NAME": completeNothing,
		"logs STEP": completeAnyOf(completeFound(completeInOrder, from.Steps),
			completeFound(completeNoFiles, from.Loops), runs(app.IsAny)),
		"unpause RUN": runs(app.IsPaused), "unpause NAME": completeNothing, "retry-now RUN": runs(app.IsWaiting),
		"retry-now NAME": completeNothing, "answer RUN": runs(app.IsWaiting), "answer NAME": completeNothing,
		"signal RUN": goOn, "signal NAME": completeNothing, "resume RUN": goOn, "resume NAME": completeNothing,
		"rm RUN": only(app.IsEnded), "scrub RUN": only(app.IsEnded), "diff RUN": only(app.IsAny),
		"replay RUN": only(app.IsEnded), "history RUN": completeFound(completeInOrder, from.RunsOfLoop),
		"queue remove ID": completeFound(completeNoFiles, from.WaiterIDs), "queue remove NAME": completeNothing,
		"new NAME": completeNothing, "unblock NAME": completeFound(completeInOrder, from.Suspended),
		"install NAME": completeFound(completeNoFiles, from.CatalogLoops), "stage save NAME": completeNothing,
		"stage load NAME": completeNothing,

		"--hsts": completeFixed(web.HSTSModes...), "--color": completeFixed("auto", "always", "never"),
		"--dir": completeFolder, "--run-dir": completeFolder, "--permissions": completeFixed("host", "skip"),
		"--by": completeFixed(inspect.Measures()...), "--definition": completeFixed(engine.RecordedDefinition),
		"--group-by":        completeFixed(app.Groups...),
		"--worktree-end":    completeFixed(engine.TreeEnds...),
		"graph --format":    completeFixed("text", "mermaid", "dot", "svg", "html"),
		"validate --format": completeFixed(formats...),
		"run --format":      completeFixed(runFormats...), "resume --format": completeFixed(runFormats...),
		"retry --format": completeFixed(runFormats...), "fork --format": completeFixed(runFormats...),
		"report --format": completeFixed("html", "junit", "markdown"),
		"--key":           completeNothing, "--priority": completeFixed("1", "2", "3", "4"),
		"submit --queue": completeNothing,
		"submit --label": completeNothing, "worker --queue": completeNothing, "worker --label": completeNothing,
		"simulate --scenario":  completeFixed(simulate.Scenarios()...),
		"schema --json-output": completeFixed(api.Commands()...),
	}
}

// commands offers the names of commands, and those of the commands below them.
func commands(root *cobra.Command) completeOffer {
	return func(_ *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 && args[0] == "rule" {
			return app.StartingWith(word, ruleNames()), completeNoFiles
		}
		if len(args) > 0 && helpNamed(args[0]) {
			return app.StartingWith(word, helpNames(args[0])), completeNoFiles
		}
		cmd, rest, err := root.Find(args)
		if err != nil || len(rest) > 0 {
			return nil, completeNoFiles
		}
		var words []string
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				words = append(words, cobra.CompletionWithDesc(c.Name(), c.Short))
			}
		}
		return app.StartingWith(word, words), completeNoFiles
	}
}

// topics offers what there is help about besides commands.
func topics(root *cobra.Command) completeOffer {
	return func(_ *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, completeNoFiles
		}
		words := []string{
			cobra.CompletionWithDesc("rule", "What one rule of validate means"),
			cobra.CompletionWithDesc("key", "What a key of a loop file means"),
		}
		for _, c := range root.Commands() {
			if c.IsAdditionalHelpTopicCommand() {
				words = append(words, cobra.CompletionWithDesc(c.Name(), c.Short))
			}
		}
		return app.StartingWith(word, words), completeNoFiles
	}
}

func ruleNames() (names []string) {
	for _, r := range view.RuleList() {
		names = append(names, cobra.CompletionWithDesc(r.Name, r.Summary))
	}
	return names
}
