package project

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"loops/internal/disk"
	"loops/internal/git"
)

// ignoredRecords has git leave out what the program itself writes below .loops; the loops there are the project's.
const ignoredRecords = `# What loops records and can make anew; the loops beside it belong to the project.
/.history/
/.ledger/
/.retention
/.queue/
/.running/
/.schema/
/logs/
/runs/
/tmp/
`

// IgnoreRecords writes .loops/.gitignore in a project that is in a work tree of git, unless there is one: a person may
// have chosen otherwise. .loops has to exist, or it is made.
func (p *Project) IgnoreRecords() error {
	if !p.InGit() {
		return nil
	}
	if err := disk.MkdirAll(p.Loops, 0o755); err != nil {
		return err
	}
	f, err := disk.OpenFile(filepath.Join(p.Loops, ".gitignore"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(ignoredRecords)
	return errors.Join(err, f.Close())
}

// OwnFiles returns the paths, relative to the project, of what the program itself writes below .loops.
func OwnFiles() []string {
	own := []string{Folder + "/.gitignore"}
	for line := range strings.Lines(ignoredRecords) {
		if name, ok := strings.CutPrefix(line, "/"); ok {
			own = append(own, Folder+"/"+strings.Trim(name, "/\n"))
		}
	}
	return own
}

// HasRecords reports whether a run was ever made in the project.
func (p *Project) HasRecords() bool {
	_, err := os.Lstat(filepath.Join(p.Loops, "runs"))
	return err == nil
}

// InGit reports whether the project is in a repository of git.
func (p *Project) InGit() bool { return git.InGit(p.Dir) }

// GitRoot returns the top of the repository of git that the project is in; "" = it is in none.
func (p *Project) GitRoot() string { return git.Root(p.Dir) }
