package humanize

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// written is what a Writer makes of text that is written in pieces.
func written(t *testing.T, pieces ...string) string {
	t.Helper()
	var out bytes.Buffer
	w := NewPlainWriter(&out)
	for _, p := range pieces {
		if n, err := io.WriteString(w, p); n != len(p) || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

var cases = []struct{ name, in, want string }{
	{"plain", "a\tb\nc é 日本 🙂 \u200d\n", "a\tb\nc é 日本 🙂 \u200d\n"},
	{"nothing", "", ""},
	{"a title", "\x1b]0;owned\a!", `\x1b]0;owned\a!`},
	{"the clipboard", "\x1b]52;c;ZXZpbA==\x1b\\", `\x1b]52;c;ZXZpbA==\x1b\`},
	{"a device string", "\x1bP+q\x1b\\", `\x1bP+q\x1b\`},
	{"a cursor", "\x1b[2J\x1b[H", `\x1b[2J\x1b[H`},
	{"colours of others", "\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
	{"C1 as characters", "\u009b2J\u0085\u009d", `\u009b2J\u0085\u009d`},
	{"C1 as bytes", "\x9b2J\x85", `\x9b2J\x85`},
	{"Latin-1", "caf\xe9!", `caf\xe9!`},
	{"overlong", "\xc0\x9b", `\xc0\x9b`},
	{"a surrogate", "\xed\xa0\x80", `\xed\xa0\x80`},
	{"ASCII", "\x00\x08\x0b\x0c\r\x7f", `\x00\b\v\f\r\u007f`},
	{"direction", "a\u202eb\u2066c\u200ed\u061ce", `a\u202eb\u2066c\u200ed\u061ce`},
	{"separators", "a\u2028b\u2029", `a\u2028b\u2029`},
	{"a mark of another process", "\x010123456789abcdef31\x02red", `\x010123456789abcdef31\x02red`},
	{"a mark cut off", mark(), `\x01` + mark()[1:]},
	{"a mark that is none", mark() + "31mx", `\x01` + mark()[1:] + "31mx"},
	{"a mark with more in it", mark() + "?25l\x02", `\x01` + mark()[1:] + `?25l\x02`},
	{"a style", Style("1;31", "bad") + "\n", "\x1b[1;31mbad\x1b[0m\n"},
	{"ours", Ours("\x1b[2mdim\x1b[0m"), "\x1b[2mdim\x1b[0m"},
	{"a line with colours", Colours("\x1b[32mok\x1b[0m"), "\x1b[32mok\x1b[0m"},
	{"a line that leaves its colour on", Colours("\x1b[38:2::1:2:3mok"), "\x1b[38:2::1:2:3mok\x1b[0m"},
	{"concealed text", Colours("\x1b[8msudo\x1b[0m \x1b[1;08;31mrm\x1b[m"), "sudo\x1b[0m \x1b[1;31mrm\x1b[m"},
	{
		"concealed behind a colour", Colours("\x1b[38;5;8;8ma\x1b[38;2;8;8;8;8mb\x1b[48:5:8mc\x1b[8:1md"),
		"\x1b[38;5;8ma\x1b[38;2;8;8;8mb\x1b[48:5:8mcd\x1b[0m",
	},
	{"what looks like colours", Colours("\x1b[>4;2m\x1b[?25l\x1b[31\x1b["), `\x1b[>4;2m\x1b[?25l\x1b[31\x1b[`},
	{"too long for a colour", Colours("\x1b[" + strings.Repeat("1;", 40) + "m"), `\x1b[` + strings.Repeat("1;", 40) +
		"m"},
	{"no colours", Uncoloured("\x1b[32mok\x1b[m\x1b[K"), `ok\x1b[K`},
	{"a line of DOS", Colours("one\rtwo\r"), `one\rtwo`},
}

func TestWriter(t *testing.T) {
	t.Parallel()
	for _, c := range cases {
		if got := written(t, c.in); got != c.want {
			t.Errorf("%s: %q became\n     %q\nwant %q", c.name, c.in, got, c.want)
		}
		for i := range len(c.in) {
			if got := written(t, c.in[:i], c.in[i:]); got != c.want {
				t.Errorf("%s, cut at %d: %q, want %q", c.name, i, got, c.want)
			}
		}
		if got := written(t, strings.Split(c.in, "")...); utf8.ValidString(c.in) && got != c.want {
			t.Errorf("%s, in characters: %q, want %q", c.name, got, c.want)
		}
		if got := Sequences(c.in); got != c.want {
			t.Errorf("%s: Sequences = %q, want %q", c.name, got, c.want)
		}
	}
}

// The error of a failing writer is returned, and nothing is lost of what was whole.
func TestWriterFails(t *testing.T) {
	t.Parallel()
	w := NewPlainWriter(plainShort{})
	if _, err := io.WriteString(w, "ab"); err != io.ErrShortWrite {
		t.Error(err)
	}
}

type plainShort struct{}

func (plainShort) Write([]byte) (int, error) { return 1, nil }

// At whatever bytes a stream is cut, what comes out is the same, and nothing in it acts on a terminal.
func TestWriterCutAnywhere(t *testing.T) {
	t.Parallel()
	parts := []string{
		"\x1b[31m", "\x9b", "\u009b", "é", "日", "\xe2", "\x80", "\u202e", "a", "\n", "\x01", "\x02",
		Style("31", "x"), mark(), "🙂", "\x00",
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var b strings.Builder
		for range random.IntN(8) {
			b.WriteString(parts[random.IntN(len(parts))])
		}
		text := b.String()
		var pieces []string
		for rest := text; rest != ""; {
			n := 1 + random.IntN(min(len(rest), 9))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		whole, cut := written(t, text), written(t, pieces...)
		if whole != cut {
			t.Fatalf("%q: whole %q, in pieces %q %q", text, whole, pieces, cut)
		}
		plain := strings.NewReplacer("\x1b[31m", "", "\x1b[0m", "", "\x1b[m", "").Replace(whole)
		if again := written(t, plain); again != plain {
			t.Fatalf("%q became %q, which is not harmless: %q", text, whole, again)
		}
	}
}

// JSON that went through a Writer means what it meant before.
func TestWriterKeepsJSON(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for r := rune(0); r < 0x2100; r++ {
		all.WriteRune(r)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(map[string]string{all.String(): all.String()}); err != nil {
		t.Fatal(err)
	}
	var got map[string]string
	if err := json.Unmarshal([]byte(written(t, b.String())), &got); err != nil {
		t.Fatal(err)
	}
	if got[all.String()] != all.String() {
		t.Error("the value is another one")
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain":                  "plain",
		"yes\nLoop completed: x": `yes\nLoop completed: x`,
		"a\tb\r\n":               `a    b\r\n`,
		"\x1b[31mred":            `\x1b[31mred`,
		Style("31", "red\n"):     marked("31") + `red\n` + marked("0"),
		mark():                   `\x01` + mark()[1:],
	} {
		if got := PlainLine(in); got != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
	}
	for s, want := range map[string]bool{
		"fix": true, "é 日": true, "a\nb": false, "a\tb": false, "\u202e": false,
		Style("1", "x"): false,
	} {
		if Harmless(s) != want {
			t.Errorf("Harmless(%q) = %t", s, !want)
		}
	}
}

func BenchmarkWriter(b *testing.B) {
	for name, line := range map[string]string{
		"ASCII": "compiling package 17 of 200: internal/humanize\n", "text": "größere Änderungen — 日本語 🙂\n",
		"hostile": "\x1b[31mred\x1b[0m\r\u009b\n",
	} {
		text := []byte(strings.Repeat(line, 1000))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			w := NewPlainWriter(io.Discard)
			for b.Loop() {
				fmt.Fprintf(w, "%s", text)
			}
		})
	}
}
