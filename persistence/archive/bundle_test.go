package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"loops/fsm"
	"loops/fsm/value"
	"loops/persistence"
	"loops/persistence/dirstore"
	"loops/persistence/storetest"
)

// recorded makes a run with a file in its working folder.
func recorded(t *testing.T) (*dirstore.Store, persistence.Run, string) {
	t.Helper()
	d, err := dirstore.Open(filepath.Join(t.TempDir(), ".loops"))
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 21, 10, 34, 5, 123456000, time.UTC)
	j, err := d.Create(t.Context(), persistence.Spec{
		Loop: "fix", Definition: []byte("name: fix\n"), StartedAt: at,
		Options: value.NewMap("max_steps", int64(5)),
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &fsm.Snapshot{
		Loop: "fix", Phase: fsm.PhaseActing, Current: "a", Step: 1, StartedAt: at,
		Captured: value.NewMap("long", strings.Repeat("é", 50000)), Context: value.NewMap(),
	}
	work := j.Dir()
	err = errors.Join(
		j.Record(t.Context(),
			&fsm.Batch{
				Snapshot: s, Checkpoint: true,
				Events: []fsm.Event{{Kind: "state_enter", Time: at}, {Kind: "action_output", Time: at}},
			}),
		os.Mkdir(filepath.Join(work, "out"), 0o755),
		os.WriteFile(filepath.Join(work, "out", "kept é"), []byte("content"), 0o755),
		os.Symlink("/etc/passwd", filepath.Join(work, "link")), j.Close(t.Context()),
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []persistence.Command{
		{Kind: persistence.CommandPause, Segment: persistence.AnySegment},
		{Kind: "answer", Segment: persistence.AnySegment, Args: value.NewMap("text", "é")},
	} {
		if _, err := d.Send(t.Context(), j.Run().ID, c); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := d.Runs(t.Context(), persistence.Query{})
	if err != nil || len(runs) != 1 {
		t.Fatal(err, len(runs))
	}
	return d, runs[0], work
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	d, run, work := recorded(t)
	undo := filepath.Join(t.TempDir(), "undo")
	if err := os.WriteFile(undo, []byte("snapshots"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, z := range []bool{true, false} {
		if !z {
			undo = ""
		}
		var b bytes.Buffer
		w, err := Write(t.Context(), &b, z, d, run, work, undo, nil)
		if err != nil || w.Files != 1 || len(w.Left) != 1 || filepath.Base(w.Left[0]) != "link" {
			t.Fatalf("%+v, %v", w, err)
		}
		got, err := Open(t.Context(), &b, t.TempDir(), DefaultLimit)
		if err != nil || got.Files != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
		if sum, err := persistence.Sum(t.Context(), got, got.Run); err != nil || sum != w.Digest {
			t.Errorf("%v, %v, want %v", sum, err, w.Digest)
		}
		if text, _ := os.ReadFile(got.Undo()); (got.Undo() != "") != z || z && string(text) != "snapshots" {
			t.Errorf("the snapshots are in %q: %q", got.Undo(), text)
		}
		kept := filepath.Join(got.Work(), "out", "kept é")
		if text, err := os.ReadFile(kept); err != nil || string(text) != "content" {
			t.Errorf("%q, %v", text, err)
		}
		if st, err := os.Stat(kept); err != nil || st.Mode().Perm()&0o100 == 0 {
			t.Errorf("it cannot be executed any more: %v", err)
		}
		to := storetest.NewMemory()
		if _, err := persistence.Copy(t.Context(), got, to, got.Run); err != nil {
			t.Error(err)
		}
	}
}

// TestDamaged cuts an archive at every byte, and flips a bit of every one: none is read as if it was whole.
func TestDamaged(t *testing.T) {
	t.Parallel()
	d, run, work := recorded(t)
	for _, z := range []bool{true, false} {
		var whole bytes.Buffer
		if _, err := Write(t.Context(), &whole, z, d, run, work, "", nil); err != nil {
			t.Fatal(err)
		}
		text := whole.Bytes()
		want, _ := persistence.Sum(t.Context(), d, run)
		try := func(what string, b []byte) {
			t.Helper()
			got, err := Open(t.Context(), bytes.NewReader(b), t.TempDir(), DefaultLimit)
			if err != nil {
				if _, ok := errors.AsType[*Error](err); !ok {
					t.Errorf("%s: error is %T: %v", what, err, err)
				}
				return
			}
			if sum, err := persistence.Sum(t.Context(), got, got.Run); err != nil || sum != want {
				t.Errorf("%s: it is read, but not as it was: %v", what, err)
			}
		}
		for n := 0; n < len(text)-16; n += 7 {
			if _, err := Open(t.Context(), bytes.NewReader(text[:n]), t.TempDir(), DefaultLimit); err == nil {
				t.Errorf("zstd %v: cut at %d, and no error", z, n)
			}
			b := bytes.Clone(text)
			b[n] ^= 1 << (n % 8)
			try(fmt.Sprintf("zstd %v: bit of byte %d", z, n), b)
		}
	}
}

// part is one entry of an archive made by hand.
type part struct {
	tar.Header
	text string
}

func file(name, text string) part { return part{tar.Header{Typeflag: tar.TypeReg, Name: name}, text} }

// pack writes an archive with right checksums of its parts, unless one of them is SHA256SUMS.
func pack(t *testing.T, parts []part) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	var sums strings.Builder
	own := false
	for _, p := range parts {
		if p.Mode = 0o644; p.Typeflag == tar.TypeReg && p.Size == 0 {
			p.Size = int64(len(p.text))
		}
		if err := w.WriteHeader(&p.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, p.text); err != nil {
			t.Fatal(err)
		}
		own = own || p.Name == sumsFile
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256([]byte(p.text)), p.Name)
	}
	if !own {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: sumsFile, Size: int64(sums.Len())}); err ==
			nil {
			_, _ = io.WriteString(w, sums.String())
		}
	}
	_ = w.Close() // one that says more than it holds
	_ = z.Close()
	return b.Bytes()
}

func TestRefused(t *testing.T) {
	t.Parallel()
	d, run, work := recorded(t)
	var whole bytes.Buffer
	if _, err := Write(t.Context(), &whole, true, d, run, work, "", nil); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := Open(t.Context(), bytes.NewReader(whole.Bytes()), dir, DefaultLimit); err != nil {
		t.Fatal(err)
	}
	var good []part
	for _, name := range []string{runFile, definitionFile, memoryFile, eventsFile, commandsFile} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		good = append(good, file(name, string(b)))
	}
	changed := func(n int, from, to string) []part {
		ps := append([]part{}, good...)
		if !strings.Contains(ps[n].text, from) {
			t.Fatalf("%s has no %q", ps[n].Name, from)
		}
		ps[n] = file(ps[n].Name, strings.Replace(ps[n].text, from, to, 1))
		return ps
	}
	plus := func(ps ...part) []part { return append(append([]part{}, good...), ps...) }
	link := func(kind byte, name, to string) part {
		return part{tar.Header{Typeflag: kind, Name: name, Linkname: to}, ""}
	}
	bomb := &bytes.Buffer{}
	zw, _ := zstd.NewWriter(bomb)
	tw := tar.NewWriter(zw)
	_ = tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "work/zeros", Size: 64 << 20})
	_, _ = tw.Write(make([]byte, 64<<20))
	_, _ = tw.Close(), zw.Close()
	for _, c := range []struct {
		name string
		b    []byte
		want string
	}{
		{"nothing", nil, "it is empty"},
		{"text", []byte("name: fix\n"), "compressed neither with zstd nor with gzip"},
		{"no run", pack(t, []part{file("work/a", "x")}), `"run.json" is missing in it`},
		{"no checksums", pack(t, plus(file(sumsFile, ""))), `"commands.jsonl" is not listed in SHA256SUMS`},
		{"checksums of nonsense", pack(t, plus(file(sumsFile, "hello\n"))), `SHA256SUMS is damaged: "hello"`},
		{"a checksum of nothing", pack(t, plus(file(sumsFile, "00  work/gone\n"))), `"work/gone" is missing in it`},
		{"a wrong checksum", pack(t, plus(file(sumsFile, "00  run.json\n"))), `"run.json" is damaged: its checksum`},
		{"up", pack(t, plus(file("work/../../../etc/passwd", "x"))), `leads out of the archive`},
		{"absolute", pack(t, plus(file("/etc/passwd", "x"))), `"/etc/passwd" leads out of the archive`},
		{"not clean", pack(t, plus(file("work//a", "x"))), "is not a valid name"},
		{"backslash", pack(t, plus(file(`work/..\a`, "x"))), "is not a valid name"},
		{"elsewhere", pack(t, plus(file(".running/fix.pid", "1"))), "does not belong into the archive"},
		{"of the store", pack(t, plus(file("work/definition.yaml", "1"))), "only a store may use"},
		{"blob of the store", pack(t, plus(file("work/blobs/00", "1"))), "only a store may use"},
		{"symlink", pack(t, plus(link(tar.TypeSymlink, "work/a", "/etc/passwd"))), `"work/a" is no regular file`},
		{
			"behind a symlink", pack(t, plus(link(tar.TypeSymlink, "work/a", "/tmp"), file("work/a/b", "x"))),
			`"work/a" is no regular file`,
		},
		{"hard link", pack(t, plus(link(tar.TypeLink, "work/a", "run.json"))), `"work/a" is no regular file`},
		{"device", pack(t, plus(link(tar.TypeChar, "work/a", ""))), `"work/a" is no regular file`},
		{"twice", pack(t, plus(file("work/a", "x"), file("work/a", "y"))), `"work/a" is in it twice`},
		{
			"file and folder", pack(t, plus(file("work/a", "x"), file("work/a/b", "y"))),
			`"work/a/b" is both a file and a folder`,
		},
		{
			"a size that is not there",
			pack(t, plus(part{tar.Header{Typeflag: tar.TypeReg, Name: "work/a", Size: 1 << 50}, "x"})),
			"holds more than 33554432 bytes",
		},
		{"a bomb", bomb.Bytes(), "holds more than 33554432 bytes"},
		{"no object", pack(t, append([]part{file(runFile, "[]")}, good[1:]...)), "run.json is no JSON object"},
		{
			"of tomorrow", pack(t, changed(0, `"format": 1`, `"format": 2`)),
			"a newer version of loops wrote it, in format 2, and this version reads format 1: use the newer version",
		},
		{
			"memory of tomorrow", pack(t, changed(2, `"captured": {`, `"format": 3, "captured": {`)),
			"a newer version of loops wrote it, in format 3, and this version reads format 2: use the newer version",
		},
		{
			"memory with more in it",
			pack(t, append(changed(0, `"digest": "`, `"digest": "0`)[:2:2],
				changed(2, `"captured": {`, `"moods": {"a": 1}, "captured": {`)[2:]...)),
			"a newer version of loops wrote it: this version does not know memory.json: moods; use the newer version",
		},
		{
			"more of the run that counts", pack(t, changed(0, `"state": "a"`, `"mood": "good", "state": "b"`)),
			"a newer version of loops wrote it: this version does not know run.json: mood; use the newer version",
		},
		{
			"a field of another kind", pack(t, changed(0, `"step": 1`, `"step": "1"`)),
			"run.json: step is missing, or of the wrong kind",
		},
		{"an id that leads away", pack(t, changed(0, `"id": "fix-`, `"id": "../fix-`)), "run.json names no run"},
		{"another status", pack(t, changed(0, `"state": "a"`, `"state": "b"`)), "its parts do not belong together"},
		{"another event", pack(t, changed(3, "state_enter", "state_leave")), "its parts do not belong together"},
		{"a gap", pack(t, changed(3, `"seq": 1`, `"seq": 3`)), "events.jsonl is damaged in line 1: its number is 3"},
		{"no event", pack(t, changed(3, "{", "")), "events.jsonl is damaged in line 1"},
		{"no command", pack(t, changed(4, "pause", "stop")), "commands.jsonl is damaged in line 1"},
		{"commands left out", pack(t, good[:4]), "its parts do not belong together"},
		{"no memory", pack(t, changed(2, "{", "")), "memory.json is damaged"},
		{
			"a text elsewhere",
			pack(t, changed(2, `"captured": {`, `"captured": {"x": {"$blob": "`+strings.Repeat("0", 64)+
				`", "bytes": 5}, `)), "memory.json is damaged",
		},
	} {
		to := t.TempDir()
		_, err := Open(t.Context(), bytes.NewReader(c.b), to, 32<<20)
		if _, ok := errors.AsType[*Error](err); !ok || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}
