package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Every command that people type has a page, and no page has a line that roff would take for something else.
func TestManPages(t *testing.T) {
	write := func() string {
		dir := filepath.Join(t.TempDir(), "new", "man1")
		var out, errs bytes.Buffer
		if code := Main([]string{"man", "-o", dir}, IO{Out: &out, Err: &errs, Dir: t.TempDir()}); code != 0 ||
			errs.Len() > 0 || !strings.HasPrefix(out.String(), "Wrote ") {
			t.Fatalf("%d %s%s", code, out.String(), errs.String())
		}
		return dir
	}
	dir, again := write(), write()
	request := regexp.MustCompile(
		`^\.(TH "[^"]*" [17] "" "[^"]*" "[^"]*"|SH ("[^"]*"|[A-Z ]+)|PP|TP|nf|fi|BR \S+ \([17]\),?|\\" .*)$`)
	escapes := regexp.MustCompile(`\\(\((rs|dq|aq|ga|ha|ti)|-|&|f[BIR]|\[u[0-9A-F]{4,5}\])`)
	seen := map[string]bool{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		seen[strings.TrimSuffix(e.Name(), ".1")] = true
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if same, err := os.ReadFile(filepath.Join(again, e.Name())); err != nil || !bytes.Equal(text, same) {
			t.Errorf("%s differs when it is written again: %v", e.Name(), err)
		}
		for n, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
			plain := line
			if !strings.HasPrefix(line, `.\"`) {
				plain = escapes.ReplaceAllString(line, "")
			}
			switch {
			case strings.HasPrefix(line, ".") && !request.MatchString(line),
				strings.HasPrefix(line, "'"), line == "", !strings.HasPrefix(line, `.\"`) &&
					strings.ContainsAny(plain, "\\-'`^~\t"),
				strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }):
				t.Errorf("%s:%d: roff would misread %q", e.Name(), n+1, line)
			}
		}
		for _, part := range []string{
			"\n.SH NAME\n", "\n.SH SYNOPSIS\n", "\n.SH \"DESCRIPTION\"\n",
			"\n.SH \"EXIT STATUS\"\n", "\n.SH \"ENVIRONMENT\"\n", "\n.SH \"EXAMPLES\"\n", "\n.SH SEE ALSO\n",
		} {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s lacks %q", e.Name(), part)
			}
		}
	}
	root := newRootCommand(&program{}, "")
	completeVisit(root, func(cmd *cobra.Command) {
		if name := manName(cmd); !cmd.Hidden && !cmd.IsAdditionalHelpTopicCommand() && !seen[name] {
			t.Errorf("%s has no page", name)
		}
	})
	if len(seen) < 50 {
		t.Errorf("only %d pages", len(seen))
	}
}
