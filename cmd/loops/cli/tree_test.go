package cli

import (
	"bytes"
	"slices"
	"testing"

	"github.com/spf13/cobra"
)

// TestTree: each command is found under the name that the tree has for it, alone as among all others, and looks
// the same.
func TestTree(t *testing.T) {
	var names []string
	for _, b := range tree() {
		if slices.Contains(names, b.name) {
			t.Errorf("%s is there twice", b.name)
		}
		names = append(names, b.name)
		among, alone := help(t, b.name, ""), help(t, b.name, b.name)
		if among == "" || among != alone {
			t.Errorf("%s looks like this among all:\n%s\nand alone like this:\n%s", b.name, among, alone)
		}
	}
}

// help returns the help of a command in a tree.
func help(t *testing.T, name, only string) string {
	root := newRootCommand(&program{}, only)
	i := slices.IndexFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
	if i < 0 {
		t.Fatalf("there is no %s among the commands", name)
	}
	var out bytes.Buffer
	cmd := root.Commands()[i]
	cmd.SetOut(&out)
	if err := cmd.Usage(); err != nil {
		t.Fatal(err)
	}
	return cmd.Long + out.String()
}

// TestNeeded: only a command line that begins with a command does without the others.
func TestNeeded(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, ""},
		{[]string{"run", "fix"}, "run"},
		{[]string{"top"}, ""}, // an alias
		{[]string{"-C", "run", "list"}, ""},
		{[]string{"--help"}, ""},
		{[]string{"help", "run"}, ""},
		{[]string{"man"}, ""},
		{[]string{"__complete", "run", ""}, ""},
		{[]string{"rnu"}, ""},
	} {
		if got := needed(c.args); got != c.want {
			t.Errorf("%q needs %q, want %q", c.args, got, c.want)
		}
	}
}
