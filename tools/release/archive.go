package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A member is a file of an archive.
type member struct {
	name string // its path there
	from string // the file it is read from
	mode int64
}

// archives packs each program with its pages and completions.
func (r *release) archives(context.Context) error {
	shared, err := r.shared()
	if err != nil {
		return err
	}
	for _, t := range r.targets {
		members := append([]member{{"loops", r.program(t), 0o755}}, shared...)
		if err := r.tarball(r.archive(t), members); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) archive(t target) string {
	return r.name("_" + t.os + "_" + t.arch + ".tar.gz")
}

// shared returns what every archive has beside the program.
func (r *release) shared() ([]member, error) {
	members := []member{{"LICENSE", "LICENSE", 0o644}, {"README.md", "README.md", 0o644}}
	for _, kind := range []string{"man", "completions"} {
		entries, err := os.ReadDir(filepath.Join(r.work, kind))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			members = append(members, member{kind + "/" + e.Name(), filepath.Join(r.work, kind, e.Name()), 0o644})
		}
	}
	return members, nil
}

// tarball writes a compressed archive without a trace of who made it, where or when: each file has the commit's time.
func (r *release) tarball(path string, members []member) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	zip := newGzip(f)
	if err := writeTar(zip, r.date, members); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := zip.Close(); err != nil {
		return err
	}
	return f.Close()
}

func writeTar(w io.Writer, date time.Time, members []member) error {
	members = slices.Clone(members)
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	archive := tar.NewWriter(w)
	for _, m := range members {
		content, err := os.ReadFile(m.from)
		if err != nil {
			return err
		}
		if err := archive.WriteHeader(&tar.Header{
			Name: m.name, Mode: m.mode, Size: int64(len(content)),
			ModTime: date, Format: tar.FormatUSTAR,
		}); err != nil {
			return err
		}
		if _, err := archive.Write(content); err != nil {
			return err
		}
	}
	return archive.Close()
}

func newGzip(w io.Writer) *gzip.Writer {
	zip, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		panic(err) // the level is one of gzip's
	}
	return zip
}

func writeGzip(path string, content []byte) error {
	var b bytes.Buffer
	zip := newGzip(&b)
	if _, err := zip.Write(content); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644) //nolint:gosec // of a release
}

func (r *release) checksums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, e := range entries {
		sum, _, err := sumOf(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%s  %s\n", sum, e.Name())
	}
	return os.WriteFile(r.name("_checksums.txt"), []byte(lines.String()), 0o644) //nolint:gosec // of a release
}

// sumOf returns the SHA-256 of a file, in hex, and its size.
func sumOf(path string) (sum string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), size, err
}
