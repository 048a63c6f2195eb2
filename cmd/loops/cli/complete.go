package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"loops/internal/app"
)

// A completeOffer lists what is valid at a place of a command line: args are those before it, word is what is
// typed of it. It finds nothing where something is wrong.
type completeOffer = cobra.CompletionFunc

// What a shell does besides showing what is NoFiles.
const (
	completeNoFiles = cobra.ShellCompDirectiveNoFileComp                                     // nothing
	completeInOrder = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder // keeps the order
	// lets the word be continued
	completeNoSpace = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	// offers files where nothing fits
	orFiles     = cobra.ShellCompDirectiveDefault
	onlyFolders = cobra.ShellCompDirectiveFilterDirs // offers onlyFolders
)

// completeSafe leaves out what a shell would not take as a word: bash types what several words begin with as it
// is, and at the next key expands what is typed. So a loop called $(...) would be run.
func completeSafe(offer completeOffer) completeOffer {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		found, how := offer(cmd, args, word)
		return slices.DeleteFunc(found, func(w cobra.Completion) bool {
			text, _, _ := strings.Cut(w, "\t")
			return !app.Typable(text)
		}), how
	}
}

// completeVisit calls visit for root and all below it.
func completeVisit(root *cobra.Command, visit func(*cobra.Command)) {
	visit(root)
	for _, c := range root.Commands() {
		completeVisit(c, visit)
	}
}

// completePlacesOf returns the arguments of a command as its usage names them: NAME|RUN, STEP..., without brackets.
func completePlacesOf(cmd *cobra.Command) (words []string) {
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

// completePlaces lists what is valid in a place, by its name in the usage. The name of a command before it
// makes it a place of that command alone; two dashes make it a flag.
type completePlaces map[string]completeOffer

// completeFound offers what is found in a project; how is what a shell does besides.
func completeFound(how cobra.ShellCompDirective, offer app.CompletionOffer) completeOffer {
	return completeFoundOr(how, completeNoFiles, offer)
}

// completeFoundOr is Found with what a shell does where something is wrong.
func completeFoundOr(how, wrong cobra.ShellCompDirective, offer app.CompletionOffer) completeOffer {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		words, ok := offer(cmd.Context(), args, word)
		if !ok {
			return nil, wrong
		}
		return words, how
	}
}

// Arguments completes the arguments of a command. The last one may be repeated where its name ends in dots.
func (p completePlaces) Arguments(cmd *cobra.Command, words []string) completeOffer {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		i := len(args)
		if last := len(words) - 1; i > last && strings.HasSuffix(words[last], "...") {
			i = last
		}
		if i >= len(words) {
			return nil, completeNoFiles
		}
		return p.Of(cmd, words[i])(cmd, args, word)
	}
}

// Of returns what is valid in a place of a command; nil where the table does not have one of its names.
func (p completePlaces) Of(cmd *cobra.Command, name string) completeOffer {
	var all []completeOffer
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
	return completeAnyOf(all...)
}

// Flag returns what a flag may be set to; nil where that is not known, or is true or false.
func (p completePlaces) Flag(cmd *cobra.Command, f *pflag.Flag) completeOffer {
	if f.Value.Type() == "bool" {
		return nil
	}
	name, _ := pflag.UnquoteUsage(f)
	for _, key := range []string{strings.TrimPrefix(cmd.CommandPath(), "loops ") + " --" + f.Name, "--" + f.Name} {
		if offer := p[key]; offer != nil {
			return offer
		}
	}
	return p.Of(cmd, name)
}

// completeAnyOf offers what any of them does, and files if one of them does.
func completeAnyOf(all ...completeOffer) completeOffer {
	if len(all) == 1 {
		return all[0]
	}
	return func(cmd *cobra.Command, args []string, word string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
		does, noFile := cobra.ShellCompDirectiveDefault, completeNoFiles
		for _, one := range all {
			more, how := one(cmd, args, word)
			found = append(found, more...)
			noFile &= how
			does |= how &^ completeNoFiles
		}
		return found, does | noFile
	}
}

// completeFixed offers these words, in this order.
func completeFixed(words ...string) completeOffer {
	return func(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return app.StartingWith(word, words), completeInOrder
	}
}

// completeUnfinished offers the beginnings of words.
func completeUnfinished(words ...string) completeOffer {
	return func(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return app.StartingWith(word, words), completeNoSpace
	}
}

// completeListed offers these words, also after a comma.
func completeListed(words ...string) completeOffer {
	return func(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		before, last := "", word
		if i := strings.LastIndexByte(word, ','); i >= 0 {
			before, last = word[:i+1], word[i+1:]
		}
		found := app.StartingWith(last, words)
		for i := range found {
			found[i] = before + found[i]
		}
		return found, completeInOrder
	}
}

// completeNothing offers nothing, and no files either.
func completeNothing(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, completeNoFiles
}

// completeFiles offers files.
func completeFiles(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, orFiles
}

// completeFolder offers folders.
func completeFolder(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, onlyFolders
}
