package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Every argument and every flag of every command has something to offer, be it nothing on purpose.
func TestEveryPlaceIsCompleted(t *testing.T) {
	a := &program{}
	root := newRootCommand(a, "")
	root.InitDefaultHelpCmd()
	places := a.places(root)
	args, flags := 0, 0
	completeVisit(root, func(cmd *cobra.Command) {
		if cmd.Hidden { // no person types it
			return
		}
		for _, word := range completePlacesOf(cmd) {
			if args++; places.Of(cmd, word) == nil {
				t.Errorf("%s: it is not known what may stand for %s; say it in places (completion.go)",
					cmd.CommandPath(), word)
			}
		}
		visit := func(f *pflag.Flag) {
			flags++
			if f.Value.Type() == "bool" || places.Flag(cmd, f) != nil {
				return
			}
			name, _ := pflag.UnquoteUsage(f)
			t.Errorf("%s --%s: it is not known what may stand for %s; say it in places (completion.go)",
				cmd.CommandPath(), f.Name, name)
		}
		cmd.LocalNonPersistentFlags().VisitAll(visit)
		cmd.PersistentFlags().VisitAll(visit)
	})
	if args < 35 || flags < 100 {
		t.Errorf("only %d arguments and %d flags were looked at", args, flags)
	}
}

// A key of the table that nothing asks for any more is a mistake in it.
func TestPlacesAreUsed(t *testing.T) {
	a := &program{}
	root := newRootCommand(a, "")
	root.InitDefaultHelpCmd()
	used := map[string]bool{}
	completeVisit(root, func(cmd *cobra.Command) {
		path := strings.TrimPrefix(cmd.CommandPath(), "loops ")
		note := func(word string) {
			for one := range strings.SplitSeq(strings.TrimSuffix(word, "..."), "|") {
				used[one], used[path+" "+one] = true, true
			}
		}
		for _, word := range completePlacesOf(cmd) {
			note(word)
		}
		visit := func(f *pflag.Flag) {
			name, _ := pflag.UnquoteUsage(f)
			note(name)
			note("--" + f.Name)
		}
		cmd.LocalNonPersistentFlags().VisitAll(visit)
		cmd.PersistentFlags().VisitAll(visit)
	})
	for key := range a.places(root) {
		if !used[key] {
			t.Errorf("places has %q, which is no place of any command", key)
		}
	}
}

// What is offered for a flag is what its usage says.
func TestOfferedWordsAreInTheUsage(t *testing.T) {
	a := &program{}
	root := newRootCommand(a, "")
	places := a.places(root)
	seen := 0
	completeVisit(root, func(cmd *cobra.Command) {
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			switch f.Name {
			case "format", "by", "durability", "permissions", "definition", "group-by", "scenario", "budget":
			default:
				return
			}
			words, _ := places.Flag(cmd, f)(cmd, nil, "")
			if len(words) == 0 {
				t.Errorf("%s --%s offers nothing", cmd.CommandPath(), f.Name)
			}
			for _, w := range words {
				if seen++; !strings.Contains(f.Usage, w) {
					t.Errorf("%s --%s offers %s, which its help does not mention: %s", cmd.CommandPath(), f.Name, w,
						f.Usage)
				}
			}
		})
	})
	if seen < 30 {
		t.Errorf("only %d words were offered", seen)
	}
}

func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		var out, errs bytes.Buffer
		if code := Main([]string{"completion", shell}, IO{Out: &out, Err: &errs, Dir: t.TempDir()}); code != 0 ||
			errs.Len() > 0 || !strings.Contains(out.String(), "__complete") {
			t.Errorf("%s: %d %s", shell, code, errs.String())
		}
	}
}
