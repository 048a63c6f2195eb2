package cli

import (
	"testing"
)

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"fix-20261121T103405": "fix-20261121T103405", "a b": "'a b'", "it's": `'it'\''s'`, "": "''",
		"a/b.yaml": "a/b.yaml", "$x": "'$x'",
		"a\nb": `$'a\x0ab'`, "it's \x1b": `$'it\'s \x1b'`, "\\\u202e": `$'\\\xe2\x80\xae'`, "\xff": `$'\xff'`,
	} {
		if got := quote(in); got != want {
			t.Errorf("quote(%q) = %s, want %s", in, got, want)
		}
	}
}
