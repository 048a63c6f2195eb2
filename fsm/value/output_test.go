package value_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"loops/fsm/value"
)

// decode returns the text of a stream that comes in parts.
func decode(parts ...[]byte) string {
	var d value.OutputDecoder
	var text []byte
	for _, p := range parts {
		text = append(text, d.Decode(p)...)
	}
	return string(append(text, d.End()...))
}

func TestOutputDecoder(t *testing.T) {
	t.Parallel()
	const x = "\uFFFD"
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"plain\n", "plain\n"},
		{"äß€😀\n", "äß€😀\n"},
		{"\xff", x},
		{"a\x80b", "a" + x + "b"},
		{"\x80\x80\x80", x + x + x},
		{"\xc0\xaf", x + x},                       // never a beginning
		{"\xe2\x82", x},                           // a beginning, unfinished at the end
		{"\xe2\x82a", x + "a"},                    // a beginning, cut off
		{"\xe2\x82\xe2\x82\xac", x + "€"},         // a beginning, then the whole
		{"\xe0\x80\x80", x + x + x},               // too long a form
		{"\xed\xa0\x80", x + x + x},               // half of a pair
		{"\xed\x9f\xbf", "\ud7ff"},                // the last before them
		{"\xf0\x80\x80\x80", x + x + x + x},       // too long a form
		{"\xf0\x9f\x98", x},                       // three of four
		{"\xf0\x9f\x98\n", x + "\n"},              //
		{"\xf4\x8f\xbf\xbf", "\U0010ffff"},        // the last character
		{"\xf4\x90\x80\x80", x + x + x + x},       // beyond it
		{"\xf5\x80", x + x},                       // never a beginning
		{"\xf1\x80\x80\xe1\x80\xc2", x + x + x},   // three unfinished ones
		{"a\r\nb\rc\n\rd", "a\nb\nc\n\nd"},        // line ends
		{"\r\r\n\n", "\n\n\n"},                    //
		{"ä\r\nß\r\xff\r\n", "ä\nß\n" + x + "\n"}, //
		{"\xe2\r\n\x82", x + "\n" + x},            //
		{"\x00\x01\x7f\ufffd", "\x00\x01\x7f" + x},
	} {
		// Wherever the stream is cut, the text is the same.
		for i := range len(c.in) + 1 {
			for k := i; k <= len(c.in); k++ {
				in := []byte(c.in)
				got := decode(in[:i], in[i:k], in[k:])
				if got != c.want {
					t.Errorf("%q cut at %d and %d: %q, want %q", c.in, i, k, got, c.want)
				}
			}
		}
	}
}

func FuzzOutputDecoder(f *testing.F) {
	f.Add([]byte("a\r\nb\xe2\x82\xacc\xff\r"), 3)
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		cut = max(0, min(cut, len(in)))
		whole, parts := decode(in), decode(in[:cut], in[cut:])
		if whole != parts {
			t.Errorf("cut at %d: %q, else %q", cut, parts, whole)
		}
		if !utf8.ValidString(whole) || strings.Contains(whole, "\r") {
			t.Errorf("%q became %q", in, whole)
		}
		if utf8.Valid(in) {
			want := strings.ReplaceAll(strings.ReplaceAll(string(in), "\r\n", "\n"), "\r", "\n")
			if whole != want {
				t.Errorf("%q became %q, want %q", in, whole, want)
			}
		}
	})
}

// A reader that gets its bytes one by one reads the same text.
func TestOutputReader(t *testing.T) {
	t.Parallel()
	in := "a\r\nb\xe2\x82\xacc\xff\r" + strings.Repeat("xy\r\n", 20000) + "\xe2\x82"
	for _, r := range []io.Reader{
		strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in)),
		iotest.DataErrReader(strings.NewReader(in)),
	} {
		if got, err := io.ReadAll(&value.OutputReader{R: r}); err != nil ||
			string(got) != value.OutputText([]byte(in)) {
			t.Errorf("%d bytes, %v; want %d", len(got), err, len(value.OutputText([]byte(in))))
		}
	}
	broken := errors.New("no disk")
	if got, err := io.ReadAll(
		&value.OutputReader{R: io.MultiReader(strings.NewReader("a\r"), iotest.ErrReader(broken))}); string(got) !=
		"a\n" || !errors.Is(err, broken) {
		t.Errorf("%q, %v", got, err)
	}
}
