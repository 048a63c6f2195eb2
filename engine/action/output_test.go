package action

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"loops/fsm"
)

var (
	_ fsm.Files  = Files{}
	_ fsm.Runner = (*Runner)(nil)
)

func TestKeeper(t *testing.T) {
	t.Parallel()
	text := func(limit int, parts ...string) (string, bool) {
		var k keeper
		k.reset(limit, int64(limit), nil, nil)
		for _, p := range parts {
			if err := k.add([]byte(p), []byte(p)); err != nil {
				t.Fatal(err)
			}
		}
		return k.text()
	}
	line := func(n int) string { return fmt.Sprintf("[%d bytes of output are missing here]\n", n) }
	for _, c := range []struct {
		name  string
		limit int
		parts []string
		want  string
		cut   bool
	}{
		{"nothing", 10, nil, "", false},
		{"all of it", 10, []string{"12345", "67890"}, "1234567890", false},
		{"all of it at once", 10, []string{"1234567890"}, "1234567890", false},
		{"one too many", 10, []string{"1234567890", "1"}, "12345\n" + line(1) + "78901", true},
		{"one too many at once", 10, []string{"12345678901"}, "12345\n" + line(1) + "78901", true},
		{"in single bytes", 4, strings.Split("123456789", ""), "12\n" + line(5) + "89", true},
		{"pieces that go round", 8, []string{"abcd", "123", "456", "78"}, "abcd\n" + line(4) + "5678", true},
		{"at line ends", 16, []string{"one\ntwo\nthree\nfour\nfive\n"}, "one\ntwo\n" + line(11) + "five\n", true},
		{"between characters", 8, []string{"abcääääefgh"}, "abc\n" + line(8) + "efgh", true},
		{"inside characters", 12, []string{"abcde€zzz€€€xyz"}, "abcde\n" + line(12) + "€xyz", true},
		{"a limit of nothing", 1, []string{"abc"}, line(3), true},
	} {
		if got, cut := text(c.limit, c.parts...); got != c.want || cut != c.cut {
			t.Errorf("%s: %q, %v; want %q, %v", c.name, got, cut, c.want, c.cut)
		}
	}
}

func TestFullOutputFile(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	dir := filepath.Join(r.RunDir, "output")
	step := func(n int, change func(*fsm.Action)) fsm.Result {
		a := shell(zeros(n))
		a.Step, a.State = 7, "make it/all"
		change(&a)
		return do(t, r, a)
	}
	none := func(*fsm.Action) {}
	for _, c := range []struct {
		name   string
		size   int
		change func(*fsm.Action)
		file   string
	}{
		{"short", fileFrom, none, ""},
		{"long", fileFrom + 1, none, "000007-make_it_all.out"},
		{"long again", fileFrom + 1, none, "000007-make_it_all~1.out"},
		{"kept", 3, func(a *fsm.Action) { a.Keep = true; a.Attempt = 2 }, "000007-make_it_all-2.out"},
		{"kept, empty", 0, func(a *fsm.Action) { a.Keep = true; a.Attempt = 3 }, "000007-make_it_all-3.out"},
		{"over the cap", 1<<20 + 500000, func(a *fsm.Action) { a.Step = 1234567 }, "1234567-make_it_all.out"},
	} {
		res := step(c.size, c.change)
		want := ""
		if c.file != "" {
			want = filepath.Join(dir, c.file)
			if b, err := os.ReadFile(res.File); err != nil || string(b) != strings.Repeat("0", c.size) {
				t.Errorf("%s: the file has %d bytes, %v; want %d", c.name, len(b), err, c.size)
			}
		}
		if res.File != want || res.Bytes != int64(c.size) || res.Truncated != (c.size > 1<<20) {
			t.Errorf("%s: file %q, %d bytes, cut %v; want %q, %d", c.name, res.File, res.Bytes, res.Truncated, want,
				c.size)
		}
	}
}

// The file of the output holds its bytes, whenever it is made; the text that the run remembers is UTF-8 with \n
// as line end.
func TestFileHoldsTheBytesOfTheOutput(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	for _, c := range []struct {
		name, script string
		keep         bool
		raw, text    string
	}{
		{"short", `printf 'a\r\nb\377\n'; echo err >&2`, true, "a\r\nb\xff\n", "a\nb\uFFFD\n"},
		{"ends inside of a character", `printf 'a\r'; printf 'b\342\202'`, true, "a\rb\xe2\x82", "a\nb\uFFFD"},
		{
			"long", `for i in $(seq 10000); do printf 'ab\r\ncd\376'; done`, false,
			strings.Repeat("ab\r\ncd\xfe", 10000), strings.Repeat("ab\ncd\uFFFD", 10000),
		},
		{"text, then bytes", `seq 3000; printf '\377\r\n'; seq 30000`, false, numbers(3000) + "\xff\r\n" +
			numbers(30000), numbers(3000) + "\uFFFD\n" + numbers(30000)},
	} {
		a := shell(c.script)
		a.Keep = c.keep
		res := do(t, r, a)
		if b, err := os.ReadFile(res.File); err != nil || string(b) != c.raw {
			t.Errorf("%s: the file holds %d bytes, want %d: %.40q, %v", c.name, len(b), len(c.raw), b, err)
		}
		if res.Stdout != c.text || res.Bytes != int64(len(c.text)) {
			t.Errorf("%s: %d bytes of text, want %d: %.40q", c.name, res.Bytes, len(c.text), res.Stdout)
		}
	}
}

// zeros returns a script that prints n zeros.
func zeros(n int) string {
	if n == 0 {
		return "true"
	}
	return fmt.Sprintf("printf %%0%dd 0", n)
}

// numbers returns what seq prints.
func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintln(&b, i+1)
	}
	return b.String()
}

func TestLongErrorsGoToAFile(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	r.Cap = 1000
	res := do(t, r, shell("seq 1000 >&2; echo out"))
	name := filepath.Join(r.RunDir, "output", "000001-a.err")
	b, err := os.ReadFile(name)
	if err != nil || len(b) != 3893 || !strings.HasSuffix(string(b), "\n1000\n") {
		t.Errorf("the file has %d bytes, %v", len(b), err)
	}
	if len(res.Stderr) > 1000+200+len(name) ||
		!strings.Contains(res.Stderr, "bytes of output are missing here; the full text is in "+name+"]\n") ||
		!strings.HasPrefix(res.Stderr, "1\n2\n") || !strings.HasSuffix(res.Stderr, "\n1000\n") {
		t.Errorf("stderr %q", res.Stderr)
	}
	if res.Stdout != "out\n" || res.Truncated {
		t.Errorf("%+v", res)
	}
}

// 32 MB of output: the result is capped, the file is whole, memory is bounded.
func TestHugeOutput(t *testing.T) {
	// Not parallel: the test measures the memory of the process, of which garbage is no part.
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	runtime.GC()
	r := newRunner(t)
	const lines = 32 << 20 / 64
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var passed int64
	peak := uint64(0)
	n := 0
	res, err := r.Run(context.Background(), shell(fmt.Sprintf("yes %s | head -n %d", strings.Repeat("z", 63), lines)),
		func(s string) {
			passed += int64(len(s)) + 1
			if n++; n%100 == 0 {
				runtime.ReadMemStats(&after)
				peak = max(peak, after.HeapAlloc)
			}
		})
	if err != nil {
		t.Fatal(err)
	}
	if res.Bytes != 32<<20 || passed != 32<<20 || !res.Truncated || len(res.Stdout) > 1<<20+500 ||
		len(res.Stdout) < 1<<20-10000 {
		t.Errorf("%d bytes, %d passed on, cut %v, %d kept", res.Bytes, passed, res.Truncated, len(res.Stdout))
	}
	if grown := int64(peak) - int64(before.HeapAlloc); grown > 20<<20 {
		t.Errorf("memory grew by %d bytes", grown)
	}
	f, err := os.Open(res.File)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	got, want := sha256.New(), sha256.New()
	if _, err := f.WriteTo(got); err != nil {
		t.Fatal(err)
	}
	line := []byte(strings.Repeat("z", 63) + "\n")
	for range lines {
		want.Write(line)
	}
	if !bytes.Equal(got.Sum(nil), want.Sum(nil)) {
		t.Error("the file is not the output")
	}
}

// inOneWrite returns a script that writes the text in one write: bash's own printf writes each line, and
// between two lines there may be a pause.
func inOneWrite(text string) string {
	return "printf '" + text + "' > text; cat text"
}

func TestCallback(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, script string
		want         []string
	}{
		{"nothing", "true", nil},
		{"one piece", inOneWrite(`a\nb\n`), []string{"a\nb"}},
		{"unfinished line", "printf b", []string{"b"}},
		{"empty line", "echo", []string{""}},
		{"empty lines", inOneWrite(`\n\n\n`), []string{"\n\n"}},
		{"blanks are kept", "echo '  a  '", []string{"  a  "}},
		{"pause", "echo a;" + awaitSeen + "echo b", []string{"a", "b"}},
		{"pause inside a line", inOneWrite(`a\nb`) + ";" + awaitSeen + "printf 'c\\n'", []string{"a", "bc"}},
		{"pause after half a line", "printf a;" + awaitSeen + "echo b", []string{"ab"}},
		{"not errors", "echo err >&2", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRunner(t)
			show(t, r, func(j *job) bool { return len(j.lines.pend) > 0 && j.lines.whole == 0 })
			var got []string
			if _, err := r.Run(context.Background(), shell(c.script), func(s string) {
				got = append(got, s)
				write(t, r, "seen")
			}); err != nil {
				t.Fatal(err)
			}
			if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestCallbackComesWhileTheActionRuns(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	_, err := r.Run(context.Background(), shell("echo go; while [ ! -e seen ]; do sleep 0.01; done"), func(string) {
		if err := os.WriteFile(filepath.Join(r.Dir, "seen"), nil, 0o600); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestQuietIsNotPassedOn(t *testing.T) {
	t.Parallel()
	a := shell("echo hi")
	a.Quiet = true
	if _, err := newRunner(t).Run(context.Background(), a, func(s string) { t.Errorf("passed on: %q", s) }); err !=
		nil {
		t.Fatal(err)
	}
}

// The pieces of a fast stream are large and come apart; joined they are the output.
func TestCallbackBatches(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	var pieces []string
	var times []time.Time
	res, err := r.Run(context.Background(), shell("seq 100000"), func(s string) {
		times = append(times, time.Now())
		pieces = append(pieces, s)
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(pieces) - 2 { // the last piece does not wait: the action is over
		if after := times[i+1].Sub(times[i]); after < batchTime && len(pieces[i]) < batchSize-16 &&
			len(pieces[i+1]) < batchSize-16 {
			t.Errorf("piece %d of %d bytes was followed after %s", i+1, len(pieces[i]), after)
		}
	}
	if strings.Join(pieces, "\n")+"\n" != res.Stdout || res.Bytes != 588895 {
		t.Errorf("%d pieces do not make the output of %d bytes", len(pieces), res.Bytes)
	}
}

func TestLineWithoutEndIsPassedOnInPieces(t *testing.T) {
	t.Parallel()
	var total, largest int
	var pend int
	l := lines{out: func(s string) { total += len(s); largest = max(largest, len(s)) }}
	chunk := []byte(strings.Repeat("€", 20000))
	for range 100 {
		l.add(chunk, time.Time{})
		pend = max(pend, len(l.pend))
	}
	l.end()
	if total != 100*60000 || largest > longLine+60000 || pend > longLine+60000 {
		t.Errorf("%d bytes in pieces of up to %d, %d waiting", total, largest, pend)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	f := Files{Dir: t.TempDir()}
	if _, err := f.ReadFile("a"); !os.IsNotExist(err) {
		t.Errorf("missing file: %v", err)
	}
	if _, _, err := f.Stat("a"); !os.IsNotExist(err) {
		t.Errorf("missing file: %v", err)
	}
	for _, text := range []string{"one", "two!"} {
		if err := f.WriteFile("sub/dir/a", []byte(text)); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"sub/dir/a", filepath.Join(f.Dir, "sub/dir/a")} {
			if b, err := f.ReadFile(name); err != nil || string(b) != text {
				t.Errorf("%s holds %q, %v", name, b, err)
			}
			if at, n, err := f.Stat(name); err != nil || n != int64(len(text)) || time.Since(at) > time.Hour {
				t.Errorf("%s: %s, %d, %v", name, at, n, err)
			}
		}
	}
	var names []string
	_ = filepath.WalkDir(f.Dir, func(path string, d fs.DirEntry, _ error) error {
		if !d.IsDir() {
			names = append(names, filepath.Base(path))
		}
		return nil
	})
	if fmt.Sprint(names) != "[a]" {
		t.Errorf("left behind: %v", names)
	}
	if err := f.WriteFile("sub/dir/a/b", nil); err == nil {
		t.Error("a file served as a folder")
	}
}

func TestReadFileRefuses(t *testing.T) {
	t.Parallel()
	f := Files{Dir: t.TempDir()}
	name := func(n string) string { return filepath.Join(f.Dir, n) }
	sock, err := net.Listen("unix", name("sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sock.Close() }()
	err = errors.Join(syscall.Mkfifo(name("fifo"), 0o600), os.Symlink(os.DevNull, name("null")),
		os.WriteFile(name("long"), nil, 0o600), os.Truncate(name("long"), mostRead+1))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"":     "a directory, not a regular file",
		"fifo": "a FIFO, not a regular file",
		"null": "a device, not a regular file",
		"sock": "a socket, not a regular file",
		"long": "too long to be read whole: 67108865 bytes, and 64 MiB at most",
	} {
		_, err := f.ReadFile(name)
		var op *fs.PathError
		if !errors.As(err, &op) || op.Err.Error() != want || op.Path != filepath.Join(f.Dir, name) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if b, err := f.ReadFile("/proc/self/stat"); err != nil || len(b) == 0 {
		t.Errorf("a file without a size: %d bytes, %v", len(b), err)
	}
	if err := os.Truncate(name("long"), mostRead); err != nil {
		t.Fatal(err)
	}
	if b, err := f.ReadFile("long"); err != nil || len(b) != mostRead {
		t.Errorf("the longest file: %d bytes, %v", len(b), err)
	}
}

// Whatever is missing from a result is in a file.
func TestCutOutputIsAlwaysInAFile(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 2, 3, 1000, 1001, fileFrom, fileFrom + 1, 2 * fileFrom} {
		for _, more := range []int{-1, 0, 1, 2, 5000} {
			r := newRunner(t)
			r.Cap = limit
			n := max(0, limit+more)
			res := do(t, r, shell(zeros(n)))
			if res.Truncated != (n > limit/2*2) || res.Bytes != int64(n) {
				t.Errorf("%d bytes with a cap of %d: cut %v, %d bytes", n, limit, res.Truncated, res.Bytes)
			}
			if !res.Truncated {
				continue
			}
			if b, err := os.ReadFile(res.File); err != nil || string(b) != strings.Repeat("0", n) {
				t.Errorf("%d bytes with a cap of %d: file %q has %d bytes, %v", n, limit, res.File, len(b), err)
			}
			if !strings.Contains(res.Stdout, res.File) {
				t.Errorf("%d bytes with a cap of %d: the file is not named", n, limit)
			}
		}
	}
}

func TestWrittenByRunner(t *testing.T) {
	t.Parallel()
	for rel, want := range map[string]bool{
		"output/000001-a.out": true, "output/1000000-a-2~1.err": true, "output/000002+000001-a.out": true,
		"output/000002@2+000001-a.out": true,
		"env/LOOPS_CAPTURED_A":         true, "env/LOOPS_PREV_OUTPUT~1": true,
		"output/a.out": false, "output/000001.out": false, "output/12-a.out": false, "output/000001-a.txt": false,
		"output/000001-d/a.out": false, "out/000001-a.out": false,
		"000001-a.out": false, "output": false, "env/MINE": false, "env/LOOPS_CAPTURED_A/x": false,
	} {
		if got := WrittenByRunner(rel); got != want {
			t.Errorf("%s: %v", rel, got)
		}
	}
}
