package config

import (
	"reflect"
	"strings"
	"testing"
)

// Each element of events has one way, and keys that belong to it.
func TestEvents(t *testing.T) {
	t.Parallel()
	read := func(text string) ([]Outlet, string) {
		c := &Config{}
		if err := (layer{file: "f", dir: "/p"}).parse([]byte(text), c); err != nil {
			return nil, err.Error()
		}
		return c.Events, ""
	}
	got, wrong := read("events: [{file: a, rotate: 10M, loops: 'n-*', kinds: [route]}, {webhook: 'http://h/', " +
		"secret_env: KEY, timeout: 3s}]")
	want := []Outlet{
		{File: "/p/a", Rotate: 10 << 20, Loops: []string{"n-*"}, Kinds: []string{"route"}},
		{URL: "http://h/", Secret: Secret{Env: "KEY"}, Timeout: 3e9},
	}
	if wrong != "" || !reflect.DeepEqual(got, want) {
		t.Errorf("%s\n got %+v\nwant %+v", wrong, got, want)
	}
	for text, want := range map[string]string{
		"{kinds: [route]}":                    "has one of webhook, command, socket and file",
		"{file: a, socket: b}":                "this one has file and socket: make 2 elements of it",
		"{file: a, secret_env: KEY}":          "for a webhook, and does nothing beside file",
		"{socket: a, rotate: 1M}":             "rotate is for a file, and does nothing beside socket",
		"{webhook: 'ftp://h/'}":               "begins with https:// or http://",
		"{file: a, loops: ['[']}":             "no name or pattern",
		"{file: a, timeout: 2h}":              "an hour at most",
		"{file: a, on: x}":                    `has no key "on"`,
		"{file: a, secret_env: 'A KEY', b: }": "is the name of an environment variable",
	} {
		if _, wrong := read("events: [" + text + "]"); !strings.Contains(wrong, want) {
			t.Errorf("%s: %q has no %q", text, wrong, want)
		}
	}
}
