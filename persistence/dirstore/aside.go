package dirstore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unicode/utf8"

	"loops/internal/disk"
	"loops/persistence/dirstore/segment"
)

const (
	maxAsideFile = 1 << 20  // length from which a file of damaged lines takes no more
	maxTornFile  = 64 << 20 // length from which a file of cut tails takes only the beginnings of more
	maxNotes     = 20       // of what is damaged that are reported one by one
)

// A damaged line is one that cannot be believed, or a place where some are missing.
type damaged struct {
	file string
	at   int64
	what string
	text []byte // of the line, the first segment.MostKept bytes; nil where some are missing
}

// An asideLine is a damaged line as it is kept.
type asideLine struct {
	File string `json:"file"`
	Byte int64  `json:"byte"`
	What string `json:"what"`
	Line string `json:"line,omitempty"`
	Raw  []byte `json:"base64,omitempty"` // instead of Line, where it is no text
}

func (l *loaded) damagedAt(path string, at int64, what string, text []byte) {
	l.note(path, "damaged at byte %d: %s", at, what)
	if len(l.aside) < 16*maxNotes {
		l.aside = append(l.aside, damaged{path, at, what, bytes.Clone(text[:min(len(text), segment.MostKept)])})
	}
}

// note reports what is damaged. Of very many notes the first are kept, and how many there are.
func (l *loaded) note(path, format string, args ...any) {
	if l.notes++; l.notes <= maxNotes {
		l.damage = append(l.damage, path+": "+fmt.Sprintf(format, args...))
		return
	}
	l.damage = append(l.damage[:maxNotes], fmt.Sprintf("and %d more", l.notes-maxNotes))
}

// keepAside puts the damaged lines that were found into a file beside the journal, each once. They stay in the journal,
// too, unless they are cut off it.
func (d *Store) keepAside(path string, l *loaded) error {
	if len(l.aside) == 0 {
		return nil
	}
	old, err := disk.Read(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	kept := make(map[damagedKey]bool)
	for line := range bytes.Lines(old) {
		var a asideLine
		if json.Unmarshal(line, &a) == nil {
			kept[damagedKey{a.File, a.Byte, a.What}] = true
		}
	}
	var more []byte
	if len(old) > 0 && old[len(old)-1] != '\n' {
		more = append(more, '\n')
	}
	for _, d := range l.aside {
		a := asideLine{File: filepath.Base(d.file), Byte: d.at, What: d.what}
		if kept[damagedKey{a.File, a.Byte, a.What}] || len(old)+len(more) > maxAsideFile {
			continue
		}
		if utf8.Valid(d.text) {
			a.Line = string(d.text)
		} else {
			a.Raw = d.text
		}
		line, err := json.Marshal(a)
		if err != nil {
			return err
		}
		more = append(append(more, line...), '\n')
	}
	if len(more) == 0 {
		return nil
	}
	return d.appendFile(path, more)
}

type damagedKey struct {
	file string
	at   int64
	what string
}

func (d *Store) appendFile(path string, b []byte) error {
	f, err := disk.Open(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = d.syncFile(f)
	}
	return errors.Join(err, f.Close())
}

// repair prepares the files of a run that was taken over for continuing: damaged lines are kept aside, an
// unfinished batch is cut off, and the index names all parts.
func (d *Store) repair(files livePaths, l *loaded) error {
	err := errors.Join(d.keepAside(files.aside, l), d.cutTail(files, l), segment.RepairIndex(files.parts))
	if err == nil && l.before > 0 && !disk.Exists(files.events) { // a crash between two parts
		err = disk.Write(files.events, nil)
	}
	return err
}

// cutTail takes what a crash left of an unfinished batch off the newest event file, and keeps it in another.
func (d *Store) cutTail(files livePaths, l *loaded) error {
	if l.good >= l.size {
		return nil
	}
	f, err := disk.Open(files.events, os.O_RDWR)
	if err != nil {
		return err
	}
	defer f.Close()
	tail := make([]byte, min(l.size-l.good, maxTornFile))
	if _, err := f.ReadAt(tail, l.good); err != nil {
		return err
	}
	what := "%d bytes of an unfinished batch at byte %d were put aside in %s"
	if size, ok := disk.IsRegular(files.torn); l.size-l.good > maxTornFile ||
		ok && size+int64(len(tail)) > maxTornFile {
		tail = tail[:min(len(tail), segment.MostKept)]
		what += ", which is so long that only their beginning was kept"
	}
	if tail[len(tail)-1] != '\n' {
		tail = append(tail, '\n')
	}
	if err := d.appendFile(files.torn, tail); err != nil {
		return err
	}
	l.note(files.events, what, l.size-l.good, l.good, filepath.Base(files.torn))
	if err := f.Truncate(l.good); err != nil {
		return err
	}
	return d.syncFile(f)
}
