package loopfile

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkLoad reads a loop of 10,000 states, as they are and each made from a fragment.
func BenchmarkLoad(b *testing.B) {
	var plain, made strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&plain, "  s%d:\n    action: |\n      set -eu\n      make step-%d\n    on_yes: s%d\n"+
			"    on_no: s0\n", i, i, i+1)
		fmt.Fprintf(&made, "  s%d: {fragment: gate, with: {n: %d}, on_yes: s%d}\n", i, i, i+1)
	}
	const head, end = "name: n\ndescription: d\ninitial: s0\n", "  s10000: {terminal: true}\n"
	dir := tree(b, map[string]string{
		"plain.yaml": head + "states:\n" + plain.String() + end,
		"made.yaml":  head + "import: [gates.yaml]\nstates:\n" + made.String() + end,
		"heir.yaml":  "from: plain\nstates:\n" + strings.ReplaceAll(plain.String(), "on_no: s0", "timeout: 5"),
		"gates.yaml": "fragments:\n  gate:\n    parameters: {n: {type: integer, required: true}}\n" +
			"    action: make step-${param.n}\n    on_no: s0\n",
	})
	for _, name := range []string{"plain", "made", "heir"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				load(b, &Loader{Loops: dir}, filepath.Join(dir, name+".yaml"))
			}
		})
	}
}

// BenchmarkLoadMany reads 100 loops that import one library, inherit from one file and run each other.
func BenchmarkLoadMany(b *testing.B) {
	files := map[string]string{
		"base.yaml":     "initial: s0\nmax_steps: 9\nstates: {done: {terminal: true}}\n",
		"lib/gate.yaml": "fragments:\n  gate: {action_type: shell, evaluate: {type: exit_code}}\n",
	}
	for i := range 100 {
		var s strings.Builder
		fmt.Fprintf(&s, "name: loop%d\ndescription: Does something.\nfrom: base\nimport: [lib/gate.yaml]\n"+
			"parameters: {goal: {type: string}}\nstates:\n  child: {loop: loop%d, with: {goal: x}, on_yes: done}\n",
			i, (i+1)%100)
		for n := 0; s.Len() < 10_000; n++ {
			fmt.Fprintf(&s, "  s%d:\n    fragment: gate\n    action: |\n      set -euo pipefail\n"+
				"      echo \"${context.goal} $${x}\" | tee out.txt\n    on_yes: s%d\n    on_no: child\n", n,
				max(0, n-1))
		}
		files[fmt.Sprintf("loop%d.yaml", i)] = s.String()
	}
	dir := tree(b, files)
	for b.Loop() {
		l := &Loader{Loops: dir}
		for i := range 100 {
			load(b, l, filepath.Join(dir, fmt.Sprintf("loop%d.yaml", i)))
		}
	}
}
