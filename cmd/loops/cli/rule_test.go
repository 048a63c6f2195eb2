package cli

import (
	"bytes"
	"strings"
	"testing"

	"loops/internal/humanize"
	"loops/internal/view"
)

// Every rule has a page that says how to silence it, and that fits a terminal.
func TestRuleText(t *testing.T) {
	all := view.RuleList()
	if len(all) < 40 {
		t.Fatalf("only %d rules", len(all))
	}
	for _, r := range all {
		var out bytes.Buffer
		if err := printRule(&out, []string{r.Name}); err != nil {
			t.Errorf("%s: %v", r.Name, err)
			continue
		}
		text := out.String()
		before, examples, _ := strings.Cut(text, "This has it")
		if !strings.HasPrefix(text, r.Name+" (") || r.Summary == "" || r.Why == "" {
			t.Errorf("%s: the page is not complete:\n%s", r.Name, text)
		}
		silent := r.Optional && strings.Contains(before, "loops validate --all")
		if !silent && (r.Flag != "" && !strings.Contains(before, "\n    "+r.Flag+": true\n") ||
			r.Flag == "" && !strings.Contains(before, "cannot be silenced") && !strings.Contains(before, "_ok: true")) {
			t.Errorf("%s: the page does not say how to silence it:\n%s", r.Name, text)
		}
		for line := range strings.SplitSeq(before, "\n") {
			if humanize.Width(line) > 100 && !strings.HasPrefix(line, "- ") {
				t.Errorf("%s: a line of %d columns: %s", r.Name, humanize.Width(line), line)
			}
		}
		for line := range strings.SplitSeq(examples, "\n") {
			if line != "" && !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "This does not:") &&
				line != ":" {
				t.Errorf("%s: a line of an example is not indented: %q", r.Name, line)
			}
		}
	}
}

func TestFold(t *testing.T) {
	for _, c := range []struct{ Text, want string }{
		{"", ""},
		{"short", "short"},
		{"one two three", "one two\nthree"},
		{"averyveryverylongword and", "averyveryverylongword\nand"},
		{"one\n\ntwo  six", "one\n\ntwo six"},
		{"- a list item stays", "- a list item stays"},
		{"zwölf Ämter da", "zwölf\nÄmter da"},
	} {
		if got := view.Fold(c.Text, 8); got != c.want {
			t.Errorf("%q: got %q, want %q", c.Text, got, c.want)
		}
	}
}
