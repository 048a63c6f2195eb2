package cli

import (
	"fmt"
	"testing"
)

// Many loops are checked at once, and what is wrong with a library they share is reported once.
func TestCheckAll(t *testing.T) {
	files := map[string]string{".loops/lib/parts.yaml": "fragments:\n  one: {action: 'echo ${messages:sehll}', on_error: failed}\n"}
	const n = 40
	for i := range n {
		files[fmt.Sprintf(".loops/loop%d.yaml", i)] = fmt.Sprintf(`name: loop%d
description: a test
import: [lib/parts.yaml]
initial: a
states:
  a: {fragment: one, on_yes: b, on_no: b}
  b: {loop: loop%d, on_yes: done, on_no: failed, on_error: failed}
  done: {terminal: true}
  failed: {terminal: true}
`, i, (i+7)%n)
	}
	lib := shelf(t, "", files)
	checkedFiles, others, err := checkAllLoops(lib, nil)
	if err != nil || len(checkedFiles) != n || len(others) != 0 {
		t.Fatalf("%d files, %v, %v", len(checkedFiles), others, err)
	}
	for _, c := range checkedFiles {
		if c.failure != nil || len(c.problems) == 0 {
			t.Fatalf("%s: %v, %d problems", c.name, c.failure, len(c.problems))
		}
	}
	own := len(checkedFiles[0].problems)
	if r := newFindings(checkedFiles, nil, nil, false); len(r.problems) < own || len(r.problems) >= n*own {
		t.Errorf("%d problems of %d loops with %d each", len(r.problems), n, own)
	}
}
