package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestManyStarts: a loop is started again and again, by several at once and faster than one a second, which is how fine
// ids are. Each run is kept, under an id of its own. `make torture` does it 1,000 times.
func TestManyStarts(t *testing.T) {
	t.Parallel()
	const lanes = 4
	each := 5
	if *torture {
		each = 250
	}
	for _, store := range stores {
		t.Run(storeName(store), func(t *testing.T) {
			t.Parallel()
			d := crashDir{t.TempDir(), store}
			must(t, os.Mkdir(filepath.Join(d.cwd, ".loops"), 0o755))
			for lane := range lanes { // the same loop, on other files each
				loop := fmt.Sprintf("name: quick\ndescription: ends at once\nscope: [lane%d]\ninitial: done\n"+
					"states:\n  done: {terminal: true}\n", lane)
				must(t, os.WriteFile(filepath.Join(d.cwd, fmt.Sprintf("lane%d.yaml", lane)), []byte(loop), 0o644))
			}
			for range each {
				var started [lanes]crashProcess
				for lane := range lanes {
					started[lane] = d.startInto(t, fmt.Sprintf("err%d", lane), "run",
						fmt.Sprintf("lane%d.yaml", lane), "--quiet")
				}
				for lane, p := range started {
					if code := p.end(t, 0); code != 0 {
						t.Fatalf("run exits with %v: %s", code,
							readText(t, filepath.Join(d.cwd, fmt.Sprintf("err%d", lane))))
					}
				}
			}
			d.copyToFiles(t)
			states, logs := visible(d.cwd, ".loops/.history/*/state.json"),
				visible(d.cwd, ".loops/.history/*/events.jsonl")
			folders, left := visible(d.cwd, ".loops/runs/*"), visible(d.cwd, ".loops/.running/*")
			if n := lanes * each; len(states) != n || len(logs) != n || len(folders) != n || len(left) > 0 {
				t.Errorf("%d states, %d event files, %d working folders of %d runs; live files: %v", len(states),
					len(logs), len(folders), n, left)
			}
		})
	}
}
