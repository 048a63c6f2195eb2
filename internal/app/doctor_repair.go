package app

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"loops/internal/humanize"
)

// A Repair is what Machine found wrong and can be put right without a choice: loops files, records and settings
// are never touched.
type Repair struct {
	Check string
	Text  string // what Do does, as in "remove the rights of other users from .loops/runs"
	Do    func(context.Context) error
}

// privateFolders hold what actions printed, so other users have no business there. Programs make them for their
// owner alone; little-loops makes them as any folder is.
var privateFolders = []string{".running", ".history", "runs", "logs", "tmp"}

// private looks for folders of records that other users can read.
func (x *Examination) private() {
	var open []string
	for _, name := range privateFolders {
		path := filepath.Join(x.Project.Loops, name)
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() || info.Mode().Perm()&0o077 == 0 {
			continue
		}
		open = append(open, x.Project.Short(path))
		x.Repairs = append(x.Repairs, Repair{
			"access", fmt.Sprintf("remove the rights of other users from %s (%v)", x.Project.Short(path), info.Mode()),
			func(context.Context) error { return chmodPrivate(path, info) },
		})
	}
	if len(open) > 0 {
		x.add(Finding{"access", FindingWarning, "other users of this machine can read what actions printed: " +
			strings.Join(open, ", "), x.Command("doctor") + " --fix", nil})
	}
}

// writable looks for loop files, settings and their folders that every user of this machine can change: what
// such a file says is run as the user who starts a loop.
func (x *Examination) writable() {
	p := x.Project
	var open []string
	see := func(path string, repaired bool) {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm()&0o002 == 0 {
			return
		}
		open = append(open, p.Short(path))
		if repaired {
			x.Repairs = append(x.Repairs, Repair{
				"access", fmt.Sprintf("have other users not write to %s (%v)", p.Short(path), info.Mode()),
				func(context.Context) error { return chmodWithout(path, info, 0o002) },
			})
		}
	}
	_ = filepath.WalkDir(p.Loops, func(path string, e fs.DirEntry, err error) error {
		name := filepath.Base(path)
		switch {
		case err != nil:
			return nil //nolint:nilerr // what cannot be read is reported elsewhere
		case e.IsDir() && path != p.Loops && (name[0] == '.' || slices.Contains(privateFolders, name)):
			return fs.SkipDir // records; private looks at them
		case e.IsDir() || strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml"):
			see(path, true)
		}
		return nil
	})
	n := len(open)
	see(p.Dir, false) // in whose place another .loops could be put
	if p.Catalog != "" {
		see(p.Catalog, false)
	}
	if len(open) == 0 {
		return
	}
	todo := x.Command("doctor") + " --fix"
	if n == 0 {
		todo = "chmod o-w " + humanize.ShellWord(open[0])
	}
	shown := open[:min(len(open), 5)]
	text := strings.Join(shown, ", ")
	if more := len(open) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	x.add(Finding{
		"access", FindingProblem, "every user of this machine can change what your loops run: " + text,
		todo, nil,
	})
}

// chmodPrivate changes a folder that is still the one that was looked at.
func chmodPrivate(path string, was fs.FileInfo) error { return chmodWithout(path, was, 0o077) }

// chmodWithout takes rights from a file or folder that is still the one that was looked at.
func chmodWithout(path string, was fs.FileInfo, rights fs.FileMode) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(info, was) {
		return fmt.Errorf("%s has become another file", path)
	}
	return f.Chmod(info.Mode().Perm() &^ rights)
}

// ignored looks whether git leaves out the records.
func (x *Examination) ignored() {
	p := x.Project
	git, err := x.lookPath("git")
	if err != nil || !p.HasRecords() || !x.inRepository(git) {
		return
	}
	file := filepath.Join(p.Loops, ".gitignore")
	if _, err := os.Lstat(file); err == nil {
		return // a user has chosen
	}
	if _, err := x.output(git, "-C", p.Dir, "check-ignore", "-q", filepath.Join(p.Loops, "runs", "x")); err == nil {
		return
	}
	x.add(Finding{"gitignore", FindingWarning, "git would take in the records of runs: " + p.Short(file) +
		" is missing", x.Command("doctor") + " --fix", nil})
	x.Repairs = append(x.Repairs, Repair{
		"gitignore", "write " + p.Short(file) + ", which names the records and not the loops",
		func(context.Context) error { return p.IgnoreRecords() },
	})
}

// leftovers offers to do what sweep does, if there is something.
func (x *Examination) leftovers(runs int) {
	if runs > 0 && x.Sweep != nil {
		x.Repairs = append(x.Repairs,
			Repair{"runs", "tidy up after runs whose process died, as " + x.Command("sweep") + " does", x.Sweep})
	}
}
