package app

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/disk"
	"loops/internal/humanize"
)

// MostLoopText is the length of a text that can be edited, in bytes.
const MostLoopText = 256 << 10

// An EditedFile is the file of a loop as it was read.
type EditedFile struct {
	Loop string // the name that it was asked for by
	Path string // of the file itself, also where the name is that of a link
	Text string // with line ends of one character
	Hash string // of its bytes

	crlf bool
}

// saving is held while a file is compared and replaced.
var saving sync.Mutex

// OpenLoopFile reads the file of a loop. The error is a refusal where it is not one of the project's own, or
// cannot be edited as text.
func OpenLoopFile(p *project.Project, name string) (EditedFile, error) {
	f := EditedFile{Loop: name}
	lib, err := p.Library()
	if err != nil {
		return f, err
	}
	if !filepath.IsLocal(name) || strings.ContainsRune(name, 0) {
		return f, engine.Refuse(engine.NotFound, "there is no loop %s in this project", humanize.Quote(name))
	}
	path, err := lib.Find(name)
	if err != nil {
		return f, err
	}
	folder, err := filepath.EvalSymlinks(p.Loops)
	if err != nil {
		return f, err
	}
	if f.Path, err = filepath.EvalSymlinks(path); err != nil {
		return f, err
	}
	if rel, err := filepath.Rel(folder, f.Path); err != nil || !filepath.IsLocal(rel) {
		return f, engine.Refuse(engine.Usage, "%s is not in the folder of this project's loops, so it is "+
			"not edited here", p.Short(path))
	}
	text, err := read(f.Path)
	if err != nil {
		return f, err
	}
	switch {
	case len(text) > MostLoopText:
		return f, engine.Refuse(engine.Usage, "%s has %s, more than the %s that can be edited here", p.Short(path),
			humanize.Bytes(int64(len(text))), humanize.Bytes(MostLoopText))
	case !utf8.Valid(text) || strings.ContainsFunc(string(text), lost):
		return f, engine.Refuse(engine.Usage, "%s holds bytes that a form would change, so it is not edited here",
			p.Short(path))
	}
	f.Hash, f.Text = hashOf(text), string(text)
	if n := strings.Count(f.Text, "\r\n"); n > 0 && n == strings.Count(f.Text, "\n") {
		f.crlf, f.Text = true, strings.ReplaceAll(f.Text, "\r\n", "\n")
	}
	if strings.Contains(f.Text, "\r") {
		return f, engine.Refuse(engine.Usage, "%s has line ends of several kinds, which a form would change, so it "+
			"is not edited here", p.Short(path))
	}
	return f, nil
}

// lost reports whether a browser would not send a character back as it is.
func lost(c rune) bool {
	return c == '\ufeff' || unicode.IsControl(c) && c != '\n' && c != '\r' && c != '\t'
}

// read reads a file up to what is too long by one byte.
func read(path string) ([]byte, error) {
	f, err := disk.Open(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MostLoopText+1))
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// CheckText returns what would be wrong with a file if it had another text, sorted by place. Problems of other
// files that it is made of are among them.
func CheckText(p *project.Project, f EditedFile, text string) ([]fsm.Problem, error) {
	lib := project.NewLibrary(p)
	lib.Files.With(f.Path, []byte(text))
	loaded, err := lib.Load(f.Path)
	return loaded.All(), err
}

// A ChangedError means that a file is not any more what it was when its text was read. It was left as it is.
type ChangedError struct{ Path string }

func (e *ChangedError) Error() string {
	return e.Path + " was changed meanwhile, so it was left as it is: read it again, and make your change there"
}

// An InvalidError means that a text has mistakes, so it was not saved.
type InvalidError struct {
	Path     string
	Problems []fsm.Problem // advice among them
}

func (e *InvalidError) Error() string {
	return "the text has " + humanize.Count(project.CountErrors(e.Problems), "mistake") + ", so " + e.Path +
		" was left as it is"
}

// SaveLoopFile replaces the text of a file, whole and durable on return, if the file still has the hash; else
// the error is a *ChangedError. A text with mistakes is only saved despite them; else the error is an
// *InvalidError. What it says of a text that was saved is returned.
func SaveLoopFile(p *project.Project, f EditedFile, hash, text string, despite bool) (EditedFile, []fsm.Problem,
	error,
) {
	if len(text) > MostLoopText || !utf8.ValidString(text) || strings.ContainsFunc(text, lost) {
		return f, nil, engine.Refuse(engine.Usage, "the text is longer than %s, or holds control characters",
			humanize.Bytes(MostLoopText))
	}
	problems, err := CheckText(p, f, text)
	if err != nil {
		return f, nil, err
	}
	if !despite && project.CountErrors(problems) > 0 {
		return f, nil, &InvalidError{p.Short(f.Path), problems}
	}
	if f.Text = text; f.crlf {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	saving.Lock()
	defer saving.Unlock()
	if err := replace(f.Path, hash, []byte(text)); err != nil {
		if errors.Is(err, errChanged) {
			err = &ChangedError{p.Short(f.Path)}
		}
		return f, nil, err
	}
	f.Hash = hashOf([]byte(text))
	return f, problems, nil
}

var errChanged = errors.New("changed")

func replace(path, hash string, text []byte) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	f, err := disk.CreateBeside(path)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it has its name, or is of no use
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(info.Mode().Perm()), f.Sync()); err == nil {
		now, e := read(path)
		if err = e; err == nil && hashOf(now) != hash {
			err = errChanged
		}
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return disk.SyncFolder(filepath.Dir(path))
}
