package expr

import (
	"errors"
	"io/fs"
	"testing"

	"loops/fsm/value"
)

// TestCutOutputs looks at who gets all of a text that is cut, who gets the text that was kept, and who gets an error.
func TestCutOutputs(t *testing.T) {
	t.Parallel()
	cut := value.NewMap("output", "a\n[9 bytes of output are missing here]\nz", "stderr", "e", "file", "all",
		"truncated", true, "bytes", int64(99), "exit_code", int64(0))
	s := &Scope{
		Captured: value.NewMap(
			"cut", cut, "in", value.NewMap("b", cut, "n", int64(1)), "lost",
			value.NewMap("output", "x", "truncated", true, "file", "gone"),
			"none", value.NewMap("output", "x", "truncated", true), "err",
			value.NewMap("output", "x", "stderr", "e\n[9 bytes", "stderr_truncated", true),
			"mine", value.NewMap("output", "x", "truncated", "true"), "output", value.NewMap("output", "y"),
		),
		Prev:    value.NewMap("output", "a\nz\n", "truncated", true, "file", "all"),
		Item:    value.NewMap("value", value.NewMap("output", "z", "truncated", true, "file", "all")),
		Context: value.NewMap("output", "plain", "truncated", true),
		ReadText: func(file string) (string, error) {
			if file == "all" {
				return "a\nb\nz\n", nil
			}
			return "", fs.ErrNotExist
		},
	}
	const missing = "a\n[9 bytes of output are missing here]\nz"
	for text, want := range map[string]string{
		"${captured.cut.output}":                           missing,
		"${captured.cut.output:trim:shell}":                "'" + missing + "'",
		"${captured.cut.output:lines}":                     "a\nb\nz",
		"${captured.cut.output:last}":                      "z",
		"${captured.cut.output:json}":                      `"a\nb\nz"`,
		"${captured.cut.exit_code:json}":                   "0",
		"${captured.cut.output | split(\"\\n\") | length}": "3",
		"${captured.cut | .output | length}":               "5",
		"${captured.in | .b.output | length}":              "5",
		"${captured.in.b.output:lines}":                    "a\nb\nz",
		"${item.value.output:lines}":                       "a\nb\nz",
		"${prev.output:json}":                              `"a\nb\nz\n"`,
		"${captured.output.output:lines}":                  "y",
		"${captured.mine.output:lines}":                    "x",
		"${context.output:lines}":                          "plain",
		"${captured.lost.output}":                          "x",
		"${captured.lost.output:lines?}": "captured.lost.output is cut, and all of it is needed " +
			"here: its file cannot be read: file does not exist",
		"${captured.lost | .truncated:default=no}": "captured.lost.output is cut, and all of it is needed " +
			"here: its file cannot be read: file does not exist",
		"${captured.none.output:json}": "captured.none.output is cut, and all of it is needed " +
			"here: it has no file; let the action write it into one",
		"${captured.err.stderr:lines}": "captured.err.stderr is cut, and all of it is needed " +
			"here: it has no file; let the action write it into one",
		"${captured.err.output:lines}": "x",
	} {
		got, err := Expand(text, s)
		if _, unread := errors.AsType[*UnreadableError](err); unread {
			got = err.Error()
		} else if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	data := *s
	data.AsData = true
	got, err := ExpandValue(value.NewMap("all", "<${captured.cut.output}>", "list", []any{"${prev.output}"}), &data)
	if text := string(value.AppendJSON(nil, got)); err != nil || text != `{"all": "<a\nb\nz>", "list": ["a\nb\nz\n"]}` {
		t.Errorf("as data: %s, %v", text, err)
	}
	if missing != cut.Value("output") {
		t.Error("the record was changed")
	}
}
