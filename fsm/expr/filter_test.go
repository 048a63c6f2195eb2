package expr

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"loops/fsm/value"
)

// filterNames are what a random chain is made of.
var filterNames = []string{"trim", "lines", "first", "last", "json", "shell"}

// randomText is made of what is special to a shell, to JSON or to the cutting of lines.
func randomText(r *rand.Rand) string {
	pieces := []string{
		"a", "B", "7", " ", "\t", "\n", "\r\n", "\r", "\v", "\u2028", "\x1c", "'", `"`, `\`, "$", "$(x)", "`", "!",
		"*", "?", "~", "#", ";", "&", "|",
		"<", ">", "-", "=", "%s", "{", "}", "[", "]", "é", "\u00a0", "日", "\x01", "\x7f", "\xff", "${context.v}",
		"$'", "\\'",
	}
	var b strings.Builder
	for range r.IntN(12) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

func randomFiltered(r *rand.Rand, depth int) any {
	switch n := r.IntN(12); {
	case n == 0:
		return nil
	case n == 1:
		return r.IntN(2) == 0
	case n == 2:
		return int64(r.IntN(2000) - 1000)
	case n == 3:
		return []float64{1.5, -2, 1e300, math.NaN(), math.Inf(-1)}[r.IntN(5)]
	case n == 4:
		return new(big.Int).Lsh(big.NewInt(3), 70)
	case n <= 6 && depth > 0:
		l := make([]any, r.IntN(4))
		for i := range l {
			l[i] = randomFiltered(r, depth-1)
		}
		return l
	case n == 7 && depth > 0:
		m := value.NewMap()
		for range r.IntN(3) {
			m.Set(randomText(r), randomFiltered(r, depth-1))
		}
		return m
	}
	return randomText(r)
}

// Whatever the value and the filters before it are, :json gives JSON.
func TestJSONFilterParses(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		v := randomFiltered(r, 3)
		chain := ""
		for range r.IntN(3) {
			chain += ":" + filterNames[r.IntN(len(filterNames)-1)]
		}
		got, err := Expand("${context.v"+chain+":json}", &Scope{Context: value.NewMap("v", v)})
		if err != nil || !json.Valid([]byte(got)) {
			t.Fatalf("%s%s:json gave %q, %v", value.Repr(v), chain, got, err)
		}
		if text, ok := v.(string); ok && chain == "" {
			var back string
			if err := json.Unmarshal([]byte(got), &back); err != nil || back != strings.ToValidUTF8(text, "\ufffd") &&
				utf8.ValidString(text) {
				t.Fatalf("%q gave %s, which is %q, %v", text, got, back, err)
			}
		}
	}
}

// What :shell makes is read back by a real shell: one word of everything, and of a list of lines one word each.
func TestShellFilterThroughBash(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	var script strings.Builder
	script.WriteString("export LC_ALL=C\nw() { printf '%s\\0' \"$#\" \"$@\"; }\n")
	var want, templates []string
	for range 1000 {
		v := randomFiltered(r, 2)
		s := &Scope{Context: value.NewMap("v", v)}
		var words []string
		text := []string{
			"${context.v:shell}", "${context.v:trim:shell}", "${context.v:first:shell}",
			"${context.v:json:shell}", "${context.v:lines:shell}",
		}[r.IntN(5)]
		if text == "${context.v:lines:shell}" {
			words = linesOf(v, nil)
		} else if plain, err := Expand(strings.Replace(text, ":shell", "", 1), s); err != nil {
			t.Fatal(err)
		} else if plain != "" || !strings.Contains(text, ":shell") {
			words = []string{plain}
		} else if got, _ := Expand(text, s); got != "" { // "" is a null, which gives no word
			words = []string{""}
		}
		got, err := Expand(text, s)
		if err != nil {
			t.Fatal(err)
		}
		script.WriteString("w " + got + "\n")
		templates = append(templates, text+" of "+value.Repr(v))
		want = append(want, strings.Join(append([]string{string(value.AppendJSON(nil, len(words)))}, words...),
			"\x00")+"\x00")
	}
	cmd := exec.Command("bash", "--noprofile", "--norc", "-s")
	cmd.Stdin = strings.NewReader(script.String())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	rest := string(out)
	for i, w := range want {
		after, ok := strings.CutPrefix(rest, w)
		if !ok {
			t.Fatalf("%s: bash read %.200q, want %q", templates[i], rest, w)
		}
		rest = after
	}
	if rest != "" {
		t.Errorf("bash read more: %q", rest)
	}
}

// FuzzFilters: no chain panics, an allowed one has a value, and References reads it as Expand does.
func FuzzFilters(f *testing.F) {
	f.Add(" a\nb ", []byte{0, 1, 2}, uint64(1))
	f.Add("", []byte{4, 5}, uint64(9))
	f.Fuzz(func(t *testing.T, text string, chain []byte, seed uint64) {
		if len(chain) > 8 {
			return
		}
		var names []string
		for _, c := range chain {
			names = append(names, filterNames[int(c)%len(filterNames)])
		}
		ref := "${context.v"
		for _, n := range names {
			ref += ":" + n
		}
		ref += "}"
		if refs := References(ref); len(refs) != 1 || refs[0].Path != "v" ||
			!reflect.DeepEqual(refs[0].Filters, names) {
			t.Fatalf("%s is read as %+v", ref, refs)
		}
		i := slices.Index(names, "shell")
		for _, v := range []any{text, []any{text, nil}, randomFiltered(rand.New(rand.NewPCG(seed, 0)), 3)} {
			got, err := Expand(ref, &Scope{Context: value.NewMap("v", v)})
			if allowed := i < 0 || i == len(names)-1; (err == nil) != allowed {
				t.Fatalf("%s: %q, %v", ref, got, err)
			}
			if err == nil && len(names) > 0 && names[len(names)-1] == "lines" &&
				slices.Contains(strings.Split(got, "\n"), "") && got != "" {
				t.Fatalf("%s of %s has a blank line: %q", ref, value.Repr(v), got)
			}
		}
	})
}
