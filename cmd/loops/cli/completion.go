package cli

import (
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"loops/cmd/loops/cli/complete"
	"loops/cmd/loops/cli/helppage"
	"loops/cmd/loops/cli/sharedflags"
	"loops/engine"
	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/internal/auth"
	"loops/internal/completion"
	"loops/internal/dryrun"
	"loops/internal/inspect"
	"loops/internal/install"
	"loops/internal/jsonoutput"
	"loops/internal/service"
	"loops/internal/starter"
	"loops/internal/ui/views"
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
func (a *app) offerCompletions(root *cobra.Command) {
	a.Err = io.Discard
	root.InitDefaultHelpCmd()
	offers := a.places(root)
	root.ValidArgsFunction = complete.Safe(a.loopsByName(root))
	complete.Visit(root, func(cmd *cobra.Command) {
		if words := complete.PlacesOf(cmd); len(words) > 0 {
			cmd.ValidArgs, cmd.ValidArgsFunction = nil, complete.Safe(offers.Arguments(cmd, words))
		} else if !cmd.HasSubCommands() {
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
		for _, flags := range []*pflag.FlagSet{cmd.LocalNonPersistentFlags(), cmd.PersistentFlags()} {
			flags.VisitAll(func(f *pflag.Flag) {
				if offer := offers.Flag(cmd, f); offer != nil {
					_ = cmd.RegisterFlagCompletionFunc(f.Name, complete.Safe(offer)) // fails only where it was done before
				}
				_, f.Usage = pflag.UnquoteUsage(f) // a shell shows it
			})
		}
	})
}

func (a *app) places(root *cobra.Command) complete.Places {
	from := completion.New(a.project, a.engineOptions())
	runs := func(f completion.RunFilter) complete.Offer { return complete.Found(complete.InOrder, from.Runs(f)) }
	only := func(f completion.RunFilter) complete.Offer { return complete.Found(complete.InOrder, from.RunsOnly(f)) }
	words := func(of func(loopfile.Entry) []string) complete.Offer {
		return complete.Found(complete.NoFiles, from.LoopWords(of))
	}
	live, goOn := runs(completion.IsLive), runs(completion.IsResumable)
	stores := complete.FoundOr(complete.NoSpace, complete.NoSpace, from.Stores)
	limits := complete.Unfinished("steps=", "passes=", "cost=", "tokens=", "prompts=", "time=")
	return complete.Places{
		"NAME": complete.Found(complete.NoFiles, from.Loops), "PATH": complete.Files, "FOLDER": complete.Files, "FILE": complete.Files, "RUN": runs(completion.IsAny), "WORKER": complete.Found(complete.InOrder, from.Workers), "STATE": complete.Found(complete.InOrder, from.States), "STEP": complete.Found(complete.InOrder, from.Steps),
		"INPUT": complete.Nothing, "COMMAND": commands(root), "TOPIC": topics(root), "FROM": stores, "TO": stores, "URL": stores,
		"HOST": complete.Found(complete.InOrder, from.Hosts), "KEY=VALUE": complete.FoundOr(complete.NoSpace, complete.NoSpace, from.ContextKeys), "LIMIT=N": complete.Unfinished("cost=", "tokens=", "wall=", "steps=", "prompts="),
		"--extend": limits, "extend LIMIT=N": limits, "extend RUN": live, "extend NAME": complete.Nothing,
		"LEVEL": complete.Fixed(persistence.Strict.String(), persistence.Grouped.String(), persistence.None.String()),
		"KIND":  complete.Fixed(fsm.EventKinds...), "STATUS": complete.Listed(service.Statuses...), "list --status": listStatuses, "CATEGORY": words(func(e loopfile.Entry) []string { return []string{e.Category} }),
		"LABEL": words(func(e loopfile.Entry) []string { return e.Labels }), "TIER": complete.Fixed(append(service.Tiers, allTiers)...), "PATTERN": complete.Fixed(starter.Names...),
		"BRANCH": complete.Found(complete.InOrder, from.Branches), "MODEL": complete.Nothing, "EFFORT": complete.Fixed("low", "medium", "high"), "N": complete.Nothing, "EXPR": complete.Nothing, "AGE": complete.Nothing, "WHEN": complete.Nothing, "SIZE": complete.Nothing, "TIME": complete.Nothing, "SECONDS": complete.Nothing, "COLUMNS": complete.Nothing, "DURATION": complete.Nothing, "DIR": complete.Folder,
		"NUMBER": complete.Nothing, "CODE": complete.Nothing, "ID": complete.Nothing, "MANAGER": complete.Fixed(install.Systemd, install.Cron, install.Launchd), "CLAIM": complete.Fixed("email", "preferred_username", "sub"), "ADDR": complete.Fixed("127.0.0.1:8080"), "PREFIX": complete.Nothing, "AUTHORITY": complete.Nothing, "NETWORK": complete.Nothing, "ROLE": complete.Fixed(auth.Roles...), "TEXT": complete.Nothing, "NAME=SCORE": complete.Nothing, "QUEUE=USER": complete.Nothing, "SERVER/TOOL": complete.Nothing, "JSON": complete.Nothing, "EVENT": complete.Nothing, "ADDRESS": complete.Nothing, "CHOICE": complete.Nothing, "NAME=TEXT": complete.Nothing,

		"attach RUN": live, "attach NAME": complete.Nothing, "stop RUN": live, "stop NAME": complete.Nothing, "pause RUN": live, "pause NAME": complete.Nothing,
		"unpause RUN": runs(completion.IsPaused), "unpause NAME": complete.Nothing, "retry-now RUN": runs(completion.IsWaiting), "retry-now NAME": complete.Nothing, "answer RUN": runs(completion.IsWaiting), "answer NAME": complete.Nothing, "signal RUN": goOn, "signal NAME": complete.Nothing, "resume RUN": goOn, "resume NAME": complete.Nothing,
		"rm RUN": only(completion.IsEnded), "diff RUN": only(completion.IsAny), "history RUN": complete.Found(complete.InOrder, from.RunsOfLoop),
		"queue remove ID": complete.Found(complete.NoFiles, from.WaiterIDs), "queue remove NAME": complete.Nothing, "new NAME": complete.Nothing, "install NAME": complete.Found(complete.NoFiles, from.CatalogLoops), "stage save NAME": complete.Nothing, "stage load NAME": complete.Nothing,

		"--hsts": complete.Fixed(web.HSTSModes...), "--color": complete.Fixed("auto", "always", "never"), "--dir": complete.Folder, "--run-dir": complete.Folder, "--permissions": complete.Fixed("host", "skip"),
		"--by": complete.Fixed(inspect.Measures()...), "--definition": complete.Fixed(engine.RecordedDefinition), "--group-by": complete.Fixed(service.Groups...),
		"--worktree-end": complete.Fixed(sharedflags.TreeEnds...), "graph --format": complete.Fixed("text", "mermaid", "dot", "svg", "html"), "validate --format": complete.Fixed(formats...),
		"run --format": complete.Fixed(runFormats...), "resume --format": complete.Fixed(runFormats...), "retry --format": complete.Fixed(runFormats...), "fork --format": complete.Fixed(runFormats...), "report --format": complete.Fixed("html", "junit", "markdown"),
		"--key": complete.Nothing, "--priority": complete.Fixed("1", "2", "3", "4"), "submit --queue": complete.Nothing, "submit --label": complete.Nothing, "worker --queue": complete.Nothing, "worker --label": complete.Nothing,
		"simulate --scenario": complete.Fixed(dryrun.Scenarios()...), "schema --json-output": complete.Fixed(jsonoutput.Commands()...),
	}
}

// commands offers the names of commands, and those of the commands below them.
func commands(root *cobra.Command) complete.Offer {
	return func(_ *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 && args[0] == "rule" {
			return completion.StartingWith(word, ruleNames()), complete.NoFiles
		}
		if len(args) > 0 && helppage.Named(args[0]) {
			return completion.StartingWith(word, helppage.Names(args[0])), complete.NoFiles
		}
		cmd, rest, err := root.Find(args)
		if err != nil || len(rest) > 0 {
			return nil, complete.NoFiles
		}
		var words []string
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				words = append(words, cobra.CompletionWithDesc(c.Name(), c.Short))
			}
		}
		return completion.StartingWith(word, words), complete.NoFiles
	}
}

// topics offers what there is help about besides commands.
func topics(root *cobra.Command) complete.Offer {
	return func(_ *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, complete.NoFiles
		}
		words := []string{cobra.CompletionWithDesc("rule", "What one rule of validate means"), cobra.CompletionWithDesc("key", "What a key of a loop file means")}
		for _, c := range root.Commands() {
			if c.IsAdditionalHelpTopicCommand() {
				words = append(words, cobra.CompletionWithDesc(c.Name(), c.Short))
			}
		}
		return completion.StartingWith(word, words), complete.NoFiles
	}
}

func ruleNames() (names []string) {
	for _, r := range views.RuleList() {
		names = append(names, cobra.CompletionWithDesc(r.Name, r.Summary))
	}
	return names
}
