package git

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// After any changes to files, links, modes, folders and what is ignored, a walk has the tree that git makes of
// the folder with an index of its own.
func TestWalkAgreesWithGit(t *testing.T) {
	t.Parallel()
	seeds, steps := 8, 25
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			p := newPlot(t, true)
			p.sh("echo '* -text -filter -ident' > .git/info/attributes")
			defer p.walk.Close()
			r := rand.New(rand.NewPCG(uint64(seed), 1)) //nolint:gosec // the same each time
			for n := range steps {
				var did []string
				for range 1 + r.IntN(4) {
					did = append(did, p.scribble(r))
				}
				tree := p.tree()
				want := strings.TrimSpace(
					p.run("bash", "-c", "GIT_INDEX_FILE=.git/own git add -A . && GIT_INDEX_FILE=.git/own "+
						"git write-tree"))
				if tree != want {
					t.Fatalf("step %d: %s\nfrom the tree of git to that of the walk: %s\nignored:\n%s", n,
						strings.Join(did, "; "), p.changes(want, tree),
						p.run("bash", "-c", "find . -name .gitignore -not -path './.git/*' | xargs -r tail -n 20 --"))
				}
			}
		})
	}
}

// scribble changes something in the folder, and says what.
func (p *plot) scribble(r *rand.Rand) string {
	p.t.Helper()
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	path := pick("", "", "x/", "x/y/", "build/", "x/build/", "é \"q\"/", "logs/") +
		pick("a", "b.log", "c.o", "build", "y", "-n", ":(top)z", "*", " t ", "new\nline")
	full := filepath.Join(p.dir, path)
	// it may be refused: a file is in the way
	try := func(what string, err error) string { return fmt.Sprintf("%s %q (%v)", what, path, err) }
	switch r.IntN(10) {
	case 0, 1, 2, 3:
		_ = os.MkdirAll(filepath.Dir(full), 0o755)
		return try("write", os.WriteFile(full, fmt.Append(nil, r.IntN(1000)), 0o644))
	case 4:
		path = pick("", "x/", "x/y/", "build/") + ".gitignore"
		full = filepath.Join(p.dir, path)
		text := ""
		for range r.IntN(4) {
			text += pick("*.log", "build/", "!b.log", "/a", "x/**", "*", "!*/", "!.gitignore", "y", "/x/y/", "logs/*",
				"*.[oa]", "!c.o") + "\n"
		}
		_ = os.MkdirAll(filepath.Dir(full), 0o755)
		return try("ignore "+text, os.WriteFile(full, []byte(text), 0o644))
	case 5:
		return try("remove", os.RemoveAll(full))
	case 6:
		path = pick("x", "x/y", "build", "logs", "x/.gitignore")
		return try("remove", os.RemoveAll(filepath.Join(p.dir, path)))
	case 7:
		_ = os.Remove(full)
		return try("link", os.Symlink(pick("a", "x", "nowhere"), full))
	case 8:
		return try("mode", os.Chmod(full, os.FileMode(0o644|r.IntN(2)*0o111))) //nolint:gosec // both are meant
	}
	to := filepath.Join(p.dir, pick("x", "moved", "build", "x/y"))
	return try("rename to "+to, os.Rename(full, to))
}
