package cli

import (
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"loops/engine"
	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/internal/completion"
	"loops/internal/dryrun"
	"loops/internal/inspect"
	"loops/internal/jsonoutput"
	"loops/internal/service"
	"loops/internal/starter"
	"loops/internal/ui/views"
	"loops/persistence"
)

// A completer lists what may stand at a place of a command line: args are those before it, word is what is typed of it.
// It finds nothing where something is wrong.
type completer = cobra.CompletionFunc

// completionWait is how long a shell waits for a database at most.
const completionWait = time.Second

// What a shell does besides showing what is noFiles.
const (
	noFiles     = cobra.ShellCompDirectiveNoFileComp                                     // nothing
	inOrder     = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder // keeps the order
	noSpace     = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace   // lets the word be continued
	orFiles     = cobra.ShellCompDirectiveDefault                                        // offers files where nothing fits
	onlyFolders = cobra.ShellCompDirectiveFilterDirs                                     // offers onlyFolders
)

// completing reports whether a command line asks what could stand in another one.
func completing(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// offerCompletions has every command below root offer what may stand in its places. Which these are its usage says: NAME|RUN,
// [STEP] or `FILE` of a flag. Whatever is wrong, a shell that asks is told nothing.
func (a *app) offerCompletions(root *cobra.Command) {
	a.Err = io.Discard
	root.InitDefaultHelpCmd()
	places := a.places(root)
	root.ValidArgsFunction = safe(a.loopsByName(root))
	visitCommands(root, func(cmd *cobra.Command) {
		if words := placesOf(cmd); len(words) > 0 {
			cmd.ValidArgs, cmd.ValidArgsFunction = nil, safe(places.arguments(cmd, words))
		} else if !cmd.HasSubCommands() {
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
		for _, flags := range []*pflag.FlagSet{cmd.LocalNonPersistentFlags(), cmd.PersistentFlags()} {
			flags.VisitAll(func(f *pflag.Flag) {
				if offer := places.flag(cmd, f); offer != nil {
					_ = cmd.RegisterFlagCompletionFunc(f.Name, safe(offer)) // fails only where it was done before
				}
				_, f.Usage = pflag.UnquoteUsage(f) // a shell shows it
			})
		}
	})
}

// safe leaves out what a shell would not take as a word: bash types what several words begin with as it is, and at the next
// key expands what is typed. So a loop called $(...) would be run.
func safe(offer completer) completer {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		found, how := offer(cmd, args, word)
		return slices.DeleteFunc(found, func(w cobra.Completion) bool {
			text, _, _ := strings.Cut(w, "\t")
			return !completion.Typable(text)
		}), how
	}
}

// visitCommands calls visit for root and all below it.
func visitCommands(root *cobra.Command, visit func(*cobra.Command)) {
	visit(root)
	for _, c := range root.Commands() {
		visitCommands(c, visit)
	}
}

// placesOf returns the arguments of a command as its usage names them: NAME|RUN, STEP..., without brackets.
func placesOf(cmd *cobra.Command) (words []string) {
	flag := false
	for _, w := range strings.Fields(cmd.Use)[1:] {
		switch {
		case flag:
			flag = false
		case strings.HasPrefix(w, "-"):
			flag = true
		default:
			words = append(words, strings.Trim(w, "[]"))
		}
	}
	return words
}

// places says what may stand in a place, by its name in the usage. The name of a command before it makes it a place of that
// command alone; two dashes make it a flag.
type places map[string]completer

func (a *app) places(root *cobra.Command) places {
	from := completion.New(a.project, a.engineOptions())
	runs := func(f completion.RunFilter) completer { return found(inOrder, from.Runs(f)) }
	only := func(f completion.RunFilter) completer { return found(inOrder, from.RunsOnly(f)) }
	words := func(of func(loopfile.Entry) []string) completer { return found(noFiles, from.LoopWords(of)) }
	live, goOn := runs(completion.IsLive), runs(completion.IsResumable)
	stores := foundOr(noSpace, noSpace, from.Stores)
	limits := unfinished("steps=", "passes=", "cost=", "tokens=", "prompts=", "time=")
	return places{
		"NAME": found(noFiles, from.Loops), "PATH": files, "FOLDER": files, "FILE": files, "RUN": runs(completion.IsAny), "STATE": found(inOrder, from.States), "STEP": found(inOrder, from.Steps),
		"INPUT": nothing, "COMMAND": commands(root), "TOPIC": topics(root), "FROM": stores, "TO": stores, "URL": stores,
		"HOST": found(inOrder, from.Hosts), "KEY=VALUE": foundOr(noSpace, noSpace, from.ContextKeys), "LIMIT=N": unfinished("cost=", "tokens=", "wall=", "steps=", "prompts="),
		"--extend": limits, "extend LIMIT=N": limits, "extend RUN": live, "extend NAME": nothing,
		"LEVEL": fixed(persistence.Strict.String(), persistence.Grouped.String(), persistence.None.String()),
		"KIND":  fixed(eventKinds...), "STATUS": listed(service.Statuses...), "list --status": listStatuses, "CATEGORY": words(func(e loopfile.Entry) []string { return []string{e.Category} }),
		"LABEL": words(func(e loopfile.Entry) []string { return e.Labels }), "TIER": fixed(append(service.Tiers, allTiers)...), "PATTERN": fixed(starter.Names...),
		"BRANCH": found(inOrder, from.Branches), "MODEL": nothing, "EFFORT": fixed("low", "medium", "high"), "N": nothing, "EXPR": nothing, "AGE": nothing, "WHEN": nothing, "SIZE": nothing, "TIME": nothing, "SECONDS": nothing, "COLUMNS": nothing, "DURATION": nothing, "DIR": someFolder,
		"NUMBER": nothing, "CODE": nothing, "ADDR": fixed("127.0.0.1:8080"), "PREFIX": nothing, "AUTHORITY": nothing, "TEXT": nothing, "NAME=SCORE": nothing, "SERVER/TOOL": nothing, "JSON": nothing, "EVENT": nothing, "ADDRESS": nothing, "CHOICE": nothing, "NAME=TEXT": nothing,

		"attach RUN": live, "attach NAME": nothing, "stop RUN": live, "stop NAME": nothing, "pause RUN": live, "pause NAME": nothing,
		"unpause RUN": runs(completion.IsPaused), "unpause NAME": nothing, "retry-now RUN": runs(completion.IsWaiting), "retry-now NAME": nothing, "answer RUN": runs(completion.IsWaiting), "answer NAME": nothing, "signal RUN": goOn, "signal NAME": nothing, "resume RUN": goOn, "resume NAME": nothing,
		"rm RUN": only(completion.IsEnded), "diff RUN": only(completion.IsAny), "history RUN": found(inOrder, from.RunsOfLoop),
		"queue remove ID": found(noFiles, from.WaiterIDs), "queue remove NAME": nothing, "new NAME": nothing, "install NAME": found(noFiles, from.CatalogLoops), "stage save NAME": nothing, "stage load NAME": nothing,

		"--color": fixed("auto", "always", "never"), "--dir": someFolder, "--run-dir": someFolder, "--permissions": fixed("host", "skip"),
		"--by": fixed(inspect.ByVisits, inspect.ByTime, inspect.ByCost), "--definition": fixed(engine.RecordedDefinition), "--group-by": fixed("outcome"),
		"--worktree-end": fixed(treeEnds...), "graph --format": fixed("text", "mermaid", "dot", "svg", "html"), "validate --format": fixed(formats...),
		"run --format": fixed(runFormats...), "resume --format": fixed(runFormats...), "fork --format": fixed(runFormats...), "report --format": fixed("html", "junit", "markdown"),
		"simulate --scenario": fixed(dryrun.Scenarios()...), "schema --json-output": fixed(jsonoutput.Commands()...),
	}
}

// found offers what is found in a project; how is what a shell does besides.
func found(how cobra.ShellCompDirective, offer completion.Offer) completer {
	return foundOr(how, noFiles, offer)
}

// foundOr is found with what a shell does where something is wrong.
func foundOr(how, wrong cobra.ShellCompDirective, offer completion.Offer) completer {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		words, ok := offer(cmd.Context(), args, word)
		if !ok {
			return nil, wrong
		}
		return words, how
	}
}

// arguments completes the arguments of a command. The last one may be repeated where its name ends in dots.
func (p places) arguments(cmd *cobra.Command, words []string) completer {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		i := len(args)
		if last := len(words) - 1; i > last && strings.HasSuffix(words[last], "...") {
			i = last
		}
		if i >= len(words) {
			return nil, noFiles
		}
		return p.of(cmd, words[i])(cmd, args, word)
	}
}

// of returns what may stand in a place of a command; nil where the table does not know one of its names.
func (p places) of(cmd *cobra.Command, name string) completer {
	var all []completer
	for one := range strings.SplitSeq(strings.TrimSuffix(name, "..."), "|") {
		offer := p[strings.TrimPrefix(cmd.CommandPath(), "loops ")+" "+one]
		if offer == nil {
			offer = p[one]
		}
		if offer == nil {
			return nil
		}
		all = append(all, offer)
	}
	return anyOf(all...)
}

// flag returns what a flag may be set to; nil where that is not known, or is true or false.
func (p places) flag(cmd *cobra.Command, f *pflag.Flag) completer {
	if f.Value.Type() == "bool" {
		return nil
	}
	name, _ := pflag.UnquoteUsage(f)
	for _, key := range []string{strings.TrimPrefix(cmd.CommandPath(), "loops ") + " --" + f.Name, "--" + f.Name} {
		if offer := p[key]; offer != nil {
			return offer
		}
	}
	return p.of(cmd, name)
}

// anyOf offers what any of them does, and files if one of them does.
func anyOf(all ...completer) completer {
	if len(all) == 1 {
		return all[0]
	}
	return func(cmd *cobra.Command, args []string, word string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
		does, noFile := cobra.ShellCompDirectiveDefault, noFiles
		for _, one := range all {
			more, how := one(cmd, args, word)
			found = append(found, more...)
			noFile &= how
			does |= how &^ noFiles
		}
		return found, does | noFile
	}
}

// fixed offers these words, in this order.
func fixed(words ...string) completer {
	return func(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return completion.StartingWith(word, words), inOrder
	}
}

// unfinished offers the beginnings of words.
func unfinished(words ...string) completer {
	return func(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return completion.StartingWith(word, words), noSpace
	}
}

// listed offers these words, also behind a comma.
func listed(words ...string) completer {
	return func(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		before, last := "", word
		if i := strings.LastIndexByte(word, ','); i >= 0 {
			before, last = word[:i+1], word[i+1:]
		}
		found := completion.StartingWith(last, words)
		for i := range found {
			found[i] = before + found[i]
		}
		return found, inOrder
	}
}

func nothing(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, noFiles
}

func files(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, orFiles
}

func someFolder(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, onlyFolders
}

// commands offers the names of commands, and those of the commands below them.
func commands(root *cobra.Command) completer {
	return func(_ *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 && args[0] == "rule" {
			return completion.StartingWith(word, ruleNames()), noFiles
		}
		cmd, rest, err := root.Find(args)
		if err != nil || len(rest) > 0 {
			return nil, noFiles
		}
		var words []string
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				words = append(words, cobra.CompletionWithDesc(c.Name(), c.Short))
			}
		}
		return completion.StartingWith(word, words), noFiles
	}
}

// topics offers what there is help about besides commands.
func topics(root *cobra.Command) completer {
	return func(_ *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, noFiles
		}
		words := []string{cobra.CompletionWithDesc("rule", "What one rule of validate means")}
		for _, c := range root.Commands() {
			if c.IsAdditionalHelpTopicCommand() {
				words = append(words, cobra.CompletionWithDesc(c.Name(), c.Short))
			}
		}
		return completion.StartingWith(word, words), noFiles
	}
}

func ruleNames() (names []string) {
	for _, r := range views.RuleList() {
		names = append(names, cobra.CompletionWithDesc(r.Name, r.Summary))
	}
	return names
}

// eventKinds are the kinds of event that people look for.
var eventKinds = []string{
	fsm.EventLoopStart, fsm.EventLoopResume, fsm.EventLoopComplete, fsm.EventStateEnter, fsm.EventActionStart, fsm.EventActionOutput,
	fsm.EventActionComplete, fsm.EventActionError, fsm.EventActionInterrupted, fsm.EventActionRetry, fsm.EventWaitCheck, fsm.EventBranchesStart, fsm.EventBranchStart, fsm.EventBranchEnd, fsm.EventItemsStart, fsm.EventItemStart, fsm.EventItemEnd, fsm.EventHumanRequested, fsm.EventHumanResponse, fsm.EventEvaluate, fsm.EventRoute, fsm.EventRetryExhausted,
	fsm.EventCycleDetected, fsm.EventBudgetWarning, fsm.EventLimitRaised, fsm.EventBudgetExceeded, fsm.EventRateLimitWaiting, fsm.EventRateLimitExhausted,
	fsm.EventNote, fsm.EventWarning,
}
