package cli

import "testing"

func TestWrap(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"paragraphs", "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen " +
			"sixteen\nseventeen\n\nnext", "one two three four five six seven eight nine ten eleven twelve thirteen " +
			"fourteen fifteen\nsixteen seventeen\n\nnext\n"},
		{"an indented line that fits", "  a:\n    - b", "  a:\n    - b\n"},
		{
			"a row that fits, with its next line", "  key   what it is\n        and more",
			"  key   what it is\n        and more\n",
		},
		{
			"a row that does not", "  key   one two three four five six seven eight nine ten eleven twelve thirteen " +
				"fourteen fifteen\n        sixteen\n  k     v",
			"  key   one two three four five six seven eight nine ten eleven twelve thirteen fourteen\n" +
				"        fifteen sixteen\n  k     v\n",
		},
		{
			"an arrow", "    1  one two three four five six seven eight nine ten eleven twelve thirteen fourteen " +
				"fifteen\n       -> do it",
			"    1  one two three four five six seven eight nine ten eleven twelve thirteen fourteen\n" +
				"       fifteen\n       -> do it\n",
		},
		{"nothing", "", "\n"},
	} {
		if got := helpWrap(c.text); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}
