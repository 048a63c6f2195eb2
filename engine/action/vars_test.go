package action

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"loops/fsm"
)

func TestTooLong(t *testing.T) {
	t.Parallel()
	v := func(name string, size int) fsm.Var { return fsm.Var{Name: name, Value: strings.Repeat("x", size)} }
	var tens []fsm.Var
	for i := range 30 {
		tens = append(tens, v(string(rune('A'+i)), 10<<10-2))
	}
	for _, c := range []struct {
		name string
		vars []fsm.Var
		want string // names of those that go to files
	}{
		{"none", nil, ""},
		{"short", []fsm.Var{v("A", 0), v("B", 1), v("C", longVar)}, ""},
		{"too long", []fsm.Var{v("A", longVar), v("B", longVar+1), v("C", 3<<20)}, "BC"},
		{"zero byte", []fsm.Var{{Name: "A", Value: "a\x00b"}, {Name: "B", Value: "ab"}}, "A"},
		{"just enough", tens[:25], ""},
		{"all at the limit", []fsm.Var{
			v("A", longVar-2-1), v("B", longVar-2-1), v("C", longVar-2-1), v("D", longVar-2-1), v("E", longVar-2-1),
			v("F", longVar-2-1), v("G", longVar-2-1), v("H", longVar-2-1),
		}, ""},
		{"too many of one size", tens[:28], "ABC"},
		{"the longest go", append([]fsm.Var{v("a", 5), v("b", 20<<10), v("c", 6)}, tens[:25]...), "b"},
		{"those in files do not count", append([]fsm.Var{v("a", 1<<20)}, tens[:25]...), "a"},
	} {
		got := ""
		for i, in := range tooLong(c.vars) {
			if in {
				got += c.vars[i].Name
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestVars(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	r.Env = append(os.Environ(), "LOOPS_CAPTURED_OLD=x", "LOOPS_CONTEXT_A_FILE=/outer", "LOOPS_PREV_OUTPUT=outer",
		"LOOPS_PREV_OUTPUT_FILE=/outer",
		"LOOPS_CAPTURED=kept")
	quoted := "it's \"$(touch hacked)\" `touch hacked`; \\ \n\tä€😀 $HOME \x7f\xff"
	long := strings.Repeat("0123456789abcdef\n", 100<<10)
	a := shell(`env | grep -aoE '^LOOPS_(CAPTURED|CONTEXT|PREV)[^=]*' | sort
printf '%s' "$LOOPS_CAPTURED_Q" > q; printf '%s' "$LOOPS_CAPTURED_EMPTY" > empty; cat "$LOOPS_PREV_OUTPUT_FILE" > long; cat "$LOOPS_CONTEXT_Z_FILE" > z`)
	a.Vars = []fsm.Var{
		{Name: "LOOPS_CAPTURED_Q", Value: quoted},
		{Name: "LOOPS_CAPTURED_EMPTY"},
		{Name: "LOOPS_PREV_OUTPUT", Value: long},
		{Name: "LOOPS_CONTEXT_Z", Value: "a\x00b\n"},
	}
	res := do(t, r, a)
	want := "LOOPS_CAPTURED\nLOOPS_CAPTURED_EMPTY\nLOOPS_CAPTURED_Q\nLOOPS_CONTEXT_Z_FILE\nLOOPS_PREV_OUTPUT_FILE\n"
	if res.Stdout != want || res.Stderr != "" || res.ExitCode != 0 {
		t.Errorf("got\n%swant\n%sstderr %q", res.Stdout, want, res.Stderr)
	}
	for name, want := range map[string]string{"q": quoted, "empty": "", "long": long, "z": "a\x00b\n"} {
		if b, err := os.ReadFile(filepath.Join(r.Dir, name)); err != nil || string(b) != want {
			t.Errorf("%s: %.100q, %v", name, b, err)
		}
	}
	if exists(filepath.Join(r.Dir, "hacked")) {
		t.Error("a value was executed")
	}
	// Another kind of action gets none, nor the next one that names none.
	if res := do(t, r, shell("env | grep -c ^LOOPS_PREV; true")); res.Stdout != "0\n" {
		t.Errorf("left for the next action: %q", res.Stdout)
	}
}

// A file is written again when it has to be, and only then.
func TestVarFileIsKept(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	name := filepath.Join(r.RunDir, "env", "LOOPS_PREV_OUTPUT")
	long := strings.Repeat("x", longVar)
	inode := func(value, script string) os.FileInfo {
		t.Helper()
		a := shell(`cmp "$LOOPS_PREV_OUTPUT_FILE" - <<< "$(cat want)" || echo differs; ` + script)
		if err := os.WriteFile(filepath.Join(r.Dir, "want"), []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
		a.Vars = []fsm.Var{{Name: "LOOPS_PREV_OUTPUT", Value: value + "\n"}}
		if res := do(t, r, a); res.Stdout != "" || res.Stderr != "" {
			t.Errorf("%q %q", res.Stdout, res.Stderr)
		}
		st, err := os.Stat(name)
		if err != nil {
			return nil
		}
		return st
	}
	first := inode(long+"1", "")
	if first.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", first.Mode())
	}
	if again := inode(strings.Clone(long+"1"), ""); !os.SameFile(first, again) {
		t.Error("it was written again")
	}
	second := inode(long+"2", "")
	if os.SameFile(first, second) {
		t.Error("it was written in place")
	}
	_ = inode(long+"2", `rm "$LOOPS_PREV_OUTPUT_FILE"`)
	third := inode(long+"2", "")
	if third == nil {
		t.Fatal("a file that was removed did not come back")
	}
	_ = inode(long+"2", `echo more >> "$LOOPS_PREV_OUTPUT_FILE"`)
	_ = inode(long+"2", "") // cmp above
	if names, err := filepath.Glob(filepath.Join(r.RunDir, "env", "*")); err != nil ||
		!slices.Equal(names, []string{name}) {
		t.Errorf("files %q, %v", names, err)
	}
}

// Actions that run at the same time each see their own text, whatever the names.
func TestVarFilesOfConcurrentActions(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	var wg sync.WaitGroup
	var printed atomic.Int64
	for i := range 4 {
		wg.Go(func() {
			a := shell(`head -c 1 "$X_FILE"; echo;` + awaitSeen + `head -c 1 "$X_FILE"`)
			a.Step = i
			a.Vars = []fsm.Var{{Name: "X", Value: fmt.Sprint(i) + strings.Repeat("x", longVar)}}
			res, err := r.Run(context.Background(), a, func(string) {
				if printed.Add(1) == 4 {
					write(t, r, "seen")
				}
			})
			if want := fmt.Sprintf("%d\n%d", i, i); err != nil || res.Stdout != want {
				t.Errorf("%q %q, %v; want %q", res.Stdout, res.Stderr, err, want)
			}
		})
	}
	wg.Wait()
	a := shell(`echo "$X_FILE"`)
	a.Vars = []fsm.Var{{Name: "X", Value: strings.Repeat("y", longVar+1)}}
	if res := do(t, r, a); res.Stdout != filepath.Join(r.RunDir, "env", "X")+"\n" {
		t.Errorf("afterwards: %q", res.Stdout)
	}
}

func TestVarsThatCannotBeGiven(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", longVar+1)
	for _, c := range []struct {
		name  string
		v     fsm.Var
		spoil func(t *testing.T, r *Runner)
		want  string
	}{
		{
			"folder is a file",
			fsm.Var{Name: "LOOPS_PREV_OUTPUT", Value: long},
			func(t *testing.T, r *Runner) {
				if err := os.WriteFile(filepath.Join(r.RunDir, "env"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			},
			`the variable LOOPS_PREV_OUTPUT of state "a" is too long for the environment and cannot be written to a file: mkdir `,
		},
		{"file is a folder", fsm.Var{Name: "LOOPS_PREV_OUTPUT", Value: long}, func(t *testing.T, r *Runner) {
			if err := os.MkdirAll(filepath.Join(r.RunDir, "env", "LOOPS_PREV_OUTPUT", "x"), 0o700); err != nil {
				t.Fatal(err)
			}
		}, `cannot be written to a file: rename `},
		{
			"no folder",
			fsm.Var{Name: "X", Value: long},
			func(_ *testing.T, r *Runner) { r.RunDir = "" },
			"this run has no folder",
		},
		{"no name", fsm.Var{Value: "x"}, nil, `state "a": "" cannot be the name of an environment variable`},
		{"name with =", fsm.Var{Name: "A=B", Value: "x"}, nil, `"A=B" cannot be the name`},
		{"name with a zero byte", fsm.Var{Name: "A\x00", Value: "x"}, nil, `"A\x00" cannot be the name`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRunner(t)
			if c.spoil != nil {
				c.spoil(t, r)
			}
			a := shell("touch ran")
			a.Vars = []fsm.Var{c.v}
			_, err := r.Run(context.Background(), a, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
			if exists(filepath.Join(r.Dir, "ran")) {
				t.Error("it ran all the same")
			}
			if left, _ := filepath.Glob(filepath.Join(r.RunDir, "env", ".*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

func TestDirectory(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	r.Env = append(os.Environ(), "PWD=/nowhere")
	other := t.TempDir()
	if err := os.MkdirAll(filepath.Join(r.Dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ dir, want string }{
		{"", r.Dir}, {other, other}, {"sub", filepath.Join(r.Dir, "sub")}, {"sub/..", r.Dir},
	} {
		a := shell("pwd -P; tr '\\0' '\\n' </proc/$$/environ | grep ^PWD=")
		a.Dir = c.dir
		if res := do(t, r, a); res.Stdout != c.want+"\nPWD="+c.want+"\n" {
			t.Errorf("%q: got %q, want %q", c.dir, res.Stdout, c.want)
		}
	}
	a := shell("true")
	a.Dir = filepath.Join(other, "gone")
	if _, err := r.Run(context.Background(), a, nil); err == nil ||
		!strings.Contains(err.Error(), "gone: no such file or directory") {
		t.Errorf("error %v", err)
	}
}

// What runs inside another state is marked and kept with the marks of that state in front.
func TestOuter(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	for _, c := range []struct{ outer, state, mark, file string }{
		{"", "fix", "/3/1", "000003-fix.out"},
		{"/5/1", "fix", "/5/1/3/1", "000005+000003-fix.out"},
		{"/5/2", "fix", "/5/2/3/1", "000005@2+000003-fix.out"},
		{"/5/1/1234567/12", "fix", "/5/1/1234567/12/3/1", "000005+1234567@12+000003-fix.out"},
		{"", "5+000003-fix", "/3/1", "000003-5_000003-fix.out"},
		{
			strings.Repeat("/5/1", 40), "x", strings.Repeat("/5/1", 40) + "/3/1",
			strings.Repeat("000005+", 40)[280-120:] + "000003-x.out",
		},
		{"/a b/1", "x", "/a b/1/3/1", "_a_b_1+000003-x.out"},
	} {
		a := shell(`echo "$LOOPS_ACTION"`)
		a.Step, a.State, a.Outer, a.Keep = 3, c.state, c.outer, true
		res := do(t, r, a)
		if want := r.Mark + c.mark + "\n"; res.Stdout != want {
			t.Errorf("%s: marker %q, want %q", c.outer, res.Stdout, want)
		}
		if want := filepath.Join(r.RunDir, "output", c.file); res.File != want {
			t.Errorf("%s: file %s, want %s", c.outer, res.File, want)
		}
	}
}

// A file that was not touched is not looked at again, and one that was is, also where the whole folder was removed.
func TestVarFilesThatWereTouched(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	a := shell("")
	for i := range 40 {
		a.Vars = append(a.Vars,
			fsm.Var{Name: fmt.Sprintf("V%d", i), Value: fmt.Sprint(i) + strings.Repeat("x", longVar)})
	}
	for _, c := range []struct {
		name, script string
		sure         int // when the next action began, where the system tells
	}{
		{"first", "true", 0},
		{"untouched", "true", 40},
		{"untouched still", "true", 40},
		{"removed", `rm "$V7_FILE"`, 40},
		{"written to", `echo more >> "$V8_FILE"`, 39},
		{"replaced", `cp "$V9_FILE" z; echo other > z; mv z "$V9_FILE"`, 39},
		{"no folder", `rm -r "${V1_FILE%/*}"`, 39},
		{"all again", "true", 0},
		{"untouched again", "true", 40},
		{"written to in the new folder", `echo more >> "$V8_FILE"`, 40},
		{"untouched at last", "true", 39},
	} {
		if c.name == "removed" { // the folder is not gone for as long as that is open
			f, err := os.Open(filepath.Join(r.RunDir, "env", "V1"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
		}
		a.Text =
			`for i in {0..39}; do v=V${i}_FILE; read -r -n 3 x < "${!v}"; case $x in $i*x) ;; *) echo "$i: $x" ;; esac
			test $(wc -c < "${!v}") -eq $((32768 + ${#i})) || echo "$i is too long"; done; ` + c.script
		if res := do(t, r, a); res.Stdout != "" || res.Stderr != "" {
			t.Errorf("%s: %q %q", c.name, res.Stdout, res.Stderr)
		}
		if got, tells := r.vars.Known(); got != c.sure && tells {
			t.Errorf("%s: %d are known to be as they were, want %d", c.name, got, c.sure)
		}
	}
}
