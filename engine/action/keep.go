package action

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"loops/engine/action/envfile"
	"loops/fsm"
	"loops/internal/disk"
)

// fileFrom is how much standard output may be before its full text goes to a file.
const fileFrom = 64 << 10

// A keeper holds the first and the last half of a text, and writes all the bytes that the text was made of to a
// file once the text is longer than from.
type keeper struct {
	half  int
	head  []byte
	tail  []byte // a ring once it is full
	pos   int    // where the ring begins
	total int64  // bytes of text
	raw   []byte // what came before there is a file; nil: it is the text

	from   int64
	create func() (*os.File, error) // nil: no file
	file   *os.File
	path   string
	shown  bool   // it was made for others to read while it grows
	wait   []byte // not written yet
	settle *settler
}

func (k *keeper) reset(limit int, from int64, create func() (*os.File, error), settle *settler) {
	*k = keeper{half: limit / 2, head: k.head[:0], tail: k.tail[:0], wait: k.wait[:0], create: create, settle: settle}
	k.from = min(from, 2*int64(k.half)) // the file begins with what is kept, so it must begin in time
}

// add takes the next piece of text, and the bytes that it was made of. An error means that the file cannot be
// written; from then on there is no file.
func (k *keeper) add(raw, b []byte) (err error) {
	if k.file == nil && k.create != nil && k.total+int64(len(b)) > k.from {
		err = k.open()
	}
	switch {
	case k.file != nil:
		err = k.write(raw)
	case k.create != nil && (k.raw != nil || !bytes.Equal(raw, b)):
		if k.raw == nil {
			k.raw = slices.Concat(k.held()...)
		}
		k.raw = append(k.raw, raw...)
	}
	k.total += int64(len(b))
	if n := min(k.half-len(k.head), len(b)); n > 0 {
		k.head = append(k.head, b[:n]...)
		b = b[n:]
	}
	if len(b) > k.half {
		b = b[len(b)-k.half:]
	}
	if n := min(k.half-len(k.tail), len(b)); n > 0 {
		k.tail = append(k.tail, b[:n]...)
		b = b[n:]
	}
	for len(b) > 0 {
		n := copy(k.tail[k.pos:], b)
		b = b[n:]
		k.pos = (k.pos + n) % len(k.tail)
	}
	return err
}

// write writes to the file, in pieces that are not too small.
func (k *keeper) write(b []byte) error {
	if len(k.wait)+len(b) > batchSize {
		if err := k.flush(); err != nil || k.file == nil {
			return err
		}
	}
	if len(b) < batchSize {
		k.wait = append(k.wait, b...)
		return nil
	}
	_, err := k.file.Write(b)
	return k.giveUp(err)
}

// giveUp closes the file if err is one, and makes no other. One that holds no more than is kept is removed
// instead: then nothing is lost, and a longer text gets another.
func (k *keeper) giveUp(err error) error {
	if err == nil {
		return nil
	}
	_ = k.file.Close()
	k.wait = k.wait[:0]
	if k.file = nil; k.shown && k.kept() {
		_ = os.Remove(k.path)
		k.path = ""
		return nil
	}
	k.create = nil
	return err
}

// kept reports whether all that came is held, so that it can do without a file.
func (k *keeper) kept() bool { return k.total <= 2*int64(k.half) }

// open creates the file and writes what came so far, none of which is missing yet.
func (k *keeper) open() error {
	f, err := k.create()
	if err != nil {
		k.create = nil
		return err
	}
	k.file, k.path = f, f.Name()
	came := k.held()
	if k.raw != nil {
		came, k.raw = [][]byte{k.raw}, nil
	}
	for _, b := range came {
		if _, err := f.Write(b); err != nil {
			return k.giveUp(err)
		}
	}
	return nil
}

// held returns the pieces of the text that are held, in their order.
func (k *keeper) held() [][]byte { return [][]byte{k.head, k.tail[k.pos:], k.tail[:k.pos]} }

// flush writes what waits.
func (k *keeper) flush() error {
	if len(k.wait) == 0 {
		return nil
	}
	_, err := k.file.Write(k.wait)
	k.wait = k.wait[:0]
	return k.giveUp(err)
}

// end writes the rest to the file, makes it durable and closes it: the result that names it is recorded
// next. always makes a file even of a short text.
func (k *keeper) end(always bool) error {
	if k.file == nil && k.create != nil && always {
		if err := k.open(); err != nil {
			return err
		}
	}
	if k.file == nil {
		return nil
	}
	if err := k.flush(); err != nil {
		return err
	}
	err := errors.Join(k.settle.content(k.file), k.file.Close())
	k.file = nil
	if err != nil {
		return err
	}
	return k.settle.name(k.path)
}

// show makes the file before the text is too long to be held, so that others can read it while it grows. Where that
// fails they cannot, but the action is not affected.
func (k *keeper) show() {
	create := k.create
	k.shown = true
	if k.open() != nil {
		k.create = create
	}
}

// hide removes a file that holds no more than is kept, after which nothing more comes.
func (k *keeper) hide() {
	if k.file == nil || !k.kept() {
		return
	}
	if _ = k.flush(); k.file == nil { // whole first: others may have it open
		return
	}
	_ = k.file.Close()
	_ = os.Remove(k.path)
	k.file, k.create, k.path = nil, nil, ""
}

// text returns the full text, or its head and tail around a line that says how much is missing and where it is.
func (k *keeper) text() (text string, cut bool) {
	var b strings.Builder
	if k.total <= int64(len(k.head)+len(k.tail)) {
		b.Grow(int(k.total))
		for _, piece := range k.held() {
			b.Write(piece)
		}
		return b.String(), false
	}
	ring := append(k.tail[k.pos:len(k.tail):len(k.tail)], k.tail[:k.pos]...)
	head, tail := k.head[:headEnd(k.head)], ring[tailStart(ring):]
	b.Grow(len(head) + len(tail) + 200 + len(k.path))
	b.Write(head)
	if len(head) > 0 && head[len(head)-1] != '\n' {
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "[%d bytes of output are missing here", k.total-int64(len(head)+len(tail)))
	if k.path != "" {
		b.WriteString("; the full text is in " + k.path)
	}
	b.WriteString("]\n")
	b.Write(tail)
	return b.String(), true
}

// nearby is how much is given up so that a cut falls between two lines.
const nearby = 4 << 10

// headEnd returns where to end a head that is cut somewhere: after a line if one ends nearby, else after a
// character.
func headEnd(b []byte) int {
	from := max(0, len(b)-nearby)
	if i := bytes.LastIndexByte(b[from:], '\n'); i >= 0 {
		return from + i + 1
	}
	n := len(b)
	for i := n - 1; i >= 0 && i >= n-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return i
			}
			break
		}
	}
	return n
}

// tailStart returns where to begin a tail that is cut somewhere: before a line if one begins nearby, else before
// a character.
func tailStart(b []byte) int {
	if i := bytes.IndexByte(b[:min(nearby, len(b))], '\n'); i >= 0 && i+1 < len(b) {
		return i + 1
	}
	n := 0
	for n < len(b) && !utf8.RuneStart(b[n]) {
		n++
	}
	return n
}

// outputFile returns a function that creates the file for the full text of a stream: STEP-STATE.out, with the
// attempt after the state if it is not the first, and a number after that where the name is taken: a step may ask
// more than one question. In a sub-loop the steps of the states it runs inside come first: STEP+STEP-STATE.out.
func (r *Runner) outputFile(a fsm.Action, ext string) func() (*os.File, error) {
	if r.RunDir == "" {
		return nil
	}
	return func() (*os.File, error) {
		if err := r.there(); err != nil { // it may have changed since the action began
			return nil, err
		}
		dir := filepath.Join(r.RunDir, "output")
		if err := disk.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		name := outerName(a.Outer) + fmt.Sprintf("%06d-%s", a.Step, envfile.Stem(a.State))
		if a.Item != "" {
			name += "-item" + strings.ReplaceAll(a.Item, "/", "-")
		}
		if a.Attempt > 1 {
			name += fmt.Sprintf("-%d", a.Attempt)
		}
		var err error
		for i := range 10000 {
			more := ""
			if i > 0 {
				more = fmt.Sprintf("~%d", i)
			}
			var f *os.File
			f, err = disk.OpenFile(filepath.Join(dir, name+more+ext), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if !errors.Is(err, fs.ErrExist) {
				return f, err
			}
		}
		return nil, err
	}
}

// WrittenByRunner reports whether a file in a working folder, by its path with slashes, is not of an action but
// about one: the full text of a stream (see outputFile), or a text that was too long for a variable.
func WrittenByRunner(rel string) bool {
	if name, ok := strings.CutPrefix(rel, "env/"); ok {
		return isTextVar(name) && !strings.Contains(name, "/")
	}
	name, ok := strings.CutPrefix(rel, "output/")
	rest := strings.TrimLeft(name, "0123456789")
	ext := filepath.Ext(name)
	return ok && len(name)-len(rest) >= 6 && rest != "" && strings.Contains("-+@", rest[:1]) &&
		!strings.Contains(name, "/") && (ext == ".out" || ext == ".err")
}

// outerName is how the names of files in a sub-loop begin: STEP+ for each mark of outer, STEP@ATTEMPT+ where the
// attempt is not the first. No [envfile.Stem] has these signs.
func outerName(outer string) string {
	var b strings.Builder
	marks := strings.Split(strings.TrimPrefix(outer, "/"), "/")
	for i := 0; i+1 < len(marks); i += 2 {
		step, err := strconv.Atoi(marks[i])
		if err != nil {
			b.WriteString(envfile.Stem(outer) + "+")
			break
		}
		fmt.Fprintf(&b, "%06d", step)
		if marks[i+1] != "1" {
			b.WriteString("@" + envfile.Stem(marks[i+1]))
		}
		b.WriteByte('+')
	}
	name := b.String()
	return name[max(0, len(name)-120):] // a file name has its limit; one that is taken gets a number
}
