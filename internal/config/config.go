// Package config reads what people declare about loops: in .loops/config.yaml about a project, and in a file of
// their own about all of theirs.
//
// # Signatures
//
// [Sign] signs definitions of loops with ed25519 and [Signature.Verify] verifies, so that a worker can run a
// definition that is not in its own checkout. A signature says that the owner of the key lets workers run the
// definition, with any input; who submits it is another matter.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"loops/internal/agent"
)

// Name is the file's name, in the .loops folder of a project and in the configuration folder of a person.
const Name = "config.yaml"

// What run.permanent_failures can be.
const (
	PermanentStop    = "stop"    // the run is suspended at that state
	PermanentVerdict = "verdict" // the routes of the state take them
)

// A Config is what the files say together. A field that none of them sets has its zero value, which stands for the
// default of the code that reads it.
type Config struct {
	Store   string // dir, sqlite:PATH or the URL of a PostgreSQL
	Catalog string // absolute
	Color   string // auto, always or never

	Releases string // where loops upgrade --check looks: an absolute path or a URL

	// Of run and resume. What a loop says of the same wins, but for Permissions.
	Output      string // quiet, normal or verbose
	Host, Model string
	Permissions string // host: no agent may do more, whatever its loop says; skip
	Delay       time.Duration
	Durability  string // as persistence.ParseDurability reads it
	Budget      Budget

	// where those lead that no on_error takes: PermanentStop or PermanentVerdict; "" = PermanentStop
	PermanentFailures string

	QueueTimeout time.Duration  // how long run --queue waits; 0 = the default of the command
	Limits       map[string]int // of submitted runs, by key, queue:NAME and label:NAME; see dispatch.limits
	Accept       Accept         // which definitions workers run
	Files        Files
	Spend        Spend
	Alarm        Alarm
	AnswerLinks  AnswerLinks
	Metrics      Metrics
	Telemetry    Telemetry
	Webhooks     []Webhook     // that loops serve takes, by name
	Secrets      []NamedSecret // in the order of the files
	LedgerName   string        // by which projects share the ledger of a database; "" = the name of the folder
	Worktree     string        // see WorktreeKeep; "" = keep
	GitTimeout   time.Duration // of one command of git that loops itself starts; 0 = the default
	Retention    Retention
	SandboxFloor string // the weakest preset of a sandbox that loops may have; "" = off; of all files the strongest
	// folders that a workspace may change besides the work tree; nil = the default
	SandboxCaches []string
	Snapshots     string                       // of the files of runs: git or off; "" = as the loop says
	Notify        []Notify                     // of the person's file, then of the project's
	Events        []Outlet                     // in the same order
	GitFacts      string                       // one of the words below; "" = on
	ModelHints    map[string]map[string]string // models by host and model_hint; "" turns one off
	Hosts         []*agent.CLI                 // in the order of the files
	ActionTypes   []ActionType                 // in the order of the files, those of the environment last

	// readiness_threshold and outcome_threshold of little-loops' confidence gate, as far as its file has them
	Thresholds map[string]int64

	// At says where each setting is, by its Key.Name; hosts as hosts.NAME, action types as action_types.NAME,
	// and each of Notify and Events as notify.N and events.N, from 0.
	At map[string]Place
	// Warnings are what is wrong with files that loops may do without.
	Warnings Problems
}

// A Place is where a setting is in a file.
type Place struct {
	File string
	Line int
}

// A Problem is one mistake in a file.
type Problem struct {
	File      string
	Line, Col int // from 1; 0 = the whole file
	Text      string

	// Key is the first name of the setting that is wrong, or seems to be meant, such as run; "" = that is not known.
	Key string

	text []byte // where that is not known: the file, where known
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

// Problems are all mistakes of the files, in their order. As an error they have a line each.
type Problems []Problem

func (p Problems) Error() string {
	var lines []string
	for _, x := range p {
		lines = append(lines, x.String())
	}
	return strings.Join(lines, "\n")
}

// About returns the problems for which it is not known what a setting is, by the first part of its name.
func (p Problems) About(key string) (about Problems) {
	for _, x := range p {
		if x.Key == key || x.Key == "" && (x.text == nil || bytes.Contains(x.text, []byte(key))) {
			about = append(about, x)
		}
	}
	return about
}

// isLoop reports whether this is a loop called config, which some projects have.
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
		d.problems = Problems{{File: d.layer.file, Text: "the file has more than 1 MiB"}}
		return nil
	case !utf8.Valid(data):
		d.problems = Problems{{File: d.layer.file, Text: "the file is not UTF-8 text"}}
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

var yamlLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^yaml: (?:line (\d+): )?`) })

// syntax notes an error of the YAML parser.
func (d *decoder) syntax(err error) {
	text := strings.ToValidUTF8(err.Error(), "\uFFFD")
	p := Problem{File: d.layer.file, Text: "not YAML: " + yamlLine().ReplaceAllString(text, "") +
		"; look for tabs, wrong indentation, a missing colon or bracket"}
	if m := yamlLine().FindStringSubmatch(text); m != nil {
		p.Line, _ = strconv.Atoi(m[1])
	}
	d.problems = append(d.problems, p)
}
