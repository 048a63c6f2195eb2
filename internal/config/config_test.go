package config

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"loops/internal/host"
)

var update = flag.Bool("update", false, "rewrite the expected files")

// TestParse reads testdata/*.yaml. What comes out is in the .out beside each: the hosts, or every mistake.
func TestParse(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if c, err := Parse(filepath.Base(file), data); err != nil {
				got = err.Error() + "\n"
			} else {
				got = show(t, c)
			}
			out := strings.TrimSuffix(file, ".yaml") + ".out"
			if *update {
				if err := os.WriteFile(out, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

// show starts every host in thought and hands it a line.
func show(t *testing.T, c *Config) string {
	t.Helper()
	var b strings.Builder
	for _, h := range c.Hosts {
		fmt.Fprintf(&b, "%s: %s, stopped by %s\n", h.Name, h.Program, map[syscall.Signal]string{syscall.SIGTERM: "TERM", syscall.SIGINT: "INT"}[h.Stop])
		for _, r := range []host.Request{
			{Text: "hi", Scratch: t.TempDir()},
			{Text: "hi", Model: "m", Skip: true, Session: "s", Judge: true, Schema: "{}", Scratch: t.TempDir()},
		} {
			cmd, err := h.Command(r)
			if err != nil {
				fmt.Fprintf(&b, "  error %v\n", err)
				continue
			}
			fmt.Fprintf(&b, "  %q %q", cmd.Args, cmd.Stdin)
			for _, e := range cmd.Env {
				if strings.HasPrefix(e, "MINE") {
					fmt.Fprintf(&b, " %s", e)
				}
			}
			fmt.Fprintln(&b)
		}
		s := h.Stream(host.Request{})
		text, known := s.Line([]byte(`{"type":"message","text":"hello","id":"s-1","tokens":{"in":3,"out":4}}`))
		o := s.End(host.Exit{})
		fmt.Fprintf(&b, "  %q %t %q %+v %s\n", text, known, o.Session, o.Usage, o.Coverage)
	}
	return b.String()
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	if c, err := Load(filepath.Join(dir, Name)); err != nil || len(c.Hosts) != 0 {
		t.Errorf("a file that is not there: %v, %v", c, err)
	}
	if _, err := Load(dir); err == nil {
		t.Error("a folder is read as a file")
	}
	file := filepath.Join(dir, Name)
	for text, want := range map[string]string{
		"hosts: {a: {program: \xff}}":    "the file is not UTF-8 text",
		"# " + strings.Repeat("x", most): "the file has more than 1 MiB",
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(file); err == nil || err.Error() != file+": "+want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.yaml")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("f", data)
		if (c == nil) == (err == nil) {
			t.Error("neither a config nor an error")
		}
	})
}
