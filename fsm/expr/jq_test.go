package expr

import (
	"strings"
	"testing"

	"loops/fsm/value"
)

func TestPrograms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, program, want string }{
		{`{"items": [{"name": "a"}, {"name": "b"}]}`, `.items[0].name`, `"a"`},
		{`{"items": [{"name": "a"}, {"name": "b"}]}`, `.items[] | .name`, `"a" "b"`},
		{`{"z": 1, "a": 2}`, `.`, `{"a": 2, "z": 1}`},
		{`[3, 1.5, 12345678901234567890123]`, `.`, `[3, 1.5, 12345678901234567890123]`},
		{`[1, 2]`, `add, length, (map(. * 2))`, `3 2 [2, 4]`},
		{`null`, `.a.b`, `null`},
		{`[]`, `.[]`, ``},
		{`1`, `1, halt, 2`, `1`},
		{`"2026-11-23T00:00:00Z"`, `fromdate`, `1795392000`},
		{`{}`, `env | length`, `0`},
		{`{"a": 1}`, `.a + "x"`, `error: cannot add: number (1) and string ("x")`},
		{`1`, `error("gone")`, `error: error: gone`},
		{`1`, `def f: f | f; f`, `error: the program did not end within|the program takes more than`},
		{`1`, `[range(infinite)]`, `error: the program did not end within|the program takes more than`},
		{`1`, `last("xxxxxxxx" | recurse(. + .))`, `error: `},
		{`1`, `range(20000)`, `error: the program yields more than 10000 values`},
		{`1`, `"x" * 3e6, "x" * 3e6`, `error: the program yields more than`},
	} {
		in, err := value.ParseJSON([]byte(c.in))
		if err != nil {
			t.Fatal(err)
		}
		p, err := CompileJq(c.program)
		if err != nil {
			t.Errorf("%s: %v", c.program, err)
			continue
		}
		got := ""
		all, err := p.Eval(in)
		for i, v := range all {
			if i > 0 {
				got += " "
			}
			got += string(value.AppendJSON(nil, v))
		}
		if err != nil {
			got = "error: " + err.Error()
		}
		if want, isError := strings.CutPrefix(c.want, "error: "); isError {
			first, second, _ := strings.Cut(want, "|")
			if err == nil || !strings.Contains(got, first) && (second == "" || !strings.Contains(got, second)) {
				t.Errorf("%s: %.200s, want %s", c.program, got, c.want)
			}
			continue
		}
		if got != c.want {
			t.Errorf("%s: %.200s, want %s", c.program, got, c.want)
		}
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		program string
		offset  int
		want    string
	}{
		{`.items[`, 7, "the program ends too early"},
		{`.a | | .b`, 5, `unexpected token "|"`},
		{`.a | frist`, 5, "function not defined: frist/0"},
		{`.a + $x`, 5, "variable not defined: $x"},
		{`"abc`, 4, "the program ends too early"},
		{`input`, 0, "not allowed"},
		{`import "a" as a; .`, 0, ""},
		{strings.Repeat("[", MostText+1), 0, "the program has 65537 bytes"},
	} {
		_, err := CompileJq(c.program)
		e, ok := err.(*JqError)
		if !ok || e.Offset != c.offset || !strings.Contains(e.Message, c.want) {
			t.Errorf("%.40s: %v at %d, want %s at %d", c.program, err, e.Offset, c.want, c.offset)
		}
	}
	if _, err := CompileJq(strings.Repeat("(", 60000)); err == nil {
		t.Error("60,000 brackets are no program")
	}
}
