package config

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A key is read from a variable or a file, and the error why it cannot be read names only the place.
func TestSecret(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := &Config{}
	text := "webhooks: {a: {secret_file: key, run: fix}}\nnotify: [{webhook: 'https://example.org', " +
		"secret_file: ~/other}]"
	if wrong := (layer{file: "f", dir: dir, home: "/home/ann"}).parse([]byte(text), c); wrong != nil {
		t.Fatal(wrong)
	}
	if got, want := c.Webhooks[0].Secret, (Secret{File: filepath.Join(dir, "key")}); got != want ||
		got.String() != want.File {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := c.Notify[0].Secret, (Secret{File: "/home/ann/other"}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	file := func(name, text string) Secret {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return Secret{File: path}
	}
	pipe := filepath.Join(dir, "pipe") // which nothing writes to
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) (string, bool) { return map[string]string{"KEY": "abc"}[name], name != "NONE" }
	for _, c := range []struct {
		s         Secret
		key, fail string
	}{
		{Secret{Env: "KEY"}, "abc", ""},
		{Secret{Env: "EMPTY"}, "", "the environment variable EMPTY is not set"},
		{Secret{Env: "NONE"}, "", "the environment variable NONE is not set"},
		{file("key", "a b\r\n\n"), "a b", ""},
		{file("plain", "abc"), "abc", ""},
		{file("empty", "\n"), "", "is empty"},
		{file("large", strings.Repeat("x", mostSecret+1)), "", "is too large for a key"},
		{Secret{File: filepath.Join(dir, "gone")}, "", "gone cannot be read: no such file or directory"},
		{Secret{File: dir}, "", "cannot be read"},
		{Secret{File: pipe}, "", "pipe cannot be read: it is no file"},
	} {
		key, err := c.s.Read(getenv)
		fail := ""
		if err != nil {
			fail = err.Error()
		}
		if key != c.key || !strings.Contains(fail, c.fail) || (c.fail == "") != (fail == "") {
			t.Errorf("%s: %q, %q, want %q, %q", c.s, key, fail, c.key, c.fail)
		}
	}
}
