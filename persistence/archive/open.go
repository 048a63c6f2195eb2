package archive

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"loops/fsm"
	"loops/persistence"
	"loops/persistence/snapshot"
)

// A Bundle is an archive that was unpacked and found to be whole. It is the [persistence.Source] of its one
// run, and knows its definition. All methods may be called concurrently.
type Bundle struct {
	Run   persistence.Run
	Files int // of the working folder

	dir        string
	memory     []byte
	definition []byte
	commands   []persistence.Command
	undo       bool     // there is a bundle
	lessons    []string // names of memories
}

// Open unpacks an archive into dir, an empty folder that the caller removes, and checks it. limit is how many
// bytes it may hold; an archive that is damaged or would do harm is an [*Error].
func Open(ctx context.Context, r io.Reader, dir string, limit int64) (*Bundle, error) {
	names, err := unpack(r, dir, limit)
	if err != nil {
		return nil, err
	}
	b := &Bundle{dir: dir, Files: len(names) - 3}
	text, err := os.ReadFile(b.path(runFile))
	if err != nil {
		return nil, err
	}
	var digest persistence.Digest
	if b.Run, digest, err = decodeRun(text); err != nil {
		return nil, err
	}
	if b.memory, err = os.ReadFile(b.path(memoryFile)); err != nil {
		return nil, err
	}
	if names[definitionFile] {
		b.Files--
		if b.definition, err = os.ReadFile(b.path(definitionFile)); err != nil {
			return nil, err
		}
	}
	if b.undo = names[undoFile]; b.undo {
		b.Files--
	}
	for name := range names {
		if isLessonFile(name) {
			b.Files--
			b.lessons = append(b.lessons, strings.TrimSuffix(strings.TrimPrefix(name, lessonFolder+"/"), ".jsonl"))
		}
	}
	slices.Sort(b.lessons)
	if names[commandsFile] {
		b.Files--
		if err := b.readCommands(); err != nil {
			return nil, err
		}
	}
	have, err := persistence.Sum(ctx, b, b.Run)
	if err == nil && have != digest {
		err = bad("its parts do not belong together: they make %s, and %s says %s", have, runFile, digest)
		if where := b.unknown(ctx, text, digest); where != "" {
			err = bad("a newer version of loops wrote it: this version does not know %s; use the newer version", where)
		}
	}
	return b, err
}

// Lessons returns the names of the memories in it, sorted.
func (b *Bundle) Lessons() []string { return b.lessons }

// Lesson reads a memory.
func (b *Bundle) Lesson(name string) ([]byte, error) {
	return os.ReadFile(b.path(lessonFolder + "/" + name + ".jsonl"))
}

// Undo is the bundle of git with the snapshots of the run's files; "" = there is none.
func (b *Bundle) Undo() string {
	if !b.undo {
		return ""
	}
	return b.path(undoFile)
}

// Work is the folder with the files of the working folder; it need not be there.
func (b *Bundle) Work() string { return b.path(workFolder) }

func (b *Bundle) path(name string) string { return filepath.Join(b.dir, name) }

// Runs returns the run, as [persistence.Store] would.
func (b *Bundle) Runs(_ context.Context, q persistence.Query) ([]persistence.Run, error) {
	if q.ID != "" && q.ID != b.Run.ID {
		return nil, nil
	}
	return []persistence.Run{b.Run}, nil
}

// Snapshot returns the memory of the run.
func (b *Bundle) Snapshot(context.Context, persistence.ID) (*fsm.Snapshot, error) {
	var d snapshot.Decoder
	err := d.Whole(b.memory)
	var m *fsm.Snapshot
	if err == nil {
		m, err = d.Snapshot(nothing{})
	}
	if newer, ok := errors.AsType[*snapshot.NewerError](err); ok {
		return nil, bad("%v", newer)
	}
	if err != nil {
		return nil, bad("%s is damaged: %v", memoryFile, err)
	}
	return m, nil
}

// nothing keeps no texts: all are in the memory itself. One that names another is damaged.
type nothing struct{}

func (nothing) Put(string, string) error   { return errors.ErrUnsupported }
func (nothing) Get(string) ([]byte, error) { return nil, fs.ErrNotExist }

// Definition returns the text of the loop file.
func (b *Bundle) Definition(context.Context, persistence.ID) ([]byte, error) {
	return b.definition, nil
}

// Commands returns what was asked of the run, as [persistence.Controller] would.
func (b *Bundle) Commands(_ context.Context, _ persistence.ID, after uint64) (behind []persistence.Command, err error) {
	for _, c := range b.commands {
		if c.N > after {
			behind = append(behind, c)
		}
	}
	return behind, nil
}

func (b *Bundle) readCommands() error {
	text, err := os.ReadFile(b.path(commandsFile))
	if err != nil {
		return err
	}
	for line := range bytes.Lines(text) {
		c, err := persistence.ParseCommand(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			return bad("%s is damaged in line %d: %v", commandsFile, len(b.commands)+1, err)
		}
		b.commands = append(b.commands, c)
	}
	return nil
}

// Events yields the history, as [persistence.Store] would, up to the first line that is damaged.
func (b *Bundle) Events(ctx context.Context, _ persistence.ID, after uint64) iter.Seq2[fsm.Event, error] {
	return func(yield func(fsm.Event, error) bool) {
		f, err := os.Open(b.path(eventsFile))
		if err != nil {
			yield(fsm.Event{}, err)
			return
		}
		defer f.Close()
		s := bufio.NewScanner(f)
		s.Buffer(nil, maxText)
		n := 0
		for s.Scan() {
			n++
			e, err := fsm.ParseEvent(s.Bytes())
			if err == nil && e.Seq != uint64(n) {
				err = fmt.Errorf("its number is %d", e.Seq)
			}
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(fsm.Event{}, bad("%s is damaged in line %d: %v", eventsFile, n, err))
				return
			}
			if e.Seq > after && !yield(e, nil) {
				return
			}
		}
		if err := s.Err(); err != nil {
			yield(fsm.Event{}, bad("%s is damaged behind line %d: %v", eventsFile, n, err))
		}
	}
}

var _ persistence.Source = (*Bundle)(nil)
