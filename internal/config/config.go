// Package config reads .loops/config.yaml, in which people tell loops about their project: which agent hosts there are
// besides those it knows.
package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"loops/internal/host"
)

// Name is the file's name in the .loops folder.
const Name = "config.yaml"

// A Config is what the file says. The zero Config is that of a project without one.
type Config struct {
	Hosts []*host.Host // in the order of the file

	QueueTimeout time.Duration // how long run --queue waits; 0 = the default of the command
	Worktree     string        // see WorktreeKeep; "" = keep
	Retention    Retention
	Notify       []Notify
}

// A Problem is one mistake in the file.
type Problem struct {
	File      string
	Line, Col int // from 1; 0 = the whole file
	Text      string
}

func (p Problem) String() string {
	switch {
	case p.Line == 0:
		return p.File + ": " + p.Text
	case p.Col == 0:
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Col, p.Text)
}

// Problems are all mistakes of a file, in its order. As an error they have a line each.
type Problems []Problem

func (p Problems) Error() string {
	var lines []string
	for _, x := range p {
		lines = append(lines, x.String())
	}
	return strings.Join(lines, "\n")
}

// most is the longest file that is read.
const most = 1 << 20

// Load reads a file; one that does not exist says nothing. An error is Problems, or says why the file cannot be read.
func Load(file string) (*Config, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // that .loops is no folder is said elsewhere
		return &Config{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, err
	}
	return Parse(file, data)
}

// Parse reads the text of a file, whose name is for messages.
func Parse(file string, data []byte) (*Config, error) {
	d := &decoder{file: file}
	doc := d.document(data)
	c := &Config{}
	if doc != nil && !isLoop(doc) {
		d.config(doc, c)
	}
	if d.problems != nil {
		slices.SortStableFunc(d.problems, func(a, b Problem) int { return cmp.Or(a.Line-b.Line, a.Col-b.Col) })
		return nil, d.problems
	}
	return c, nil
}

// isLoop says whether this is a loop called config, which some projects have.
func isLoop(doc *yaml.Node) bool {
	if doc.Kind != yaml.MappingNode {
		return false
	}
	for i := 0; i < len(doc.Content); i += 2 {
		switch doc.Content[i].Value {
		case "states", "initial", "flow", "from", "fragments", "import":
			return true
		}
	}
	return false
}

// document parses the text into the node of its one document; nil where there is none, or it is not YAML.
func (d *decoder) document(data []byte) *yaml.Node {
	switch {
	case len(data) > most:
		d.problems = Problems{{File: d.file, Text: "the file has more than 1 MiB"}}
		return nil
	case !utf8.Valid(data):
		d.problems = Problems{{File: d.file, Text: "the file is not UTF-8 text"}}
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, next yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		d.syntax(err)
		return nil
	}
	if err := dec.Decode(&next); err == nil {
		d.say(&next, "the file has one document; what follows the --- is another")
	} else if !errors.Is(err, io.EOF) {
		d.syntax(err)
	}
	if len(doc.Content) != 1 || doc.Content[0].Tag == "!!null" {
		return nil
	}
	return doc.Content[0]
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// syntax notes an error of the YAML parser.
func (d *decoder) syntax(err error) {
	text := strings.ToValidUTF8(err.Error(), "\uFFFD")
	p := Problem{File: d.file, Text: "not YAML: " + yamlLine.ReplaceAllString(text, "")}
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		p.Line, _ = strconv.Atoi(m[1])
	}
	d.problems = append(d.problems, p)
}
