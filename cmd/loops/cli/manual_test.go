package cli

import (
	"bytes"
	"testing"

	"loops/internal/testenv"
)

// TestPage writes a page with everything that roff would take for something else.
func TestPage(t *testing.T) {
	t.Parallel()
	page := roffPage{
		Name: "loops-x", Section: 1, Source: `loops "1.0"`, Title: "loops", Short: "Do 'it' \\ now",
		Synopsis: []string{"loops x NAME|RUN [STEP] -o FILE [flags]", ".x"},
		Parts: []roffPart{
			{
				Heading: "DESCRIPTION",
				Text: "\n\nA paragraph with --flags, `ticks`, ^ and ~.\n.TH is text at the beginning of a line,\n" +
					"'so is this\n\n" +
					"A table:\n  -x\ttab\n  .dot   \n\n\n  only indented\n\nLast … one \x1b[1m.\n",
			},
			{
				Heading: "OPTIONS",
				List: []roffItem{
					{"-o, --output FILE", "Write to\n  FILE."},
					{"--a.b", ".dot"},
					{"a-word", "'quote"},
				},
			},
		},
		See: []roffReference{{"loops", 1}, {"loops-y", 7}},
	}
	var got bytes.Buffer
	if err := page.Write(&got); err != nil {
		t.Fatal(err)
	}
	testenv.Golden(t, "testdata/page.1", got.String())
}
