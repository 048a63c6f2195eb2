package main_test

import (
	"bytes"
	bits "encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// A powerDisk is a disk whose writes are logged. It is one file of a file system of its own, which this process
// serves to the kernel (FUSE), and which a loop device makes a disk of. What the kernel asks for is answered in
// its order, by one goroutine; so the log says for each write what was on the disk permanently before it.
type powerDisk struct {
	dir string // where it is mounted
	fd  int    // /dev/fuse

	mu   sync.Mutex
	data []byte // guarded by mu, as is the log
	log  []powerEntry
}

// A powerEntry is one thing that happened to a disk: a write, a mark, or else a flush, after which the writes
// before it last.
type powerEntry struct {
	at   int64
	data []byte // nil: it is not a write
	mark string // "" = it is not a mark
}

func (e powerEntry) flush() bool { return e.data == nil && e.mark == "" }

// The files of the disk's file system, by their numbers.
const (
	powerRoot = 1
	powerFile = 2 // the disk
	powerMark = 3 // each write to it is a mark
)

// What the kernel asks for, and how: linux/fuse.h.
const (
	fuseLookup, fuseForget, fuseGetattr, fuseSetattr, fuseOpen, fuseRead, fuseWrite = 1, 2, 3, 4, 14, 15, 16
	fuseStatfs, fuseRelease, fuseFsync, fuseFlush, fuseInit                         = 17, 18, 20, 25, 26
	fuseOpendir, fuseReleasedir, fuseInterrupt, fuseDestroy, fuseBatchForget        = 27, 29, 36, 38, 42

	fuseInHeader  = 40
	fuseMostWrite = 128 << 10
	fuseBigWrites = 1 << 5
)

// newPowerDisk serves a disk with this content at a folder until the test ends.
func newPowerDisk(t *testing.T, dir string, data []byte) *powerDisk {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o755))
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	must(t, err)
	d := &powerDisk{dir: dir, fd: fd, data: data}
	must(t, unix.Mount("loops-power", dir, "fuse", 0,
		fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd)))
	var served sync.WaitGroup
	served.Go(d.serve)
	t.Cleanup(func() {
		_ = unix.Unmount(dir, unix.MNT_DETACH)
		_ = unix.Close(fd)
		served.Wait()
	})
	return d
}

func (d *powerDisk) disk() string  { return filepath.Join(d.dir, "disk") }
func (d *powerDisk) marks() string { return filepath.Join(d.dir, "mark") }

// mark records that something was reported as done.
func (d *powerDisk) mark(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log = append(d.log, powerEntry{mark: text})
}

// serve answers until the file system is unmounted.
func (d *powerDisk) serve() {
	buf := make([]byte, fuseMostWrite+8<<10)
	for {
		n, err := unix.Read(d.fd, buf)
		if err == unix.EINTR || err == unix.ENOENT || err == unix.EAGAIN {
			continue
		}
		if err != nil || n < fuseInHeader {
			return
		}
		op, unique, node := bits.LittleEndian.Uint32(buf[4:]), bits.LittleEndian.Uint64(buf[8:]),
			bits.LittleEndian.Uint64(buf[16:])
		body, errno := d.answer(op, node, buf[fuseInHeader:n])
		if op == fuseForget || op == fuseBatchForget || op == fuseInterrupt {
			continue // no process waits
		}
		out := make([]byte, 16, 16+len(body))
		bits.LittleEndian.PutUint32(out[4:], uint32(-int32(errno)))
		bits.LittleEndian.PutUint64(out[8:], unique)
		out = append(out, body...)
		bits.LittleEndian.PutUint32(out, uint32(len(out)))
		_, _ = unix.Write(d.fd, out)
		if op == fuseDestroy {
			return
		}
	}
}

func (d *powerDisk) answer(op uint32, node uint64, in []byte) (out []byte, errno unix.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	le := bits.LittleEndian
	switch op {
	case fuseInit:
		out = make([]byte, 64)
		le.PutUint32(out, 7)
		le.PutUint32(out[4:], 31)
		le.PutUint32(out[8:], le.Uint32(in[8:]))
		le.PutUint32(out[12:], fuseBigWrites)
		le.PutUint32(out[20:], fuseMostWrite)
		le.PutUint32(out[24:], 1)
	case fuseLookup:
		node := uint64(powerFile)
		switch string(bytes.TrimRight(in, "\x00")) {
		case "disk":
		case "mark":
			node = powerMark
		default:
			return nil, unix.ENOENT
		}
		out = make([]byte, 40, 128)
		le.PutUint64(out, node)
		le.PutUint64(out[16:], 3600)
		le.PutUint64(out[24:], 3600)
		out = append(out, d.attributes(node)...)
	case fuseGetattr, fuseSetattr:
		out = make([]byte, 16, 104)
		le.PutUint64(out, 3600)
		out = append(out, d.attributes(node)...)
	case fuseOpen, fuseOpendir:
		out = make([]byte, 16)
	case fuseRead:
		at, n := int64(le.Uint64(in[8:])), int64(le.Uint32(in[16:]))
		if node != powerFile || at >= int64(len(d.data)) {
			return nil, 0
		}
		out = d.data[at:min(at+n, int64(len(d.data)))]
	case fuseWrite:
		at, n := int64(le.Uint64(in[8:])), le.Uint32(in[16:])
		data := slices.Clone(in[40 : 40+n])
		out = make([]byte, 8)
		le.PutUint32(out, n)
		switch {
		case node == powerMark:
			for line := range bytes.Lines(data) {
				d.log = append(d.log, powerEntry{mark: string(bytes.TrimSpace(line))})
			}
		case at+int64(n) > int64(len(d.data)):
			return nil, unix.ENOSPC
		default:
			copy(d.data[at:], data)
			d.log = append(d.log, powerEntry{at: at, data: data})
		}
	case fuseFsync:
		if node == powerFile {
			d.log = append(d.log, powerEntry{})
		}
	case fuseStatfs:
		out = make([]byte, 80)
	case fuseRelease, fuseReleasedir, fuseFlush, fuseDestroy, fuseForget, fuseBatchForget, fuseInterrupt:
	default:
		return nil, unix.ENOSYS
	}
	return out, 0
}

func (d *powerDisk) attributes(node uint64) []byte {
	out := make([]byte, 88)
	le := bits.LittleEndian
	le.PutUint64(out, node)
	mode := uint32(unix.S_IFREG | 0o666)
	switch node {
	case powerRoot:
		mode = unix.S_IFDIR | 0o755
	case powerFile:
		le.PutUint64(out[8:], uint64(len(d.data)))
		le.PutUint64(out[16:], uint64(len(d.data)/512))
	}
	le.PutUint32(out[60:], mode)
	le.PutUint32(out[64:], 1)
	le.PutUint32(out[80:], 4096)
	return out
}
