package index

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"loops/internal/disk"
)

// Digests are what filters ask of archived runs and listings return, of all of them and not of the newest only,
// in a file of its own: a listing of a few does not read it. Each has a checksum, and the stamp of the state
// file that it was made of. They are in the order of their names, the last name first, and are asked for in
// that order: the file is read piece by piece. The zero Digests has none.
type Digests struct {
	file   io.ReadCloser // of what was not read yet; nil = nothing
	rest   string        // behind the record that the cursor is at, as far as it was read
	record string        // that; "" = there is none
	name   string
	body   string
}

// A Digest is made of the state file with that stamp. What is in it only its maker knows.
type Digest struct {
	State  disk.Stamp
	Others []disk.Stamp // of what else it was made of, which are in Body: they must be settled to be kept, too
	Body   []byte
}

const (
	digestMagic = "loops archive digests 6\n"
	mostDigests = 64 << 20 // bytes; older runs are read from their files
	mostRecord  = 1 << 20
	piece       = 256 << 10
	lockWait    = 2 * time.Second
)

// OpenDigests opens the file of digests; one that is missing or damaged has none, or those before the damage.
func OpenDigests(path string) *Digests {
	f, err := disk.Open(path, os.O_RDONLY)
	if err != nil {
		return &Digests{}
	}
	d := &Digests{file: f}
	d.begin()
	return d
}

func digestsOf(b []byte) *Digests {
	d := &Digests{rest: unsafe.String(unsafe.SliceData(b), len(b))} // nothing changes the bytes any more
	d.begin()
	return d
}

func (d *Digests) begin() {
	d.more(len(digestMagic))
	rest, ok := strings.CutPrefix(d.rest, digestMagic)
	if !ok {
		d.Close()
		return
	}
	d.rest = rest
	d.next()
}

// Close closes the file. Nothing is found any more.
func (d *Digests) Close() {
	if d.file != nil {
		d.file.Close()
	}
	*d = Digests{}
}

// more reads until n bytes are there, if the file has them.
func (d *Digests) more(n int) {
	for d.file != nil && len(d.rest) < n {
		b := make([]byte, len(d.rest), len(d.rest)+max(piece, n))
		copy(b, d.rest)
		read, err := io.ReadFull(d.file, b[len(b):cap(b)])
		if b = b[:len(b)+read]; err != nil {
			d.file.Close()
			d.file = nil
		}
		d.rest = unsafe.String(unsafe.SliceData(b), len(b)) // nothing changes the bytes any more
	}
}

// next moves the cursor on, over records whose checksum does not hold.
func (d *Digests) next() {
	for {
		record, body := d.cut()
		if record == "" {
			d.Close()
			return
		}
		if n, used := uvarint(body); used > 0 && n > 0 && n <= uint64(len(body)-used) { //nolint:gosec // used is positive
			d.record, d.name, d.body = record, body[used:used+int(n)], body[used+int(n):] //nolint:gosec // as above
			return
		}
	}
}

// cut takes the next record off; body is "" where its checksum does not hold.
func (d *Digests) cut() (record, body string) {
	d.more(binary.MaxVarintLen64)
	n, used := uvarint(d.rest)
	if used <= 0 || n < 4 || n > mostRecord {
		return "", ""
	}
	if d.more(used + int(n)); n > uint64(len(d.rest)-used) { //nolint:gosec // it is small
		return "", ""
	}
	whole := d.rest
	record = whole[:used+int(n)] //nolint:gosec // as above
	d.rest = whole[len(record):]
	body = record[used+4:]
	if binary.LittleEndian.Uint32([]byte(record[used:used+4])) !=
		crc32.Checksum(unsafe.Slice(unsafe.StringData(body), len(body)), table) {
		body = ""
	}
	return record, body
}

// Seek returns the digest with a name that sorts before those that were asked for until now.
func (d *Digests) Seek(name string) (state disk.Stamp, body string, ok bool) {
	for d.name != "" && d.name > name {
		d.next()
	}
	if d.name != name || name == "" {
		return state, "", false
	}
	return CutStamp(d.body)
}

// ReadDigests returns the digests of a file by their names.
func ReadDigests(path string) map[string]Kept {
	d, all := OpenDigests(path), map[string]Kept{}
	defer d.Close()
	for ; d.name != ""; d.next() {
		if state, body, ok := CutStamp(d.body); ok {
			all[d.name] = Kept{state, body}
		}
	}
	return all
}

// A Kept is a [Digest] as it is in a file.
type Kept struct {
	State disk.Stamp
	Body  string
}

// AppendStamp appends a stamp, which [CutStamp] takes off.
func AppendStamp(b []byte, s disk.Stamp) []byte {
	for _, n := range []uint64{s.Dev, s.Ino, uint64(s.Size), uint64(s.Modified), uint64(s.Changed)} { //nolint:gosec // they are read so
		b = binary.AppendUvarint(b, n)
	}
	return b
}

// CutStamp returns the stamp that a text begins with, and the rest.
func CutStamp(text string) (s disk.Stamp, rest string, ok bool) {
	var n [5]uint64
	for i := range n {
		used := 0
		if n[i], used = uvarint(text); used <= 0 {
			return s, "", false
		}
		text = text[used:]
	}
	return disk.Stamp{Dev: n[0], Ino: n[1], Size: int64(n[2]), Modified: int64(n[3]), Changed: int64(n[4])}, text, true //nolint:gosec // they were written so
}

// uvarint is [binary.Uvarint] of a text.
func uvarint(s string) (n uint64, used int) {
	return binary.Uvarint(unsafe.Slice(unsafe.StringData(s), min(len(s), binary.MaxVarintLen64)))
}

func appendRecord(b []byte, name string, d Digest) []byte {
	body := binary.AppendUvarint(nil, uint64(len(name)))
	body = append(body, name...)
	body = append(AppendStamp(body, d.State), d.Body...)
	b = binary.AppendUvarint(b, uint64(len(body)+4))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(body, table))
	return append(b, body...)
}

// SaveDigests adds digests that were made since began to the file, instead of older ones. stamp returns the stamp
// of a state file now. Names are those in the archive as [Index.Names] has them: what is not among them is dropped; ""
// = it is not known which there are. If another process writes, or it cannot be written, nothing happens.
func SaveDigests(path string, began time.Time, made map[string]Digest, names string,
	stamp func(name string) (disk.Stamp, bool),
) {
	f, err := disk.Open(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return
	}
	defer disk.Release(f) //nolint:errcheck // what was not written is read again
	if disk.Flock(f, syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return
	}
	// as it is now: a run may have been removed since it was read
	was, err := io.ReadAll(io.LimitReader(f, 2*mostDigests+1))
	if err != nil || f.Truncate(0) != nil {
		return
	}
	c, ok := clockOf(f, began)
	if !ok {
		return
	}
	old := digestsOf(was)
	newer := slices.Sorted(maps.Keys(made))
	slices.Reverse(newer)
	there := func(string) bool { return true }
	if names != "" {
		there = (&descent{rest: names}).has
	}
	out := []byte(digestMagic)
	keep := func() (room bool) { // the old one at the cursor
		if there(old.name) {
			out = append(out, old.record...)
		}
		old.next()
		return len(out) < mostDigests
	}
	for _, name := range newer {
		for old.name > name && keep() {
		}
		if old.name == name {
			old.next()
		}
		if now, ok := stamp(name); ok && now == made[name].State && c.settled(append(made[name].Others, now)...) &&
			there(name) && len(out) < mostDigests {
			out = appendRecord(out, name, made[name])
		}
	}
	for old.name != "" && keep() {
	}
	if _, err := f.WriteAt(out, 0); err != nil {
		_ = f.Truncate(0)
	}
}

// A descent goes through lines, of which those after the first that are no folders of runs are in falling order.
type descent struct{ rest string }

// has reports whether a name, which is smaller than those before, is a line.
func (d *descent) has(name string) bool {
	for d.rest != "" {
		line, rest, _ := strings.Cut(d.rest, "\n")
		switch {
		case line == name:
			return true
		case line < name && line != "" && line[0] >= '0' && line[0] <= '9':
			return false
		}
		d.rest = rest
	}
	return false
}

// Forget takes the digest of a run that is gone out of the file. If that cannot be done there, the file is removed.
func Forget(path, name string) error {
	f, err := disk.Open(path, os.O_RDWR)
	if err != nil {
		return Drop(path)
	}
	defer disk.Release(f) //nolint:errcheck // what was not written is read again
	for end := time.Now().Add(lockWait); disk.Flock(f, syscall.LOCK_EX|syscall.LOCK_NB) !=
		nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			return Drop(path)
		}
	}
	b, err := io.ReadAll(io.LimitReader(f, 2*mostDigests+1))
	if err != nil || !bytes.HasPrefix(b, []byte(digestMagic)) {
		return Drop(path)
	}
	key := append(binary.AppendUvarint(nil, uint64(len(name))), name...)
	d, at := Digests{rest: string(b[len(digestMagic):])}, len(digestMagic)
	for {
		record, body := d.cut()
		switch {
		case record == "" && d.rest != "":
			return Drop(path)
		case record == "":
			return nil
		case strings.HasPrefix(body, string(key)):
			_, used := uvarint(record)
			if _, err := f.WriteAt(make([]byte, len(record)-used), int64(at+used)); err != nil {
				return Drop(path)
			}
		}
		at += len(record)
	}
}
