package action

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loops/internal/testenv"
)

// grown makes files, folders (NAME/) and links (NAME>TARGET) in a new folder.
func grown(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		name, target, link := strings.Cut(name, ">")
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		var err error
		switch {
		case link:
			err = os.Symlink(target, path)
		case strings.HasSuffix(name, "/"):
			err = os.Mkdir(path, 0o777)
		default:
			err = os.WriteFile(path, nil, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestGlob(t *testing.T) {
	t.Parallel()
	dir := grown(t, "in/x\nprecious.txt", "in/cr\r.txt", "in/b.txt", "in/B.txt", "in/é.txt", "in/.hidden.txt",
		"in/sub/deep/c.txt", "in/gone>nowhere", "in/dir>sub", "in/far>../app/s",
		"in/.config/d.txt", "app/[slug]/page.ts", "app/s/page.ts", "app/*.ts", "app/a{b,c}.ts", "app/ab.ts",
		"app/ac.ts", `app/a\.ts`, "app/a b.ts", "app/~", "app/$HOME.ts", "empty/")
	for _, c := range []struct{ pattern, want string }{
		{"in/*.txt", "in/B.txt|in/b.txt|in/cr\r.txt|in/x\nprecious.txt|in/é.txt"},
		{"in/?.txt", "in/B.txt|in/b.txt|in/é.txt"},
		{"in/[a-cé].txt", "in/b.txt|in/é.txt"},
		{"in/[!b].txt", "in/B.txt|in/é.txt"},
		{"in/[^b].txt", "in/B.txt|in/é.txt"},
		{"in/[[:upper:]].txt", "in/B.txt"},
		{"in/.*", "in/.config|in/.hidden.txt"},
		{"in/g*", "in/gone"},
		{"in/gone", "in/gone"},
		{"in/*/c.txt", ""},
		{"in/*/deep", "in/dir/deep|in/sub/deep"}, // links to folders are followed where the pattern has them
		{"in/**/c.txt", "in/sub/deep/c.txt"},
		{"in/**/deep", "in/sub/deep"}, // ** does not follow them
		{"in/**/d.txt", ""},
		{"in/.c*/*", "in/.config/d.txt"},
		{"in/sub/**", "in/sub/|in/sub/deep|in/sub/deep/c.txt"},
		{"**/**/c.txt", "in/sub/deep/c.txt"},
		{"in/*/", "in/dir/|in/far/|in/sub/"},
		{"./in/b*", "./in/b.txt"},
		{"in//b*", "in/b.txt"},
		// .. of the folder that the link leads to
		{"in/far/../a?.ts", `in/far/../a\.ts|in/far/../ab.ts|in/far/../ac.ts`},
		{"in/{b,c*,nope}.txt", "in/b.txt|in/cr\r.txt"},
		{"{in,app}/{s,{sub,x}}", "app/s|in/sub"},
		{"in/{b.txt,b*}", "in/b.txt"},
		{"in/{b}.txt", ""},
		{"in/[b", ""},
		{"app/[slug]/page.ts", "app/s/page.ts"},
		{`app/\[slug\]/*`, "app/[slug]/page.ts"},
		{`app/\*.*`, "app/*.ts"},
		{`app/a\{b\,c\}.t*`, "app/a{b,c}.ts"},
		{`app/a\\.*`, `app/a\.ts`},
		{"app/a b.*", "app/a b.ts"},
		{"app/$HOME.*", "app/$HOME.ts"},
		{"~/*", ""},
		{"empty/*", ""},
		{"nowhere/*", ""},
		{"in/b.txt/*", ""},
		{"", ""},
	} {
		got, err := Files{Dir: dir}.Glob(t.Context(), "", c.pattern)
		if err != nil || strings.Join(got, "|") != c.want {
			t.Errorf("%s: %q, %v, want %q", c.pattern, got, err, c.want)
		}
	}
	got, err := Files{Dir: dir}.Glob(t.Context(), "app", "s/*")
	if err != nil || !slices.Equal(got, []string{"s/page.ts"}) {
		t.Errorf("in app: %q, %v", got, err)
	}
	got, err = Files{}.Glob(t.Context(), dir, dir+"/app/s/*")
	if err != nil || !slices.Equal(got, []string{dir + "/app/s/page.ts"}) {
		t.Errorf("absolute: %q, %v", got, err)
	}
}

func TestGlobErrors(t *testing.T) {
	t.Parallel()
	dir := grown(t, "in/a", "bad/b\xff")
	for _, c := range []struct{ dir, pattern, want string }{
		{"", "bad/*", `the name "bad/b\xff" is not UTF-8, so it cannot be an item; rename it`},
		{"", "**/b*", `the name "bad/b\xff" is not UTF-8, so it cannot be an item; rename it`},
		{"nowhere", "*", "no such file or directory"},
		{"", "in/[b-a]", "[b-a] is no pattern: "},
		{"", "in/{1..3}", "the pattern has {1..3}, and braces have names in them"},
		{"", strings.Repeat("{a,b}", 20), "stand for more than 10000 patterns"},
	} {
		got, err := Files{Dir: dir}.Glob(t.Context(), c.dir, c.pattern)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q, %v, want the error %q", c.pattern, got, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Files{Dir: dir}).Glob(ctx, "", "in/*"); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
}

// TestGlobAsBash compares patterns made by chance with what bash finds where no link leads to a folder: into
// those bash looks with x/**/y and not with **/y.
func TestGlobAsBash(t *testing.T) {
	t.Parallel()
	dir := grown(t, "a", "b/a", "b/.a", "b/b/a", "b/b/ab", ".b/a", ".a", "ab", "a.b", "ba/b.a", "-", "b/-", "b/l/a",
		"b/b/n>nowhere", "l>nowhere", "a]", "^", "!")
	random := rand.New(rand.NewPCG(34, 11))
	pieces := []string{
		"a", "b", "a", "b", "l", ".", "*", "*", "**", "?", "/", "/", "/", "[ab]", "[!a]", "[^b]",
		"[a-b]", "[]a]", "[-a]", "[", "]", "{a,b}", "{a*,b/*}", "{.,b}", "-", "!", "^",
	}
	var patterns []string
	count := 300
	if *testenv.Torture {
		count = 3000
	}
	for range count {
		p := ""
		for range 1 + random.IntN(6) {
			if piece := pieces[random.IntN(len(pieces))]; piece != "/" || p != "" && !strings.HasSuffix(p, "/") {
				p += piece
			}
		}
		patterns = append(patterns, p)
	}
	var script strings.Builder
	script.WriteString("shopt -s nullglob globstar; export LC_ALL=C\n")
	for _, p := range patterns {
		script.WriteString("for f in " + strings.ReplaceAll(p, "!", `\!`) +
			`; do if [ -e "$f" ] || [ -L "$f" ]; then printf '%s\n' "$f"; fi; done; echo =` + "\n")
	}
	cmd := exec.CommandContext(t.Context(), "bash", "--norc")
	cmd.Stdin = strings.NewReader(strings.ReplaceAll(script.String(), `[\!`, "[!"))
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH")}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	found := strings.Split(string(out), "=\n")
	for i, p := range patterns {
		want := strings.Fields(found[i])
		got, err := Files{Dir: dir}.Glob(t.Context(), "", p)
		for _, list := range [][]string{got, want} {
			for i, name := range list {
				// bash writes the slash of the folder before ** where no wildcard is before it
				if strings.HasSuffix(p, "**") {
					list[i] = strings.TrimSuffix(name, "/")
				}
			}
		}
		slices.Sort(want)
		want = slices.Compact(want)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, bash has %q", p, got, err, want)
		}
	}
}
