package archive

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"loops/internal/disk"
	"loops/persistence"
)

// What archives may hold at most.
const (
	maxEntries = 1 << 20
	maxText    = 256 << 20 // bytes of what is read into memory: all but events and working folder
	maxWindow  = 128 << 20 // bytes that zstd may want to remember: the most that its own program takes
)

// unpack checks an archive and writes its files into dir, which is empty. limit is how many bytes they may have
// together. It returns the names.
func unpack(r io.Reader, dir string, limit int64) (map[string]bool, error) {
	plain, done, err := decompress(r)
	if err != nil {
		return nil, err
	}
	defer done()
	u := &unpacking{dir: dir, limit: limit, left: limit, sums: map[string]string{}}
	t := tar.NewReader(plain)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, unreadable(err)
		}
		if err := u.entry(h, t); err != nil {
			return nil, err
		}
	}
	// What follows the archive belongs to the checksum of the compression.
	switch n, err := io.Copy(io.Discard, io.LimitReader(plain, 1<<20)); {
	case err != nil:
		return nil, unreadable(err)
	case n == 1<<20:
		return nil, bad("more follows behind its end")
	}
	return u.check()
}

// decompress finds out how an archive is compressed.
func decompress(r io.Reader) (io.Reader, func(), error) {
	b := bufio.NewReader(r)
	magic, _ := b.Peek(4)
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, nil, unreadable(err)
		}
		return z, func() { _ = z.Close() }, nil
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow),
			zstd.WithDecoderMaxMemory(1<<62))
		if err != nil {
			return nil, nil, unreadable(err)
		}
		return z, z.Close, nil
	case len(magic) == 0:
		return nil, nil, bad("it is empty")
	}
	return nil, nil, bad("it is compressed neither with zstd nor with gzip: loops export writes such files")
}

func unreadable(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return bad("it was cut off: it ends in the middle")
	}
	return bad("it cannot be read: %v", err)
}

type unpacking struct {
	dir         string
	limit, left int64
	entries     int
	sums        map[string]string // of what was written
	listed      []byte            // SHA256SUMS
}

// entry takes one file of the archive.
func (u *unpacking) entry(h *tar.Header, r io.Reader) error {
	name := h.Name
	if u.entries++; u.entries > maxEntries {
		return bad("it holds more than %d files", maxEntries)
	}
	if err := checkName(name); err != nil {
		return err
	}
	if h.Typeflag != tar.TypeReg {
		return bad("%q is no regular file, and nothing else belongs there", name)
	}
	if _, twice := u.sums[name]; twice || name == sumsFile && u.listed != nil {
		return bad("%q is in it twice", name)
	}
	if h.Size > u.left {
		return bad("it holds more than %d bytes when it is unpacked (%q is too large); --max-size raises that",
			u.limit, name)
	}
	inMemory := name != eventsFile && name != undoFile && !strings.HasPrefix(name, workFolder+"/")
	if inMemory && h.Size > maxText {
		return bad("%q has %d bytes, more than the %d that it may have", name, h.Size, int64(maxText))
	}
	u.left -= h.Size
	if name == sumsFile {
		b, err := io.ReadAll(r)
		if err != nil {
			return unreadable(err)
		}
		u.listed = append([]byte{}, b...)
		return nil
	}
	sum, err := u.write(name, h.FileInfo().Mode().Perm(), r)
	u.sums[name] = sum
	return err
}

// checkName refuses names that lead elsewhere or that do not belong into an archive.
func checkName(name string) error {
	inside, work := strings.CutPrefix(name, workFolder+"/")
	switch {
	case strings.HasPrefix(name, "/") || strings.Contains("/"+name+"/", "/../"):
		return bad("%q leads out of the archive", name)
	case path.Clean(name) != name || strings.ContainsAny(name, "\x00\\\n") || !filepath.IsLocal(name) ||
		len(name) > 4096:
		return bad("%q is not a valid name of a file in it", name)
	case name == runFile, name == definitionFile, name == memoryFile, name == eventsFile, name == commandsFile,
		name == undoFile, name == sumsFile:
		return nil
	case !work && isLessonFile(name):
		return nil
	case !work:
		return bad("%q does not belong into the archive of a run", name)
	case persistence.StoreOwned(inside) || strings.HasPrefix(inside, "blobs/"):
		return bad("%q is a name that only a store may use", name)
	}
	return nil
}

// isLessonFile reports whether a name is that of a memory.
func isLessonFile(name string) bool {
	base, inside := strings.CutPrefix(name, lessonFolder+"/")
	base, lines := strings.CutSuffix(base, ".jsonl")
	return inside && lines && persistence.LessonName(base) == nil
}

func (u *unpacking) write(name string, mode fs.FileMode, r io.Reader) (sum string, err error) {
	p := filepath.Join(u.dir, filepath.FromSlash(name))
	if err := disk.MkdirAll(filepath.Dir(p), 0o700); err != nil {
		return "", fileError(name, err)
	}
	f, err := disk.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode&0o777|0o200)
	if err != nil {
		return "", fileError(name, err)
	}
	h := sha256.New()
	buf := make([]byte, 64<<10)
	for err == nil {
		var n int
		n, err = r.Read(buf)
		h.Write(buf[:n])
		if _, e := f.Write(buf[:n]); e != nil {
			return "", errors.Join(e, f.Close())
		}
	}
	if err = notEOF(err); err != nil {
		_ = f.Close()
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), f.Close()
}

func notEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return unreadable(err)
}

// fileError says that a file cannot be made: its name may be a folder of others.
func fileError(name string, err error) error {
	if errors.Is(err, fs.ErrExist) || strings.Contains(err.Error(), "not a directory") {
		return bad("%q is both a file and a folder in it", name)
	}
	return fmt.Errorf("unpack %s: %w", name, err)
}

// check compares the checksums. Each file is listed, and there is no other.
func (u *unpacking) check() (map[string]bool, error) {
	if u.listed == nil {
		return nil, bad("it has no %s, which is written last: it is truncated, or not an archive of a run", sumsFile)
	}
	names := make(map[string]bool, len(u.sums))
	for line := range strings.Lines(string(u.listed)) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		have, there := u.sums[name]
		switch {
		case !ok:
			return nil, bad("%s is damaged: %q", sumsFile, strings.TrimSpace(line))
		case !there:
			return nil, bad("%q is missing in it", name)
		case have != sum:
			return nil, bad("%q is damaged: its checksum is not the one in %s", name, sumsFile)
		}
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(u.sums)) {
		if !names[name] {
			return nil, bad("%q is not listed in %s", name, sumsFile)
		}
	}
	for _, name := range []string{runFile, memoryFile, eventsFile} {
		if !names[name] {
			return nil, bad("%q is missing in it", name)
		}
	}
	return names, nil
}
