package checkpoint

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"loops/internal/testenv"
)

// A link, a named pipe or a folder is in the place of a file of a checkpoint, a log or a stage. It is refused with a
// message, no process waits for it, and what a link leads to is neither believed nor changed.
func TestNoRegularFile(t *testing.T) {
	t.Parallel()
	put := map[string]func(path, outside string) error{
		"a symbolic link": func(path, outside string) error { return os.Symlink(outside, path) },
		"a named pipe":    func(path, _ string) error { return syscall.Mkfifo(path, 0o600) },
		"a directory":     func(path, _ string) error { return os.Mkdir(path, 0o700) },
	}
	stage := func(do func(ctx context.Context, s *Stages) error) func(context.Context, *Dir, *Stages) error {
		return func(ctx context.Context, _ *Dir, s *Stages) error { return do(ctx, s) }
	}
	load := func(ctx context.Context, d *Dir, _ *Stages) error {
		_, err := d.Load(ctx, "r1")
		return err
	}
	events := func(ctx context.Context, d *Dir, _ *Stages) error {
		for _, err := range d.Since(ctx, "r1", 0) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	for _, c := range []struct {
		name string
		file func(p dirFiles, s *Stages) string
		do   func(ctx context.Context, d *Dir, s *Stages) error
	}{
		{"checkpoint", func(p dirFiles, _ *Stages) string { return p.newest }, load},
		{
			"lock", func(p dirFiles, _ *Stages) string { return p.lock },
			func(ctx context.Context, d *Dir, _ *Stages) error { return d.Save(ctx, sample(2)) },
		},
		{"log, read", func(p dirFiles, _ *Stages) string { return p.events }, events},
		{
			"log, appended to", func(p dirFiles, _ *Stages) string { return p.events },
			func(ctx context.Context, d *Dir, _ *Stages) error {
				_, err := d.Append(ctx, "r1", Event{Kind: "x"})
				return err
			},
		},
		{
			"stage", func(_ dirFiles, s *Stages) string { return s.value("one") },
			stage(func(ctx context.Context, s *Stages) error {
				_, err := s.Load(ctx, "one")
				return err
			}),
		},
		{
			"manifest", func(_ dirFiles, s *Stages) string { return s.manifest },
			stage(func(ctx context.Context, s *Stages) error {
				_, err := s.Begin(ctx)
				return err
			}),
		},
		{
			"lock of stages", func(_ dirFiles, s *Stages) string { return s.lock },
			stage(func(ctx context.Context, s *Stages) error { return s.Save(ctx, "two", []byte("{}")) }),
		},
	} {
		for kind, place := range put {
			t.Run(c.name+", "+kind, func(t *testing.T) {
				outside := filepath.Join(t.TempDir(), "outside")
				must(t, os.WriteFile(outside, []byte("of another\n"), 0o600))
				d, err := OpenDir(t.TempDir())
				must(t, err)
				must(t, errors.Join(opSave(1)(d), opAppend("a")(d)))
				p, err := d.files("r1")
				must(t, err)
				s, _ := openStages(t)
				beginText(t, s)
				must(t, s.Save(t.Context(), "one", []byte("{}")))

				path := c.file(p, s)
				must(t, errors.Join(os.RemoveAll(path), place(path, outside)))
				done := beside(func() error { return c.do(t.Context(), d, s) })
				select {
				case err := <-done:
					if err == nil || !strings.Contains(err.Error(), path+": not a regular file but "+kind) {
						t.Errorf("error is %v", err)
					}
				case <-time.After(testenv.Patience):
					t.Fatal("it waits")
				}
				if b, err := os.ReadFile(outside); err != nil || string(b) != "of another\n" {
					t.Errorf("what the link leads to: %q, %v", b, err)
				}
			})
		}
	}
}

// beside does something beside.
func beside(do func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	return done
}
