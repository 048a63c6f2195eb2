package action

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loops/fsm"
	"loops/internal/mask"
)

func masker() *mask.Masker {
	m := mask.New()
	m.Add("TOKEN", "secret-of-the-test")
	return m
}

// TestSecretsOfAPrompt: the agent gets the placeholder, and what it says comes without the secret: in its answer,
// which it gives in pieces, in its log and on standard error.
func TestSecretsOfAPrompt(t *testing.T) {
	t.Parallel()
	res, r := prompted(t,
		`read -r p; echo "say got $p"; printf 'delta secret-\ndelta of-the\ndelta -test\n'; echo "raw secret-of-the-test"; echo secret-of-the-test >&2; echo done`,
		func(r *Runner, a *fsm.Action) {
			r.Mask = masker()
			a.Text = "use ***(TOKEN)"
		})
	if want := "got use ***[TOKEN]\n***(TOKEN)"; res.Stdout != want || !strings.Contains(res.Stderr, "***(TOKEN)") ||
		strings.Contains(res.Stderr, "secret-of") {
		t.Errorf("got %q and %q, want %q", res.Stdout, res.Stderr, want)
	}
	logs, _ := filepath.Glob(filepath.Join(r.RunDir, "output", "*.log"))
	if len(logs) != 1 {
		t.Fatalf("logs: %v", logs)
	}
	b, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	if text := string(b); strings.Contains(text, "secret-of-the-test") || !strings.Contains(text, "raw ***(TOKEN)") {
		t.Errorf("the log has %q", text)
	}
}

// TestSecretsOfAScript: a script gets the secret, in its text and its variables; what it prints comes without, also
// the lines that are passed on while it runs, and the file of a long output.
func TestSecretsOfAScript(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	r.Mask, r.RunDir = masker(), t.TempDir()
	sealed := 0
	r.Seal = func() error { sealed++; return nil }
	a := fsm.Action{
		Kind: fsm.KindShell, State: "a", Step: 1, Attempt: 1, Keep: true,
		Vars: []fsm.Var{{Name: "LOOPS_CONTEXT_T", Value: "x***(TOKEN)"}},
		Text: `[ "***(TOKEN)" = "secret-"of-the-test ] && [ "$LOOPS_CONTEXT_T" = "xsecret-"of-the-test ] && echo "same: $LOOPS_CONTEXT_T"; printf 'no end: ***(TOKEN)' | tee /dev/stderr`,
	}
	var lines strings.Builder
	res, err := r.Run(t.Context(), a, func(text string) { lines.WriteString(text + "\n") })
	if err != nil {
		t.Fatal(err)
	}
	want := "same: x***(TOKEN)\nno end: ***(TOKEN)"
	if res.Stdout != want || lines.String() != want+"\n" || res.Stderr != "no end: ***(TOKEN)" || sealed != 1 {
		t.Errorf("got %q, lines %q, %q, sealed %d times", res.Stdout, lines.String(), res.Stderr, sealed)
	}
	b, err := os.ReadFile(res.File)
	if err != nil || string(b) != want {
		t.Errorf("the file has %q, %v", b, err)
	}
}
