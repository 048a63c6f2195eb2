package loopfile

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/testenv"
)

// TestHostile feeds texts made to take forever. The bound is generous; without the limits of this package some
// of these would not end today.
func TestHostile(t *testing.T) {
	const head = "name: n\ndescription: d\ninitial: s0\n"
	bomb := head + "context:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 30; i++ {
		bomb += fmt.Sprintf("  a%d: &a%d [%s]\n", i, i,
			strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	merges := head + "context:\n  m0: &m0 {a: 1}\n"
	for i := 1; i < 30; i++ {
		merges += fmt.Sprintf("  m%d: &m%d {<<: [%s]}\n", i, i,
			strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*m%d, ", i-1), 10), ", "))
	}
	var states, chain, wrong strings.Builder
	n := testenv.Some(10_000, 100_000)
	for i := range n {
		fmt.Fprintf(&states, "  s%d: {next: s%d}\n", i, i+1)
	}
	for i := range n / 5 {
		fmt.Fprintf(&chain, "  s%d: {action: 'echo ${captured.c%d.output}', on_yes: nowhere%d, on_no: s0}\n", i, i, i)
		fmt.Fprintf(&wrong, "  s%d: {a%d: 1, b%d: 2, next: s%d}\n", i, i, i, i)
	}
	end := fmt.Sprintf("  s%d: {terminal: true}\n", n)
	tests := []struct{ name, text, rule string }{
		{"alias bomb", bomb, "alias"},
		{"merge bomb", merges, "alias"},
		{"many states", head + "states:\n" + states.String() + end, ""},
		{"many wrong targets and captures", head + "states:\n" + chain.String() + end, "unknown-state"},
		{"many unknown keys", head + "states:\n" + wrong.String() + end, "unknown-key"},
		{"flow depth 9,000", head + "context: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000), "too-deep"},
		{"flow depth 1,000,000", head + "context: " + strings.Repeat("[", 1_000_000), "yaml"},
		{"block depth 9,000", head + "context:\n" + deep(9000), "too-deep"},
		{"list depth 10,000", strings.Repeat("- ", 10_000) + "x", ""},
		{"10 MB scalar", head + "states:\n  s0: {terminal: true, action: '" + strings.Repeat("x", 10<<20) + "'}\n", ""},
		{"2 MB of references", head + "states:\n  s0: {next: s0, action: '" +
			strings.Repeat("${captured.a.b}", 140_000) + "'}\n", "no-terminal"},
		{
			"2 MB of escapes", head + "states:\n  s0: {next: s0, action: '" + strings.Repeat("$${", 700_000) + "}'}\n",
			"",
		},
		{
			"2 MB of openings", head + "states:\n  s0: {next: s0, action: '" + strings.Repeat("${", 1_000_000) + "'}\n",
			"",
		},
		{"200,000 bash defaults", head + "states:\n  s0:\n    next: s0\n    action: |\n      " +
			strings.Repeat("${x:-y}", 200_000) + "\n", "no-terminal"},
		{"1 MB of digits", head + "context: {n: " + strings.Repeat("9", 1<<20) +
			"}\nstates: {s0: {terminal: true}}\n", ""},
		{
			"long number with an exponent", head + "max_steps: 1e999999999\nstates: {s0: {terminal: true}}\n",
			"wrong-type",
		},
		{"a key of 1 MB", head + strings.Repeat("k", 1<<20) + ": 1\n", ""},
		{"broken after many lines", head + "states:\n" + wrong.String() + "  \tx: [\n", "yaml"},
		{"only colons", strings.Repeat(":", 1<<20), ""},
		{"only quotes", strings.Repeat("\"", 1<<20), ""},
		{"only dashes", strings.Repeat("- ", 1<<18), ""},
		{"only comments", strings.Repeat("# c\n", 1<<18), "empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			loop, problems := Parse("x.yaml", []byte(tt.text), nil)
			if loop == nil && len(problems) == 0 {
				t.Error("neither a loop nor a problem")
			}
			found := tt.rule == ""
			for _, p := range problems {
				found = found || p.Rule == tt.rule
			}
			if !found {
				t.Errorf("no problem of rule %s in %d problems, such as %+v", tt.rule, len(problems),
					problems[:min(1, len(problems))])
			}
			if out := Render(problems[:min(100, len(problems))], func(string) []byte { return []byte(tt.text) },
				false); len(out) > 100_000 {
				t.Errorf("the report of 100 problems is %d bytes long", len(out))
			}
		})
	}
}

// TestCrowded counts values, not the lines of a text that looks like values.
func TestCrowded(t *testing.T) {
	t.Parallel()
	if testenv.Raced {
		return // it is about size, and has one goroutine
	}
	line := "a: [1, 2, 3]\n"
	many := maxValues / 4
	for text, want := range map[string]bool{
		strings.Repeat(line, many):                                                        true,
		"k: |\n" + strings.Repeat("  "+line, many):                                        false,
		"k: !!str |2-  # why\n" + strings.Repeat("  "+line, many):                         false,
		"- k: >+\n" + strings.Repeat("     "+line, many):                                  false,
		"- k: |\n    x\n" + strings.Repeat("  "+line, many):                               true,
		"k: |\n  x\n" + strings.Repeat("\n"+line, many):                                   true,
		"# k: |\n" + strings.Repeat(" "+line, many):                                       true,
		"k: a |\n" + strings.Repeat(" "+line, many):                                       true,
		strings.Repeat("x", len(line)*many) + ": 1\n":                                     false,
		"k: [" + strings.Repeat("1,", maxValues+1) + "]\n":                                true,
		"k: " + strings.Repeat("[", maxValues+1):                                          true,
		strings.Repeat("- \n", maxValues+1):                                               true,
		"k: |\n" + strings.Repeat("  "+line+"\n", many) + "l: " + strings.Repeat("x", 99): false,
	} {
		if got := crowded([]byte(text)); got != want {
			t.Errorf("%q: %v", text[:20], got)
		}
	}
}

func deep(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", min(i+1, 200)) + "k:\n")
		if i > 198 {
			break
		}
	}
	return b.String()
}

// TestLoad covers what is wrong with the file itself.
func TestLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	big := dir + "/big.yaml"
	if err := os.WriteFile(big, make([]byte, MaxSize+1), 0o644); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ path, want string }{
		{dir + "/missing.yaml", "no such file"},
		{dir, "is a directory"},
		{"/dev/zero", "not a regular file"},
		{big, "larger than 16 MiB"},
	}
	for _, tt := range tests {
		loop, problems, err := Load(tt.path)
		if err == nil || !strings.Contains(err.Error(), tt.want) || loop != nil || problems != nil {
			t.Errorf("%s: %v, %v, %v; want an error with %q", tt.path, loop, problems, err, tt.want)
		}
	}
	file := dir + "/good.yaml"
	if err := os.WriteFile(file, []byte("name: n\ndescription: d\ninitial: s\nstates: {s: {terminal: yes}}\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	loop, problems, err := Load(file)
	if err != nil || len(problems) > 0 || loop.File != file || !loop.States["s"].Terminal {
		t.Errorf("%+v, %v, %v", loop, problems, err)
	}
}

func FuzzParse(f *testing.F) {
	seeds, err := os.ReadDir("testdata/problems")
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range seeds {
		if strings.HasSuffix(s.Name(), ".yaml") {
			data, err := os.ReadFile("testdata/problems/" + s.Name())
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		loop, problems := Parse("f.yaml", data, nil)
		Render(problems, func(string) []byte { return data }, true)
		if h := scanHeader(data); loop != nil && h != nil &&
			(!h.has("name") || !h.has("states") && !h.has("flow") || !h.has("initial")) {
			t.Errorf("the listing misses keys of a loop: %v", h.keys)
		}
		if loop == nil {
			if len(problems) == 0 {
				t.Error("neither a loop nor a problem")
			}
			return
		}
		// Invariant: every fixed target of a loop that loads is a state of it.
		for _, s := range loop.States {
			for _, to := range successors(s) {
				if to != "" && to != fsm.Current && !strings.Contains(to, "${") && loop.States[to] == nil {
					t.Errorf("%q leads to %q", s.Name, to)
				}
			}
		}
		Preflight(loop, value.NewMap())
	})
}

// successors returns every target of a state.
func successors(s *fsm.State) []string {
	out := []string{s.Next, s.OnMaintain, s.OnRetryExhausted, s.OnRateLimitExhausted, s.OnThrottleHard}
	for _, to := range s.On {
		out = append(out, to)
	}
	if s.Route != nil {
		out = append(out, s.Route.Default, s.Route.Error)
		for _, verdict := range s.Route.Table.Keys() {
			to, _ := s.Route.Table.Get(verdict)
			out = append(out, to.(string))
		}
	}
	return out
}
