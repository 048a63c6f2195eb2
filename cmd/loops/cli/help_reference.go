package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"loops/docs"
	"loops/internal/humanize"
)

// helpLanguage is the topic that lists the chapters of the language page.
func helpLanguage() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "language",
		Short: "The loop language by chapter (language CHAPTER), and its keys (key NAME)",
	}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		topic := *cmd
		topic.Long = chapters()
		helpPrint(&topic)
	})
	return cmd
}

func chapters() string {
	var b strings.Builder
	b.WriteString("The chapters of the language page and their parts. loops help language CHAPTER prints one, loops " +
		"help language all the whole page, " +
		"loops help key NAME what a key of a loop file means.\n")
	for _, c := range docs.Chapters() {
		fmt.Fprintf(&b, "\n%*s%s", 2*c.Level-2, "", strings.ToLower(c.Title))
	}
	return b.String()
}

// helpNamed reports whether a topic prints what it has about a name: "language" and "key".
func helpNamed(topic string) bool { return topic == "language" || topic == "key" }

// helpNames returns the names that a topic takes, each once, in the order of the page.
func helpNames(topic string) (names []string) {
	seen := map[string]bool{}
	addTitle := func(name string) {
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	if topic == "key" {
		for _, k := range docs.Keys() {
			addTitle(k.Name)
		}
		return names
	}
	for _, c := range docs.Chapters() {
		addTitle(spelt(c.Title))
	}
	return append(names, "all")
}

// helpTopicOf returns the topic that a single word names, so that "help branches" and "help for_each"
// need not say it; "" = none.
func helpTopicOf(args []string) string {
	if len(args) != 1 {
		return ""
	}
	for _, topic := range []string{"language", "key"} {
		if word := spelt(args[0]); word != "all" && slices.Contains(helpNames(topic), word) {
			return topic
		}
	}
	return ""
}

// helpAbout returns what a topic has about a name, and whether it is a text to read in a pager. Without a name
// it lists the names. A name that the topic lacks is an error.
func helpAbout(topic, name string) (text string, long bool, err error) {
	name = spelt(name)
	switch {
	case topic == "key" && name == "":
		return helpWrap("The keys of loop files. loops help key NAME prints what one means.\n\n" +
			strings.Join(helpNames(topic), ", ")), false, nil
	case name == "":
		return helpWrap(chapters()), false, nil
	}
	if topic == "key" {
		text, err = key(name)
		return text, false, err
	}
	if name == "all" {
		return docs.Language(), true, nil
	}
	for _, c := range docs.Chapters() {
		if spelt(c.Title) == name {
			return c.Text, true, nil
		}
	}
	return "", false, fmt.Errorf("the language page has no chapter %s%s", humanize.Quote(name),
		humanize.DidYouMean(name, helpNames(topic)))
}

// spelt returns a title as a user types it: in lower case, with a dash for each space.
func spelt(title string) string { return strings.ReplaceAll(strings.ToLower(title), " ", "-") }

// key returns what a key means, in each place that has it.
func key(name string) (string, error) {
	var b strings.Builder
	for _, k := range docs.Keys() {
		if k.Name != name {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s (loops help language %s)\n", name, spelt(k.Chapter))
		for _, column := range k.Columns {
			b.WriteString(helpWrap(fmt.Sprintf("  %-8s  %s", column[0], column[1])))
		}
	}
	if b.Len() == 0 {
		return "", fmt.Errorf("no key of a loop file is called %s%s", humanize.Quote(name),
			humanize.DidYouMean(name, helpNames("key")))
	}
	return b.String(), nil
}
