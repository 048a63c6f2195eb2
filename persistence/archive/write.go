package archive

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"loops/internal/disk"
	"loops/persistence"
	"loops/persistence/snapshot"
)

// window is how far back zstd looks for what it has seen before. It holds a third of its usual memory for that,
// and histories repeat themselves within a few events.
const window = 4 << 20

// A Written says what an archive holds.
type Written struct {
	Digest persistence.Digest
	Files  int // of the working folder
	// whether it has the snapshots of the files of the project
	Snapshots bool
	Receipt   bool     // whether its receipt names files of the project, by their tree
	Left      []string // what is in the working folder and no regular file, by path: it was left out
}

// Write writes an archive of a run that no process owns to w, compressed with zstd, or else with gzip. work is
// its working folder, which need not be there, undo a bundle of git with the snapshots of its files; "" = there
// are none. lessons are the files of memories that it is to hold. A run that changes meanwhile is an error.
func Write(ctx context.Context, w io.Writer, useZstd bool, s persistence.Source, run persistence.Run,
	work, undo string, lessons []string,
) (Written, error) {
	var z io.WriteCloser = gzip.NewWriter(w)
	if useZstd {
		e, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window),
			zstd.WithLowerEncoderMem(true))
		if err != nil {
			return Written{}, err
		}
		z = e
	}
	o := &writer{ctx: ctx, tar: tar.NewWriter(z), at: run.UpdatedAt}
	err := o.run(s, run, work, undo, lessons)
	return o.Written, errors.Join(err, o.tar.Close(), z.Close())
}

type writer struct {
	Written
	ctx  context.Context
	tar  *tar.Writer
	at   time.Time
	sums strings.Builder
}

func (o *writer) run(s persistence.Source, run persistence.Run, work, undo string, lessons []string) (err error) {
	if o.Digest, err = persistence.Sum(o.ctx, s, run); err != nil {
		return err
	}
	if err := o.text(runFile, encodeRun(run, o.Digest)); err != nil {
		return err
	}
	definition, err := s.Definition(o.ctx, run.ID)
	if err != nil {
		return err
	}
	if definition != nil {
		if err := o.text(definitionFile, definition); err != nil {
			return err
		}
	}
	memory, err := s.Snapshot(o.ctx, run.ID)
	if err != nil {
		return err
	}
	text, err := snapshot.NewEncoder(nil).Whole(memory)
	if err != nil {
		return err
	}
	if err := o.text(memoryFile, text); err != nil {
		return err
	}
	if err := o.events(s, run.ID); err != nil {
		return err
	}
	if err := o.commands(s, run.ID); err != nil {
		return err
	}
	if err := o.folder(work); err != nil {
		return err
	}
	if undo != "" {
		if err := o.copy(undoFile, undo); err != nil {
			return err
		}
	}
	for _, file := range lessons {
		if err := o.copy(lessonFolder+"/"+filepath.Base(file), file); err != nil {
			return err
		}
	}
	again, err := persistence.Sum(o.ctx, s, run)
	if err == nil && again != o.Digest {
		err = fmt.Errorf("run %s changed while it was exported", run.ID)
	}
	if err != nil {
		return err
	}
	sums := o.sums.String()
	return o.add(sumsFile, 0o644, int64(len(sums)), strings.NewReader(sums))
}

func (o *writer) text(name string, text []byte) error {
	return o.add(name, 0o644, int64(len(text)), strings.NewReader(string(text)))
}

// commands writes what was asked of the run, if anything was.
func (o *writer) commands(s persistence.Source, id persistence.ID) error {
	all, err := s.Commands(o.ctx, id, 0)
	if err != nil || len(all) == 0 {
		return err
	}
	text, err := persistence.AppendCommands(nil, all)
	if err != nil {
		return err
	}
	return o.text(commandsFile, text)
}

// events writes the history, by way of a file: the archive says first how long it is.
func (o *writer) events(s persistence.Source, id persistence.ID) error {
	f, err := os.CreateTemp("", "loops-export-*")
	if err != nil {
		return err
	}
	_ = os.Remove(f.Name()) // it needs no name, and leaves nothing behind
	defer f.Close()
	b := bufio.NewWriter(f)
	var line []byte
	for e, err := range s.Events(o.ctx, id, 0) {
		if err != nil {
			return err
		}
		line = append(e.AppendJSON(line[:0]), '\n')
		if _, err := b.Write(line); err != nil {
			return err
		}
	}
	if err := b.Flush(); err != nil {
		return err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return err
	}
	return o.add(eventsFile, 0o644, size, f)
}

// folder writes the files that actions left in the working folder.
func (o *writer) folder(work string) error {
	return filepath.WalkDir(work, func(p string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && p == work {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(work, p)
		if err != nil {
			return err
		}
		switch {
		case persistence.StoreOwned(filepath.ToSlash(rel)):
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir():
			return o.ctx.Err()
		case !e.Type().IsRegular(), strings.ContainsAny(rel, "\n\\"):
			o.Left = append(o.Left, p)
			return nil
		}
		o.Files++
		return o.copy(path.Join(workFolder, filepath.ToSlash(rel)), p)
	})
}

// copy writes a file as it is.
func (o *writer) copy(name, from string) error {
	f, err := disk.Open(from, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	return o.add(name, st.Mode().Perm(), st.Size(), f)
}

// add writes one file, which must have just this length.
func (o *writer) add(name string, mode fs.FileMode, size int64, r io.Reader) error {
	err := o.tar.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: name, Mode: int64(mode), Size: size,
		ModTime: o.at, Format: tar.FormatPAX,
	})
	if err != nil {
		return err
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(o.tar, h), io.LimitReader(r, size))
	if err == nil && n < size {
		err = fmt.Errorf("%s became shorter while it was read", name)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	fmt.Fprintf(&o.sums, "%s  %s\n", hex.EncodeToString(h.Sum(nil)), name)
	return nil
}
