package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// Programs are the pager and the editor of a user: $PAGER, or else less or more, and $VISUAL, $EDITOR or vi.
// They have the terminal.
type Programs struct {
	Dir      string
	Env      []string
	Terminal *os.File
}

// Page has a text read, which write writes, until it is left.
func (p Programs) Page(ctx context.Context, write func(io.Writer) error) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	written := make(chan error, 1)
	go func() { written <- errors.Join(write(w), w.Close()) }()
	pager := p.env("PAGER")
	if _, err := exec.LookPath("less"); pager == "" && err != nil {
		pager = "more"
	}
	err = p.run(ctx, cmp.Or(pager, "less"), r)
	_ = r.Close() // who left before the end of it ends write, too
	if problem := <-written; err == nil {
		err = problem
	}
	return err
}

// Edit has a file edited.
func (p Programs) Edit(ctx context.Context, path string) error {
	return p.run(ctx, cmp.Or(p.env("VISUAL"), p.env("EDITOR"), "vi"), p.Terminal, path)
}

// run runs the words of a command of the environment, which may have arguments of their own.
func (p Programs) run(ctx context.Context, command string, in *os.File, args ...string) error {
	cmd := exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", command + ` "$@"`, command}, args...)...)
	cmd.Dir, cmd.Env = p.Dir, p.Env
	if p.env("LESS") == "" {
		cmd.Env = append(slices.Clip(p.Env), "LESS=R") // colours, and a short text stays
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, p.Terminal, p.Terminal
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s failed (%w); PAGER, and VISUAL or EDITOR, name the programs", command, err)
	}
	return nil
}

// env returns the last value of a variable, which is the one that counts.
func (p Programs) env(name string) string {
	for _, kv := range slices.Backward(p.Env) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}
