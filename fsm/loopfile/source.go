package loopfile

import (
	"bytes"
	"crypto/sha256"
	"os"
	"sync"

	"gopkg.in/yaml.v3"

	"loops/fsm"
)

// A source is the text of one file and what the parser made of it. It is not changed once it was read, so any
// number of loops may be built from one.
type source struct {
	name     string      // as positions show it
	info     os.FileInfo // nil for a text that is in no file
	data     []byte
	sum      [sha256.Size]byte
	root     *yaml.Node    // a mapping; nil if the text is not one
	problems []fsm.Problem // why root is nil

	split func() [][]byte
	lib   func() *library
}

func newSource(name string, info os.FileInfo, data []byte) *source {
	s := &source{name: name, info: info, data: data, sum: sha256.Sum256(data)}
	s.split = sync.OnceValue(func() [][]byte { return splitLines(s.data) })
	s.lib = sync.OnceValue(func() *library { return newLibrary(s) })
	d := newDecoder(s, nil)
	if root, ok := d.document(); ok {
		s.root = root
	}
	s.problems = d.problems
	return s
}

// line returns line n of the text, from 1, without its end.
func (s *source) line(n int) []byte {
	lines := s.split()
	if n < 1 || n > len(lines) {
		return nil
	}
	return lines[n-1]
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

// origins knows which file each node of a merged document comes from.
type origins struct {
	main    *source
	foreign map[*yaml.Node]*source // nodes of other files than main
}

func (o *origins) source(n *yaml.Node) *source {
	if s := o.foreign[n]; s != nil {
		return s
	}
	return o.main
}

func (o *origins) pos(n *yaml.Node) fsm.Pos {
	return fsm.Pos{File: o.source(n).name, Line: n.Line, Col: n.Column}
}

// like notes that a new node stands for what is at another one.
func (o *origins) like(n, old *yaml.Node) *yaml.Node {
	n.Line, n.Column = old.Line, old.Column
	if s := o.foreign[old]; s != nil {
		o.foreign[n] = s
	}
	return n
}

// adopt enters every node of a tree of another file.
func (o *origins) adopt(n *yaml.Node, s *source) {
	if s == o.main {
		return
	}
	if o.foreign == nil {
		o.foreign = map[*yaml.Node]*source{}
	}
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		o.foreign[n] = s
		for _, c := range n.Content {
			walk(c)
		}
	}
	walk(n)
}
