package checkpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Stages keep the results of the stages of a script, so that a script that was killed continues with the first
// stage that was not completed. They are the files of one folder: NAME.json holds the value of a stage, and
// manifest.json says which stages count. Results are good for one day in UTC.
//
// Stages may be used by several goroutines and several processes at once; of two Saves of one stage the last
// wins. Each file is replaced in one step, and file and folder are synced before a method returns, so a crash
// between any two writes leaves what was there before, with or without a stage that was just being saved. (The
// file of one that was just being saved for the first time may be left; it counts for nothing until the stage
// is saved again.)
type Stages struct {
	Clock Clock // for the day of the stages; set before the first use

	dir      string
	disk     disk
	manifest string // manifest.json
	cleared  string // the manifest of stages that are being removed
	lock     string
}

// Begun is what Begin answers.
type Begun struct {
	Resume    bool     // false: it started afresh
	RunDate   string   // the day of the stages, YYYY-MM-DD in UTC
	Completed []string // in the order they were completed; never nil
}

// ErrStageName means that a stage's name does not match [a-z0-9][a-z0-9_-]*, is longer than 200 bytes or is manifest.
var ErrStageName = errors.New("not the name of a stage")

// OpenStages returns the stages in a folder. It reads and writes nothing.
func OpenStages(dir string) *Stages {
	dir = filepath.Clean(dir)
	return &Stages{
		dir: dir, disk: disk{dirMode: 0o755, fileMode: 0o644},
		manifest: filepath.Join(dir, "manifest.json"), cleared: filepath.Join(dir, ".manifest.cleared.json"),
		lock: filepath.Join(dir, ".lock"),
	}
}

// Begin says which stages are completed and can be loaded. It starts afresh, without any, if the manifest is of another
// day, absent or damaged; the values of another day are removed. An error that is ErrDamaged comes with an answer that
// holds nevertheless: it says what was damaged, and so is to be done again. The folder is made if need be.
func (s *Stages) Begin(ctx context.Context) (Begun, error) {
	lock, err := s.disk.lock(ctx, s.lock, lockMake)
	if err != nil {
		return Begun{}, err
	}
	defer lock.Close()
	if err := s.tidy(); err != nil {
		return Begun{}, err
	}
	today := s.today()
	m, damage := s.readManifest()
	switch {
	case errors.Is(damage, fs.ErrNotExist):
		damage = nil
	case damage != nil && !errors.Is(damage, ErrDamaged):
		return Begun{}, damage
	case damage == nil && m.RunDate == today:
		return s.resume(m)
	case damage == nil:
		if err := s.clear(); err != nil {
			return Begun{}, err
		}
	}
	if err := s.disk.sync(filepath.Dir(s.dir)); err != nil {
		return Begun{}, err
	}
	if err := s.writeManifest(manifest{RunDate: today}); err != nil {
		return Begun{}, err
	}
	return Begun{RunDate: today, Completed: []string{}}, damage
}

// resume is Begin on a manifest of today. Stages whose values cannot be loaded are no longer completed.
func (s *Stages) resume(m manifest) (Begun, error) {
	var damage error
	good := []string{}
	for _, name := range m.Completed {
		_, err := s.readValue(name)
		switch {
		case err == nil:
			good = append(good, name)
		case errors.Is(err, fs.ErrNotExist):
			damage = also(damage, &DamageError{File: s.value(name), What: "the value of the stage is gone"})
		case errors.Is(err, ErrDamaged):
			damage = also(damage, err)
		default:
			return Begun{}, err
		}
	}
	if damage != nil {
		m.Completed = good
		if err := s.writeManifest(m); err != nil {
			return Begun{}, err
		}
	}
	return Begun{Resume: true, RunDate: m.RunDate, Completed: good}, damage
}

func also(err, more error) error {
	if err == nil {
		return more
	}
	return fmt.Errorf("%w; %w", err, more)
}

// Save records the value of a stage, which must be one JSON value in UTF-8, and with it that the stage is
// completed. The file keeps these bytes, and its mode if it was there. Without a manifest Save begins one of
// today. So it does where the manifest is damaged, which is kept aside as manifest.damaged.json, a second one
// as manifest.damaged.2.json and so on up to 99: then the value is saved, and the error is a *DamageError with
// that path. Of the stages before, none counts as completed any more.
func (s *Stages) Save(ctx context.Context, name string, value []byte) error {
	if err := CheckStage(name); err != nil {
		return err
	}
	if err := checkJSON(value); err != nil {
		return err
	}
	lock, err := s.disk.lock(ctx, s.lock, lockMake)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := s.finishClearing(); err != nil {
		return err
	}
	m, err := s.readManifest()
	damage, damaged := errors.AsType[*DamageError](err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		m, err = manifest{RunDate: s.today()}, s.disk.sync(filepath.Dir(s.dir))
	case damaged:
		m = manifest{RunDate: s.today()}
		damage.Kept, err = s.putAside()
	}
	if err != nil {
		return err
	}
	if err := s.disk.replace(s.value(name), value); err != nil {
		return err
	}
	if slices.Contains(m.Completed, name) {
		return nil
	}
	m.Completed = append(m.Completed, name)
	if err := s.writeManifest(m); err != nil || !damaged {
		return err
	}
	return damage
}

// Load returns the value of a completed stage, byte for byte. It is ErrNotFound if the stage is not completed.
// It may be called while others save.
func (s *Stages) Load(ctx context.Context, name string) ([]byte, error) {
	if err := CheckStage(name); err != nil {
		return nil, err
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	m, err := s.readManifest()
	var value []byte
	if err == nil && !slices.Contains(m.Completed, name) {
		err = fs.ErrNotExist
	}
	if err == nil {
		value, err = s.readValue(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("stage %s: %w", name, ErrNotFound)
	}
	return value, err
}

// Done removes the manifest and the values of its stages; the folder stays, and so do other files in it. That
// there is nothing to remove is no error. If the manifest was damaged the error is ErrDamaged: it was removed
// too, but the values of its stages are still there as files that count for nothing.
func (s *Stages) Done(ctx context.Context) error {
	if _, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lock, err := s.disk.lock(ctx, s.lock, lockMake)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := s.tidy(); err != nil {
		return err
	}
	_, damage := s.readManifest()
	if damage != nil && !errors.Is(damage, ErrDamaged) && !errors.Is(damage, fs.ErrNotExist) {
		return damage
	}
	if errors.Is(damage, fs.ErrNotExist) {
		damage = nil
	} else if err := s.clear(); err != nil {
		return err
	}
	if err := s.disk.remove(s.lock); err != nil {
		return err
	}
	return damage
}

// clear removes all stages. From its first step on, there are none.
func (s *Stages) clear() error {
	if err := s.disk.next("rename", s.cleared); err != nil {
		return err
	}
	if err := os.Rename(s.manifest, s.cleared); err != nil {
		return err
	}
	if err := s.disk.sync(s.dir); err != nil {
		return err
	}
	return s.finishClearing()
}

// finishClearing removes the values of stages that clear was removing when the process died.
func (s *Stages) finishClearing() error {
	m, err := readManifest(s.cleared)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil && !errors.Is(err, ErrDamaged) {
		return err
	}
	for _, name := range m.Completed {
		if err := s.disk.remove(s.value(name)); err != nil {
			return err
		}
	}
	if err := s.disk.sync(s.dir); err != nil {
		return err
	}
	return s.disk.remove(s.cleared)
}

// tidy removes what a process that died was writing or removing.
func (s *Stages) tidy() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".json"+tmpSuffix) {
			if err := s.disk.remove(filepath.Join(s.dir, name)); err != nil {
				return err
			}
		}
	}
	return s.finishClearing()
}

func (s *Stages) today() string { return s.Clock.Now().UTC().Format(time.DateOnly) }

func (s *Stages) value(name string) string { return filepath.Join(s.dir, name+".json") }

func (s *Stages) readValue(name string) ([]byte, error) {
	b, err := readRegular(s.value(name))
	if err != nil {
		return nil, err
	}
	if err := checkJSON(b); err != nil {
		return nil, &DamageError{File: s.value(name), What: err.Error()}
	}
	return b, nil
}

// CheckStage reports whether name can be the name of a stage. The error is ErrStageName.
func CheckStage(name string) error {
	const first = "abcdefghijklmnopqrstuvwxyz0123456789"
	switch {
	case name == "":
		return fmt.Errorf("%w: it is empty", ErrStageName)
	case strings.Trim(name, first+"_-") != "", !strings.Contains(first, name[:1]):
		return fmt.Errorf("%w: %.60q; expected small letters, digits, _ and -, and a letter or digit first",
			ErrStageName, name)
	case len(name) > maxRunID:
		return fmt.Errorf("%w: it is longer than %d bytes", ErrStageName, maxRunID)
	case name == "manifest":
		return fmt.Errorf("%w: %q, since manifest.json is the list of stages", ErrStageName, name)
	}
	return nil
}

// checkJSON wants exactly one JSON value. The error is ErrNotJSON and says where it is wrong.
func checkJSON(b []byte) error {
	if len(bytes.TrimSpace(b)) == 0 {
		return fmt.Errorf("%w: there is nothing", ErrNotJSON)
	}
	if !utf8.Valid(b) {
		i := 0
		for r, n := utf8.DecodeRune(b); r != utf8.RuneError || n != 1; r, n = utf8.DecodeRune(b[i:]) {
			i += n
		}
		return fmt.Errorf("%w: byte %d is not UTF-8", ErrNotJSON, i)
	}
	if json.Valid(b) {
		return nil
	}
	var any json.RawMessage
	err := json.Unmarshal(b, &any)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		before := b
		if err.Error() != "unexpected end of JSON input" { // else the offset is that of the last byte
			before = b[:max(0, syntax.Offset-1)]
		}
		line := bytes.Count(before, []byte{'\n'}) + 1
		col := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
		return fmt.Errorf("%w: line %d, column %d: %v", ErrNotJSON, line, col, err)
	}
	return fmt.Errorf("%w: %v", ErrNotJSON, err)
}
