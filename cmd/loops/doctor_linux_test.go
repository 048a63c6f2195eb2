package main_test

import (
	"strings"
	"testing"
)

// The self-test of doctor, with the real agent CLIs.
func TestDoctorWithCLIs(t *testing.T) {
	t.Parallel()
	eachCLI(t, func(t *testing.T, cli string) {
		p := newCLIProject(t, cli, "")
		// codex and gemini want a folder to be trusted, or leave to do everything.
		_, done := p.start(t, "doctor", "--yes", "--host", cli)
		code, said := done()
		asks := cli == "codex" || cli == "gemini"
		if code != 0 || asks != strings.Contains(said, "loops doctor --yes --permissions skip --host "+cli) || asks == strings.Contains(said, "login works") {
			t.Errorf("exit code %d:\n%s", code, said)
		}
		if cli == "gemini" { // left alone it asks which model to ask, and the stand-in has no answer to that
			return
		}
		_, done = p.start(t, "doctor", "--yes", "--permissions", "skip", "--host", cli)
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
