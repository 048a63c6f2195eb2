package git

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // what git calls objects by
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// An objectStore is a folder of objects of git. It writes those that git would write, as files of their own, so that a
// few small ones cost no process. It may be used at once with git and with others.
type objectStore struct {
	dir    string
	format string // of the names: sha1 or sha256
}

// The kinds of objects.
const (
	blobObject   = "blob"
	treeObject   = "tree"
	commitObject = "commit"
)

// An object is what git keeps by a name that its content decides.
type object struct {
	id   string
	kind string
	body []byte
}

// object returns what git makes of a content.
func (s objectStore) object(kind string, body []byte) object {
	h := sha1.New() //nolint:gosec // as above
	if s.format == "sha256" {
		h = sha256.New()
	}
	fmt.Fprintf(h, "%s %d\x00", kind, len(body))
	h.Write(body)
	return object{hex.EncodeToString(h.Sum(nil)), kind, body}
}

var packers = sync.Pool{New: func() any {
	z, _ := zlib.NewWriterLevel(nil, zlib.BestSpeed) // there is such a level
	return z
}}

// write writes an object, unless it has a file already, which then counts as new: git deletes old ones that
// nothing names. As with git it is whole or not there after the death of this process, and not synced.
func (s objectStore) write(o object) error {
	path := filepath.Join(s.dir, o.id[:2], o.id[2:])
	now := time.Now()
	if os.Chtimes(path, now, now) == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	var packed bytes.Buffer
	z := packers.Get().(*zlib.Writer)
	defer packers.Put(z)
	z.Reset(&packed)
	fmt.Fprintf(z, "%s %d\x00", o.kind, len(o.body)) //nolint:errcheck // a buffer takes all
	if _, err := z.Write(o.body); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "tmp_obj_") // git tidies up files with this name
	if err != nil {
		return err
	}
	_, err = f.Write(packed.Bytes())
	if err = errors.Join(err, f.Chmod(0o444), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("git cannot keep an object: %w", err)
	}
	return nil
}

// commit returns a commit of a tree with parents; "" is none.
func (s objectStore) commit(tree, message string, parents ...string) object {
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", tree)
	for _, parent := range parents {
		if parent != "" {
			fmt.Fprintf(&b, "parent %s\n", parent)
		}
	}
	at := time.Now()
	for _, role := range []string{"author", "committer"} {
		fmt.Fprintf(&b, "%s %s <%s> %d %s\n", role, committer, committerMail, at.Unix(), at.Format("-0700"))
	}
	fmt.Fprintf(&b, "\n%s\n", strings.TrimSuffix(message, "\n"))
	return s.object(commitObject, []byte(b.String()))
}

// A treeEntry is a line of a tree.
type treeEntry struct{ name, mode, id string }

// tree returns the tree with entries, which it sorts.
func (s objectStore) tree(entries []treeEntry) object {
	key := func(e treeEntry) string {
		if e.mode == folderMode {
			return e.name + "/"
		}
		return e.name
	}
	slices.SortFunc(entries, func(a, b treeEntry) int { return strings.Compare(key(a), key(b)) })
	var b bytes.Buffer
	for _, e := range entries {
		b.WriteString(strings.TrimPrefix(e.mode, "0") + " " + e.name + "\x00")
		id, _ := hex.DecodeString(e.id) // made by object, or by git
		b.Write(id)
	}
	return s.object(treeObject, b.Bytes())
}

// listing returns a tree as mktree reads it: lines that end in NUL.
func (o object) listing() string {
	var b strings.Builder
	for body, size := string(o.body), len(o.id)/2; body != ""; {
		head, rest, _ := strings.Cut(body, "\x00")
		mode, name, _ := strings.Cut(head, " ")
		kind := blobObject
		if "0"+mode == folderMode {
			kind = treeObject
		}
		fmt.Fprintf(&b, "%s %s %x\t%s\x00", mode, kind, rest[:size], name)
		body = rest[size:]
	}
	return b.String()
}
