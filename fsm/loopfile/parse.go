package loopfile

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"

	"loops/fsm"
)

// MaxSize is the size of the largest file that is read, in bytes.
const MaxSize = 16 << 20

const (
	maxProblems = 500     // of each severity that are reported
	maxHits     = 20      // of one kind that are reported in one text
	maxLine     = 1 << 16 // bytes of a line that is looked at closely to show a place in it
)

// Load reads the loop file at path. The error is about the file, never about what it says: it is missing, is
// not a regular file, cannot be read or is larger than [MaxSize]. See [Parse] for the rest.
func Load(path string) (*fsm.Loop, []fsm.Problem, error) {
	data, err := read(path)
	if err != nil {
		return nil, nil, err
	}
	loop, problems := Parse(path, data)
	return loop, problems, nil
}

func read(path string) ([]byte, error) {
	// Stat first: opening a named pipe would wait for a writer.
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		what := "not a regular file"
		if info.IsDir() {
			what = "a directory"
		}
		return nil, fmt.Errorf("%s is %s; expected a loop file", path, what)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxSize {
		return nil, fmt.Errorf("%s is larger than %d MiB; a loop file is some kilobytes of YAML", path, MaxSize>>20)
	}
	return data, nil
}

// Parse reads a loop from its text. The name stands in for the file in positions and in [fsm.Loop.File].
//
// It reports everything it finds, sorted by position: errors and warnings, of each up to 500 and then how many
// more there are. The loop is nil if there is an error among them. It does no I/O except to ask whether an action begins with the path of a program. It
// takes time and memory in proportion to the text, whatever the text is.
func Parse(name string, data []byte) (*fsm.Loop, []fsm.Problem) {
	d := &decoder{file: name, data: data}
	loop := d.parse()
	for _, sev := range []fsm.Severity{fsm.SeverityError, fsm.SeverityWarning} {
		if more := d.count[sev] - maxProblems; more > 0 {
			last := fsm.Pos{File: name, Line: 1 + bytes.Count(data, []byte("\n")), Col: 1}
			d.problems = append(d.problems, fsm.Problem{Pos: last, Severity: sev, Rule: "too-many", Message: fmt.Sprintf("%d more like these are not shown (%ss)", more, sev)})
		}
	}
	slices.SortStableFunc(d.problems, byPosition)
	if d.failed {
		return nil, d.problems
	}
	sum := sha256.Sum256(data)
	loop.SHA256 = hex.EncodeToString(sum[:])
	return loop, d.problems
}

func byPosition(a, b fsm.Problem) int {
	return cmp.Or(cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
}

func (d *decoder) parse() *fsm.Loop {
	root, ok := d.document()
	if !ok {
		return nil
	}
	return d.loop(root)
}

// A decoder turns one document into a Loop and collects what is wrong with it.
type decoder struct {
	file     string
	data     []byte
	lines    [][]byte // of data, split when first needed
	problems []fsm.Problem
	count    map[fsm.Severity]int // of problems, shown or not
	failed   bool                 // an error is among the problems
	noEffect []string             // keys in use that change nothing
	first    fsm.Pos              // of the first of them
	targets  []target             // every place that names a state
	flags    map[string]bool
}

// A target is a place of the file that names a state.
type target struct {
	top  bool // it belongs to the loop, not to a state: there is no current state to stay in
	name string
	pos  fsm.Pos
	path string
}

func (d *decoder) report(sev fsm.Severity, pos fsm.Pos, path, rule, format string, args ...any) {
	d.failed = d.failed || sev == fsm.SeverityError
	if d.count == nil {
		d.count = map[fsm.Severity]int{}
	}
	if d.count[sev]++; d.count[sev] > maxProblems {
		return
	}
	d.problems = append(d.problems, fsm.Problem{Pos: pos, Severity: sev, Rule: rule, Path: path, Message: fmt.Sprintf(format, args...)})
}

func (d *decoder) errorf(pos fsm.Pos, path, rule, format string, args ...any) {
	d.report(fsm.SeverityError, pos, path, rule, format, args...)
}

func (d *decoder) warnf(pos fsm.Pos, path, rule, format string, args ...any) {
	d.report(fsm.SeverityWarning, pos, path, rule, format, args...)
}

// line returns line n of the source, from 1, without its end.
func (d *decoder) line(n int) []byte {
	if d.lines == nil {
		d.lines = splitLines(d.data)
	}
	if n < 1 || n > len(d.lines) {
		return nil
	}
	return d.lines[n-1]
}

// splitLines splits at every line end of YAML: \n, \r\n, \r, NEL, LS and PS.
func splitLines(data []byte) [][]byte {
	var lines [][]byte
	start := 0
	for i := 0; i < len(data); {
		size := 0
		switch c := data[i]; {
		case c == '\n':
			size = 1
		case c == '\r':
			size = 1
			if i+1 < len(data) && data[i+1] == '\n' {
				size = 2
			}
		case c == 0xc2 && bytes.HasPrefix(data[i:], []byte("\u0085")):
			size = 2
		case c == 0xe2 && (bytes.HasPrefix(data[i:], []byte("\u2028")) || bytes.HasPrefix(data[i:], []byte("\u2029"))):
			size = 3
		}
		if size == 0 {
			i++
			continue
		}
		lines = append(lines, data[start:i])
		i += size
		start = i
	}
	return append(lines, data[start:])
}
