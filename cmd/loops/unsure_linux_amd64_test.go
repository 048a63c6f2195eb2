package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"loops/internal/testenv"
)

const unsureLoop = `name: inject
description: asks a person
initial: a
states:
  a: {action: ': > began', next: b}
  b: {ask: {question: "go on?", choices: [yes, no]}, on_yes: done, on_no: failed}
  done: {terminal: true}
  failed: {terminal: true, failure: true}
`

// TestAnswerThatCouldNotBeRecorded is issue 35 §1.13: "could not be recorded" (74), and the run took the
// answer. Each call that makes it durable fails once: after that the run does not have the answer, or the
// program says that it may have it, and how to look.
func TestAnswerThatCouldNotBeRecorded(t *testing.T) {
	t.Parallel()
	testenv.Tracing(t)
	broken := interference{calls: diskCalls, errno: syscall.EIO}
	for _, store := range stores {
		t.Run(storeName(store), func(t *testing.T) {
			t.Parallel()
			d := crashDir{t.TempDir(), store}
			must(t, os.Mkdir(filepath.Join(d.cwd, ".loops"), 0o755))
			must(t, os.WriteFile(filepath.Join(d.cwd, ".loops", "inject.yaml"), []byte(unsureLoop), 0o644))
			certain, unsure := 0, 0
			for n, open := 1, ""; n < 60; n++ {
				if open == "" {
					open = d.asksAndDies(t)
				}
				code, hit, _ := d.interfere(t, broken, n, "answer", open, "yes")
				text := d.said(t)
				if hit == "" {
					break
				}
				asks := d.asks(t, open)
				switch {
				case code == 0 && !asks:
					open = ""
				case code == 74 && strings.Contains(text, "not certain whether the answer was recorded") &&
					strings.Contains(text, "loops status "+open):
					unsure++
					if !asks {
						open = ""
					}
				case code == 74 && asks:
					certain++
				default:
					t.Errorf("%s: exit code %v, and the run asks: %v: %s", hit, code, asks, text)
				}
			}
			if certain < 1 || unsure < 1 {
				t.Errorf("%d answers were refused, and of %d it was not known", certain, unsure)
			}
		})
	}
}

// asksAndDies has a run ask, and its process killed, and returns its id.
func (d crashDir) asksAndDies(t *testing.T) string {
	t.Helper()
	p := d.startInto(t, "run.err", "run", "inject", "--quiet")
	if !testenv.Within(testenv.Patience, func() bool { return d.asks(t, "inject") }) {
		t.Fatalf("the run asks nothing: %s", readText(t, filepath.Join(d.cwd, "run.err")))
	}
	must(t, p.cmd.Process.Kill())
	<-p.done
	return d.newest(t, "inject")
}

// asks reports whether status shows a question of a run that has no answer.
func (d crashDir) asks(t *testing.T, run string) bool {
	t.Helper()
	d.start(t, "status", run).end(t, 0)
	return strings.Contains(d.said(t), "an answer: go on?") // what was answered has a row of its own
}
