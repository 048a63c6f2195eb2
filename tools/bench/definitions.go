package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A catalog is like the largest ones people have: this many loops, of this many states, in as many bytes a file.
const (
	catalogLoops  = 106
	catalogStates = 13
	largestStates = 160 // of the last one
)

// catalog returns a project of loops that share a library of fragments and run each other.
func (b *bench) catalog() (string, error) {
	if b.catalogDir != "" {
		return b.catalogDir, nil
	}
	loops := make([]string, 0, catalogLoops)
	for i := range catalogLoops {
		loops = append(loops, catalogLoop(i))
	}
	project, err := b.project(loops...)
	if err != nil {
		return "", err
	}
	lib := filepath.Join(project, ".loops", "lib")
	if err := os.Mkdir(lib, 0o755); err != nil {
		return "", err
	}
	var text strings.Builder
	text.WriteString("fragments:\n")
	for i := range 40 {
		fmt.Fprintf(&text, "  gate-%d:\n    description: Runs a check of its own.\n    parameters:\n"+
			"      limit: {type: integer, default: 3}\n    action_type: shell\n    timeout: 60\n    evaluate:\n"+
			"      type: output_numeric\n      operator: ge\n      target: 3\n", i)
	}
	if err := os.WriteFile(filepath.Join(lib, "common.yaml"), []byte(text.String()), 0o644); err != nil {
		return "", err
	}
	b.catalogDir = project
	return project, nil
}

func catalogLoop(n int) string {
	var t strings.Builder
	fmt.Fprintf(&t, "name: loop-%03d\ndescription: |\n  Works through a list and checks what came of it.\n", n)
	t.WriteString(strings.Repeat("  More about what it is for and who wants to run it.\n", 20))
	t.WriteString("initial: s0\nimport: [lib/common.yaml]\nparameters:\n  goal: {type: string, default: none}\n" +
		"context: {goal: none, limit: 3, rate: 0.5}\nmax_steps: 100\ntimeout: 3600\nstates:\n")
	states := catalogStates
	if n == catalogLoops-1 {
		states = largestStates
	}
	for s := range states {
		fmt.Fprintf(&t, "  s%d:\n", s)
		kind := s % 4
		if kind == 2 && s > catalogStates && s%32 != 2 {
			kind = 0 // a large loop has more to do itself, and runs few others
		}
		switch kind {
		case 0:
			t.WriteString("    action_type: shell\n    capture: out\n    action: |\n")
			t.WriteString(strings.Repeat("      printf '%s\\n' \"$LOOPS_CONTEXT_GOAL\" >> "+
				"\"${context.run_dir}/list.txt\" # and so on\n", 12))
		case 1:
			fmt.Fprintf(&t, "    fragment: gate-%d\n    with: {limit: 4}\n    action: |\n", (n+s)%40)
			t.WriteString(strings.Repeat("      wc -l < \"${context.run_dir}/list.txt\"\n", 10))
		case 2:
			fmt.Fprintf(&t, "    loop: loop-%03d\n    with: {goal: \"${context.goal}\"}\n", (n+s)%catalogLoops)
		case 3:
			t.WriteString("    evaluate: {type: output_contains, source: \"${context.goal}\", pattern: none}\n")
		}
		fmt.Fprintf(&t, "    on_yes: s%d\n    on_no: done\n    on_error: failed\n", (s+1)%states)
	}
	t.WriteString("  done: {terminal: true}\n  failed: {terminal: true, failure: true}\n")
	return t.String()
}

// recursive runs itself from two states, which makes a validator that follows every reference take for ever.
const recursive = `name: recursive
description: Runs itself from two states.
initial: a
parameters: {n: {type: integer, default: 1}}
context: {n: 1}
states:
  a: {loop: recursive, with: {n: 2}, on_yes: b, on_no: end, on_error: end}
  b: {loop: recursive, with: {n: 3}, on_yes: end, on_no: end, on_error: end}
  end: {terminal: true}
`

const largeStates = 10_000

func largeLoop() string {
	var t strings.Builder
	t.WriteString("name: large\ndescription: Has very many states.\ninitial: s0\nstates:\n")
	for s := range largeStates {
		fmt.Fprintf(&t, "  s%d: {action: \"echo ${context.run_dir}\", capture: c%d, on_yes: s%d, on_no: end, "+
			"on_error: end}\n", s, s%100, (s+1)%largeStates)
	}
	t.WriteString("  end: {terminal: true}\n")
	return t.String()
}

// validate is the time to check the loops of a project, or of one made for a text.
func (b *bench) validate(text string) (float64, error) {
	project, err := b.project(text)
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(project)
	return b.program(project, "validate", loopName(text))
}

func (b *bench) validateCatalog(args ...string) (float64, error) {
	project, err := b.catalog()
	if err != nil {
		return 0, err
	}
	return b.program(project, append([]string{"validate"}, args...)...)
}
