package sandbox

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"loops/fsm/confine"
	"loops/internal/testenv"
)

// open are programs that show what a workspace does not stop, or stops although it need not: each returns nil
// where it is as docs/security.md says.
var open = map[string]func(v victim) error{
	"change a test":     func(v victim) error { return write(v.tree + "/file") },
	"read ~/.npmrc":     func(v victim) error { return read(v.home + "/.npmrc") },
	"read a cache":      func(v victim) error { return read(v.home + "/.cache/file") },
	"write a cache":     func(v victim) error { return write(v.home + "/.cache/file") },
	"write agent state": func(v victim) error { return write(v.home + "/.agent/login") },
	// without namespaces
	"read a sealed file": func(v victim) error { return read(v.tree + "/.loops/runs/x/" + sealedFile) },
	"list a secret place": func(v victim) error {
		_, err := os.Lstat(v.home + "/.ssh/id")
		return err
	},
	"list the other folder": func(v victim) error {
		_, err := os.Lstat(v.other + "/file")
		return err
	},
	"change a priority": func(v victim) error {
		now, err := unix.Getpriority(unix.PRIO_PROCESS, v.runner)
		if err != nil {
			return err
		}
		return unix.Setpriority(unix.PRIO_PROCESS, v.runner, 20-now) // as it is
	},
	"move between two places": func(v victim) error {
		from, to := v.tree+"/moved", v.home+"/.cache/moved"
		if err := errors.Join(write(from), os.Rename(from, to)); err == nil || errors.Is(err, unix.EXDEV) {
			return nil
		}
		return errors.New("it was refused otherwise")
	},
	"read a later neighbour": func(v victim) error {
		return later(v, func() error {
			if err := read(v.home + "/later"); !errors.Is(err, fs.ErrPermission) {
				return err
			}
			return nil
		})
	},
	"write a file that was replaced": func(v victim) error {
		return later(v, func() error { return write(v.tree + "/.claude/settings.json") })
	},
}

// later does a thing again and again once the test may change files, until it succeeds.
func later(v victim, try func() error) error {
	if err := write(v.tree + "/ready"); err != nil {
		return err
	}
	err := errors.New("never tried")
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		if err = try(); err == nil {
			return nil
		}
	}
	return err
}

// What a workspace does not stop is as docs/security.md says, with namespaces and without.
func TestWhatIsNotStopped(t *testing.T) {
	t.Parallel()
	if landlockABI() == 0 {
		testenv.Skip(t, "Landlock")
	}
	for spaces, kind := range kinds() {
		for _, name := range slices.Sorted(maps.Keys(open)) {
			if name == "change a priority" && (spaces == spacesUser || spaces == spacesBubble) && os.Geteuid() == 0 {
				continue // root has capabilities that the command has not, and is no user's program
			}
			v := newVictim(t)
			for _, file := range []string{
				v.home + "/.npmrc", v.home + "/.cache/file", v.home + "/.agent/login",
				v.tree + "/.loops/runs/x/" + sealedFile,
			} {
				testenv.Must(t, os.MkdirAll(filepath.Dir(file), 0o755))
				testenv.WriteText(t, file, "text\n")
			}
			b := New(Resolve([]*confine.Policy{{Preset: confine.Workspace}},
				Place{
					Dir: v.tree, RunDir: v.tree + "/.loops/runs/y", Env: []string{"HOME=" + v.home},
					State: []string{v.home + "/.agent"},
				}))
			b.use(spaces)
			t.Cleanup(b.Close)
			ended, changed := make(chan struct{}), make(chan error)
			go func() {
				testenv.Within(testenv.Patience, func() bool {
					_, err := os.Lstat(v.tree + "/ready")
					select {
					case <-ended:
						return true
					default:
						return err == nil
					}
				})
				settings := v.tree + "/.claude/settings.json"
				changed <- errors.Join(write(settings+".new"), os.Rename(settings+".new", settings),
					write(v.home+"/later"))
			}()
			stopped := name == "read a sealed file" && spaces != spacesNone
			if said := v.try(t, b, name); (said != "") != stopped {
				t.Errorf("%s: stopped: %v, and it says %q", name+kind, stopped, said)
			}
			close(ended)
			testenv.Must(t, <-changed)
		}
	}
}
