package loopfile

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestShownPositions reads a loop by its absolute path: places inside messages are written as in the project.
func TestShownPositions(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		".loops/base.yaml": "name: base\ndescription: d\ninitial: s\nmax_step: 3\nstates:\n  s: {next: done}\n" +
			"  done: {terminal: true}\n",
		".loops/kid.yaml": "from: base\nname: kid\n",
	})
	for loops, want := range map[string]string{
		filepath.Join(dir, ".loops"): `did you mean "max_steps"? (inherited by ` +
			filepath.Join(".loops", "kid.yaml") + ":1:7)",
		"": `did you mean "max_steps"? (inherited by kid.yaml:1:7)`,
	} {
		_, problems, err := (&Loader{Loops: loops}).Load(filepath.Join(dir, ".loops", "kid.yaml"))
		if err != nil || len(problems) != 1 || !strings.HasSuffix(problems[0].Message, want) {
			t.Errorf("%v %v, want %s", err, problems, want)
		}
	}
}
