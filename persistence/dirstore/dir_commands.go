package dirstore

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"loops/internal/disk"
	"loops/persistence"
)

// The commands of a run are lines of a file beside its journal, and go where that goes.
const (
	commandsSuffix = ".commands.jsonl" // among the running ones, behind the id
	commandsFile   = "commands.jsonl"  // in a folder of the archive
)

// Send implements [Controller]. Senders wait for one another, and for processes that take runs over or remove them;
// only the owner of the run may move it to the archive meanwhile, and then it is looked for again.
func (d *Store) Send(ctx context.Context, id persistence.ID, c persistence.Command) (sent persistence.Command,
	err error,
) {
	if _, err := d.find(id); err != nil {
		return c, err
	}
	err = d.exclusive(ctx, func() error {
		for try := 0; ; try++ {
			p, err := d.find(id)
			if err != nil {
				return err
			}
			runs := d.one(persistence.Query{ID: id})
			if len(runs) == 0 {
				return fmt.Errorf("%s: %w", id, persistence.ErrNotFound)
			}
			if err := runs[0].Takes(c); err != nil {
				return err
			}
			if err := d.before("send"); err != nil {
				return err
			}
			if sent, err = d.addCommand(p.commands, d.live(id).lock, c); err != nil {
				return err
			}
			if there, err := d.wasSent(id, p, sent); err != nil {
				return &persistence.UncertainError{Err: err}
			} else if there {
				return nil
			}
			if try == 3 {
				return &persistence.UncertainError{
					Err: errors.New("the run went to the archive and back again and again"),
				}
			}
		}
	})
	return sent, err
}

// wasSent reports whether a command that was written to the files p of a run is where the run is now.
func (d *Store) wasSent(id persistence.ID, p place, sent persistence.Command) (bool, error) {
	if err := d.before("sent"); err != nil {
		return false, err
	}
	if again, err := d.find(id); err == nil && again == p {
		return true, nil
	}
	return d.wentAlong(id, sent)
}

// addCommand appends a command to a file of them, durably; see appendDurably for its errors. Called within
// exclusive. It fails if the user of the process that holds the lock could not read the file.
func (d *Store) addCommand(path, lock string, c persistence.Command) (persistence.Command, error) {
	f, st, err := disk.OpenStat(path, os.O_RDWR|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return c, err
	}
	defer f.Close()
	if why := unread(f, path, lock); why != "" {
		if st.Size() == 0 {
			err = os.Remove(path)
		}
		return c, errors.Join(errors.New("the command would never be read: "+why), err)
	}
	read := commandReader{path: path, after: math.MaxUint64} // none of them, but how many there are
	if err := read.from(f, d.seen.at(path, st, read.after)); err != nil {
		return c, err
	}
	c = c.Numbered(read.mark.last + 1)
	b, err := persistence.AppendCommand(nil, c)
	if err != nil {
		return c, err
	}
	if read.mark.end < st.Size() { // of a line that was not written to its end: its Send did not succeed
		if err := f.Truncate(read.mark.end); err != nil {
			return c, err
		}
	}
	return c, d.appendDurably(f, min(read.mark.end, st.Size()), append(b, '\n'))
}

// keepCommands makes the file of a run that is imported, if there are any.
func (d *Store) keepCommands(path string, all []persistence.Command) error {
	text, err := persistence.AppendCommands(nil, all)
	if err != nil || len(text) == 0 {
		return err
	}
	return d.writeSynced(path, text)
}

// Commands implements [Controller]. Where nothing came since the last call it looks only for the length of the
// file; so it does for the owner of a run that was sent nothing yet.
func (d *Store) Commands(_ context.Context, id persistence.ID, after uint64) ([]persistence.Command, error) {
	if !id.Valid() {
		return nil, fmt.Errorf("%s: %w", id, persistence.ErrNotFound)
	}
	if path := d.live(id).commands; d.seen.nothingNew(path, after) {
		return nil, nil
	}
	for try := 0; ; try++ {
		p, err := d.find(id)
		if err != nil {
			return nil, err
		}
		commands, err := d.readCommands(p.commands, after)
		if len(commands) > 0 || !errors.Is(err, fs.ErrNotExist) {
			return commands, err
		}
		if again, err := d.find(id); err == nil && again == p || try == 3 { // otherwise it was moved meanwhile
			return nil, err
		}
	}
}

func (d *Store) readCommands(path string, after uint64) ([]persistence.Command, error) {
	f, st, err := disk.OpenStat(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := commandReader{path: path, after: after}
	err = r.from(f, d.seen.at(path, st, after))
	d.seen.keep(path, r.mark)
	return r.commands, errors.Join(err, r.damage)
}

// clearLeftovers removes the live files of a run that is safe in the archive. Commands that were sent while it
// went there go along.
func (d *Store) clearLeftovers(id persistence.ID) error {
	if err := d.carryCommands(id); err != nil {
		return err
	}
	return d.clear(id)
}

// carryCommands takes those commands of an archived run that are only in its live file to the archive, and
// removes that file.
func (d *Store) carryCommands(id persistence.ID) error {
	live := d.live(id).commands
	if _, ok := disk.IsRegular(live); !ok {
		return nil
	}
	p, err := d.find(id)
	if err != nil || p.folder == "" {
		return unlessMissing(err)
	}
	kept, err := d.readCommands(p.commands, 0)
	if err = unlessDamage(err); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	last := uint64(0)
	if len(kept) > 0 {
		last = kept[len(kept)-1].N
	}
	rest, err := d.readCommands(live, last)
	if errors.Is(err, fs.ErrPermission) { // they were never read, and do not keep the run from being archived
		return os.Rename(live, p.commands+".unread")
	}
	if err = unlessDamage(err); err != nil {
		return err
	}
	for _, c := range rest {
		if _, err := d.addCommand(p.commands, "", c); err != nil {
			return err
		}
	}
	return disk.Remove(live)
}

// wentAlong reports whether a command that was sent while the run went to the archive is there.
func (d *Store) wentAlong(id persistence.ID, sent persistence.Command) (bool, error) {
	if err := d.carryCommands(id); err != nil {
		return false, err
	}
	p, err := d.find(id)
	if err != nil {
		return false, err
	}
	commands, err := d.readCommands(p.commands, sent.N-1)
	if err = unlessDamage(err); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return slices.ContainsFunc(commands, func(c persistence.Command) bool {
		return c.N == sent.N && c.Kind == sent.Kind && c.Segment == sent.Segment && c.At.Equal(sent.At)
	}), nil
}

// unclaimed reports whether a file of commands is all there is of a live run: its sender died as the run was moved.
func (d *Store) unclaimed(id persistence.ID) bool {
	p := d.live(id)
	return !d.leftover(id) && !disk.Exists(p.lock) && !disk.Exists(p.removed)
}

// A commandMark is how far a file of commands was read.
type commandMark struct {
	dev, ino uint64
	size     int64 // of the file then
	changed  time.Time
	end      int64  // of the last whole line
	tail     string // its end, by which the file is known again: another one may get its inode
	last     uint64 // number of the last command; one that cannot be read counts
}

func markOf(st fs.FileInfo) (m commandMark) {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		m.dev, m.ino = uint64(sys.Dev), sys.Ino
	}
	m.size, m.changed = st.Size(), st.ModTime()
	return m
}

// mostMarks bounds how many files are remembered.
const mostMarks = 256

// commandMarks are those of the files that this process reads again and again.
type commandMarks struct {
	mu   sync.Mutex
	of   map[string]commandMark // guarded by mu
	here map[string]bool        // files of the runs that journals of this store write; guarded by mu
}

// stay says that a file, if there is one, is where it is until leave: only the owner of a run moves its files,
// and this process is the owner.
func (m *commandMarks) stay(path string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.here == nil {
		m.here = make(map[string]bool)
	}
	m.here[path] = true
}

// leave says that the owner of a run is about to release it, or to move its files.
func (m *commandMarks) leave(path string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.here, path)
}

func (m *commandMarks) stays(path string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.here[path]
}

func (m *commandMarks) get(path string) (commandMark, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	mark, ok := m.of[path]
	return mark, ok
}

func (m *commandMarks) keep(path string, mark commandMark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil || len(m.of) >= mostMarks {
		m.of = make(map[string]commandMark)
	}
	m.of[path] = mark
}

// nothingNew reports whether a file is as it was when all of it was read, up to after, or whether the run has
// none yet. It looks at the file once, and at no other.
func (m *commandMarks) nothingNew(path string, after uint64) bool {
	mark, ok := m.get(path)
	if ok && after < mark.last || !ok && !m.stays(path) {
		return false
	}
	st, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return !ok && m.stays(path) // asked after the look: its owner may have moved the file before it
	}
	if err != nil || !ok || !st.Mode().IsRegular() {
		return false
	}
	now := markOf(st)
	return now.dev == mark.dev && now.ino == mark.ino && now.size == mark.size && now.changed.Equal(mark.changed) &&
		mark.end == mark.size
}

// at is where reading the commands after a number begins: at the first line, unless those before another one are known.
func (m *commandMarks) at(path string, st fs.FileInfo, after uint64) commandMark {
	now := markOf(st)
	if mark, ok := m.get(path); ok && after >= mark.last && mark.dev == now.dev && mark.ino == now.ino &&
		mark.size <= now.size {
		now.end, now.tail, now.last = mark.end, mark.tail, mark.last
	}
	return now
}

// A commandReader reads commands from the lines of a file.
type commandReader struct {
	path     string
	after    uint64
	commands []persistence.Command // those after it
	mark     commandMark
	damage   error // about the first line that cannot be read
}

// from reads the lines after a mark. A part of a line at the end is not a line yet.
func (r *commandReader) from(f io.ReaderAt, mark commandMark) error {
	r.mark = mark
	if mark.size > disk.MaxRead {
		return &os.PathError{
			Op: "read", Path: r.path,
			Err: fmt.Errorf("it has %d bytes, more than any such file is given", mark.size),
		}
	}
	tail := make([]byte, len(mark.tail))
	if _, err := f.ReadAt(tail, mark.end-int64(len(tail))); err != nil || string(tail) != mark.tail {
		mark.end, mark.last = 0, 0
		r.mark = mark
	}
	in := bufio.NewReaderSize(io.NewSectionReader(f, mark.end, mark.size-mark.end), 32<<10)
	for {
		line, n, err := boundedLine(in, persistence.MaxCommand+1)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		r.mark.tail = string(line[max(0, len(line)-32):]) + "\n"
		if n > int64(len(line))+1 {
			r.mark.tail = "\n" // only its beginning was kept
		}
		r.take(line)
		r.mark.end += n
	}
}

func (r *commandReader) take(line []byte) {
	c, err := persistence.ParseCommand(line)
	switch {
	case err == nil && c.N <= r.mark.last: // it was carried twice
		return
	case err == nil:
		r.mark.last = c.N
	case len(bytes.TrimSpace(line)) == 0:
		return
	default:
		r.mark.last++
		if r.damage == nil && r.mark.last > r.after {
			r.damage = &persistence.DamageError{
				File: r.path, Offset: r.mark.end,
				What: "no command that can be read: " + err.Error(),
			}
		}
		return
	}
	if c.N > r.after {
		r.commands = append(r.commands, c)
	}
}

// boundedLine reads a line without its end, of a longer one only the beginning, and says how many bytes it has
// with its end. Without an end it is io.EOF.
func boundedLine(in *bufio.Reader, most int) (line []byte, n int64, err error) {
	for {
		part, err := in.ReadSlice('\n')
		n += int64(len(part))
		if room := most - len(line); room > 0 {
			line = append(line, part[:min(len(part), room)]...)
		}
		if err == nil {
			return bytes.TrimSuffix(line, []byte("\n")), n, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, n, err
		}
	}
}
