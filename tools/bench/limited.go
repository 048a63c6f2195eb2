package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// sandboxed is the time of a shell transition in a sandbox over that of one without.
func (b *bench) sandboxed() (float64, error) {
	free, err1 := b.perStep(shellLoop, transitions/2)
	limited, err2 := b.perStep(shellLoop, transitions, "--sandbox", "workspace")
	again, err3 := b.perStep(shellLoop, transitions/2)
	return limited / ((free + again) / 2), errors.Join(err1, err2, err3)
}

// Two states that change a file of many, until the step cap ends the run.
const changingLoop = `name: changing
initial: a
max_edge_revisits: 1000000
states:
  a: {action: "echo $RANDOM > d000/f1", next: b}
  b: {action: "echo $RANDOM > d001/f51", next: a}
  end: {terminal: true}
`

// guardedSteps is how many steps are measured with a guard and snapshots.
const guardedSteps = 40

// guarded is what a step takes longer in a project with so many files that are at rest, where a guard looks at what it
// changed and snapshots keep it.
func (b *bench) guarded(files int) (float64, error) {
	guarded := strings.Replace(changingLoop, "name: changing\n",
		"name: guarded\nguard: {no_delete: true}\nsnapshots: git\n", 1)
	project, err := b.project(changingLoop, guarded)
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(project)
	for i := range files {
		name := filepath.Join(project, fmt.Sprintf("d%03d", i/50), fmt.Sprintf("f%d", i))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755),
			os.WriteFile(name, fmt.Append(nil, "file ", i, "\n"), 0o644)); err != nil {
			return 0, err
		}
	}
	for _, args := range [][]string{
		{"init", "-q"},
		{"add", "-A", "--", "d*"},
		{"-c", "user.name=n", "-c", "user.email=n@example.org", "commit", "-q", "-m", "base"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = project
		if out, err := cmd.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	step := func(loop string) (float64, error) {
		once, err1 := b.program(project, "run", loop, "--quiet", "--max-steps", "1")
		long, err2 := b.program(project, "run", loop, "--quiet", "--max-steps", fmt.Sprint(guardedSteps+1))
		return (long - once) / guardedSteps, errors.Join(err1, err2)
	}
	before, err1 := step("changing")
	with, err2 := step("guarded")
	after, err3 := step("changing")
	return with - (before+after)/2, errors.Join(err1, err2, err3)
}
