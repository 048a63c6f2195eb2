package main_test

import (
	"strings"
	"testing"

	"loops/internal/testenv"
)

// The self-test of doctor, with the real agent CLIs.
func TestDoctorWithCLIs(t *testing.T) {
	t.Parallel()
	testenv.WithCLI(t, "codex", func(t *testing.T, cli string) {
		p := newCLIProject(t, cli, "")
		model := []string{}
		if cli == "gemini" { // left alone it asks a model which one to ask, for minutes if that has no answer
			model = []string{"--model", "gemini-2.5-flash"}
		}
		// codex and gemini want a folder to be trusted, or leave to do everything.
		_, done := p.start(t, append([]string{"doctor", "--yes", "--host", cli}, model...)...)
		code, said := done()
		asks := cli == "codex" || cli == "gemini"
		if code != 0 || asks != strings.Contains(said, "loops doctor --yes --permissions skip --host "+cli) ||
			asks == strings.Contains(said, "login works") {
			t.Errorf("exit code %d:\n%s", code, said)
		}
		_, done = p.start(t, append([]string{"doctor", "--yes", "--permissions", "skip", "--host", cli}, model...)...)
		code, said = done()
		for _, want := range []string{"login works (", "answers in a given form ("} {
			if !strings.Contains(said, want) {
				t.Errorf("no %q:\n%s", want, said)
			}
		}
		if code != 0 || strings.Contains(said, "its --version") {
			t.Errorf("exit code %d:\n%s", code, said)
		}
	})
}
