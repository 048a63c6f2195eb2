package project

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"loops/internal/config"
	"loops/internal/disk"
)

// Why a loop is trusted.
const (
	TrustAsked   = "asked"   // the user was shown it
	TrustSaid    = "command" // loops trust
	TrustRan     = "ran"     // it had completed a run before this version
	trustVersion = 1
)

// A TrustedLoop is a loop of others that may run as it was.
type TrustedLoop struct {
	Loop  string            `json:"loop"`
	File  string            `json:"file"` // from the project, or absolute
	Why   string            `json:"why"`
	At    time.Time         `json:"at"`
	Files map[string]string `json:"files"` // SHA-256 by path, as File
	Text  string            `json:"text"`  // the definition, to show what changes
}

// A trustList is what a user trusts in a project. It is a file below the state folder of the user, so that no project
// can bring its own.
type trustList struct {
	Version int               `json:"version"`
	Project string            `json:"project"`
	Begun   bool              `json:"begun"` // what ran before was looked for
	Loops   []TrustedLoop     `json:"loops"`
	Written map[string]string `json:"written"` // files that this user wrote, as git said; SHA-256 by path
}

func (l *trustList) has(path, sum string) bool {
	return l.Written[path] == sum || slices.ContainsFunc(l.Loops, func(t TrustedLoop) bool {
		return t.Files[path] == sum
	})
}

func (l *trustList) knows(path string) bool {
	return l.Written[path] != "" || slices.ContainsFunc(l.Loops, func(t TrustedLoop) bool {
		return t.Files[path] != ""
	})
}

// of returns the loop in a file, nil where it is not trusted.
func (l *trustList) of(file string) *TrustedLoop {
	if i := slices.IndexFunc(l.Loops, func(t TrustedLoop) bool { return t.File == file }); i >= 0 {
		return &l.Loops[i]
	}
	return nil
}

func (l *trustList) put(t TrustedLoop) {
	if old := l.of(t.File); old != nil {
		*old = t
		return
	}
	l.Loops = append(l.Loops, t)
	slices.SortFunc(l.Loops, func(a, b TrustedLoop) int { return strings.Compare(a.File, b.File) })
}

// trustFile is where the list is; "" = no folder of the user is known.
func (p *Project) trustFile() string {
	dir := config.StateDir(p.getenv, "trust")
	if dir == "" {
		return ""
	}
	place := p.Dir
	if real, err := filepath.EvalSymlinks(place); err == nil {
		place = real
	}
	sum := sha256.Sum256([]byte(place))
	return filepath.Join(dir, hex.EncodeToString(sum[:16])+".json")
}

// trustList reads the list; unknown explains why nothing is known, and nothing can be remembered.
func (p *Project) trustList() (l *trustList, unknown string) {
	l = &trustList{Version: trustVersion, Project: p.Dir, Written: map[string]string{}}
	file := p.trustFile()
	if p.carriesFiles() {
		return p.allTrust(), ""
	}
	if file == "" {
		return l, "neither XDG_STATE_HOME nor HOME says where to keep which loops are trusted; set one, or " +
			"LOOPS_TRUST=1"
	}
	b, err := disk.Read(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return l, ""
	case err != nil:
		return l, "which loops are trusted cannot be read: " + Cause(err).Error() + " (" + file + ")"
	}
	if err := json.Unmarshal(b, l); err != nil || l.Version != trustVersion {
		return &trustList{}, file + " cannot be read by this version; remove it to be asked again"
	}
	if l.Written == nil {
		l.Written = map[string]string{}
	}
	return l, ""
}

// carriesFiles reports whether the project is a copy that a worker made of the files of a run. The user trusts
// nothing in such a copy, but in the project of the worker or of any other checkout.
func (p *Project) carriesFiles() bool {
	rel, err := filepath.Rel(config.StateDir(p.getenv, "files"), p.Dir)
	return err == nil && filepath.IsLocal(rel)
}

// allTrust is what the user trusts in any project.
func (p *Project) allTrust() *trustList {
	all := &trustList{Version: trustVersion, Project: p.Dir, Begun: true, Written: map[string]string{}}
	files, _ := filepath.Glob(filepath.Join(config.StateDir(p.getenv, "trust"), "*.json"))
	for _, file := range files {
		l := &trustList{}
		if b, err := disk.Read(file); err == nil && json.Unmarshal(b, l) == nil && l.Version == trustVersion {
			all.Loops = append(all.Loops, l.Loops...)
		}
	}
	return all
}

// trustPatience is how long another process that changes the list is waited for.
const trustPatience = 10 * time.Second

// changeTrust changes the list. The first change finds out what ran before.
func (p *Project) changeTrust(ctx context.Context, change func(*trustList)) error {
	file := p.trustFile()
	if p.carriesFiles() {
		return errors.New("the files of this project are a copy of a worker: say in the project of the worker which " +
			"loops are trusted")
	}
	if file == "" {
		_, unknown := p.trustList()
		return errors.New(unknown)
	}
	if err := disk.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return disk.WhileLocked(ctx, filepath.Join(filepath.Dir(file), ".lock"), trustPatience, func() error {
		l, unknown := p.trustList()
		if unknown != "" {
			return errors.New(unknown)
		}
		if !l.Begun {
			l.Begun = true
			for _, file := range p.ranBefore(ctx) {
				if m, err := p.madeOf(file); err == nil {
					l.put(p.trusted(m, TrustRan))
				}
			}
		}
		if change != nil {
			change(l)
		}
		b, err := json.MarshalIndent(l, "", "  ")
		if err != nil {
			return err
		}
		return cmp.Or(disk.WriteWhole(file, func(w io.Writer) error {
			_, err := w.Write(append(b, '\n'))
			return err
		}), os.Chmod(file, 0o600))
	})
}
