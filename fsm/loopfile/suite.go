package loopfile

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"loops/fsm"
	"loops/fsm/value"
)

// SuiteSuffix ends the name of a file with tests of a loop, which is no loop.
const SuiteSuffix = ".test.yaml"

// IsSuite reports whether a file is one of tests, by its name.
func IsSuite(path string) bool { return strings.HasSuffix(filepath.Base(path), SuiteSuffix) }

// A Suite is a file of tests of one loop.
type Suite struct {
	File  string
	Loop  Word // name or path of the loop; the empty text means the loop beside the file
	Cases []*Case
}

// A Word is a text of the file, with its place.
type Word struct {
	Text string
	Pos  fsm.Pos
	Path string // of keys
}

// A Case is one test of a loop.
type Case struct {
	Name        string
	Pos         fsm.Pos
	Input       *string // nil = none
	Description string
	Context     *value.Map // nil = none
	Env         map[string]string
	Files       []CaseFile
	From        Word // id of a run that answers; the empty text means none
	Answers     []StateAnswers
	Expect      Expectation
}

// A CaseFile is a file that a case begins with.
type CaseFile struct {
	Name Word
	Text string
}

// StateAnswers are what the visits of one state come to.
type StateAnswers struct {
	State Word
	Every bool // the one answer is for every visit
	List  []Answer
}

// An Answer is what one visit of a state comes to.
type Answer struct {
	Pos      fsm.Pos
	Verdict  string // "" = as the evaluator has it
	Output   string
	Stderr   string
	ExitCode *int // nil = the one that goes with the verdict
	Timeout  string
	Status   int // of a response; 0 = the one that goes with the exit code
	Failure  fsm.Failure
	Cost     *float64 // USD; nil = not said
	Tokens   int
	Details  *value.Map
}

// An Expectation is what has to come of a case. What is nil or empty is not looked at.
type Expectation struct {
	Path     []Word // nil = not looked at
	Verdicts []StateVerdicts
	Captures *value.Map
	Context  *value.Map
	Outcome  string
	State    Word
	Message  *string
	Never    []Word
	MaxCost  *float64
	// states that acted, and each of whose actions had a guard, and a sandbox
	Guarded, Sandboxed []Word
}

// StateVerdicts are the verdicts of the visits of one state.
type StateVerdicts struct {
	State Word
	List  []string
}

// LoadSuite reads a file of tests, and reports everything that is wrong with it, sorted by position. The suite is nil
// if there is an error among that. Names of states are not looked at. The error is that of reading the file.
func LoadSuite(path string) (*Suite, []fsm.Problem, error) {
	data, info, err := readFile(path)
	if err != nil {
		return nil, nil, err
	}
	s, problems := parseSuite(newSource(path, info, data))
	return s, problems, nil
}

func parseSuite(from *source) (*Suite, []fsm.Problem) {
	d := newDecoder(from, nil)
	d.problems = slices.Clone(d.main.problems)
	d.failed = d.main.root == nil
	s := &Suite{File: from.name}
	if d.main.root != nil {
		d.suite(s)
	}
	slices.SortStableFunc(d.problems, func(a, b fsm.Problem) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	if d.failed {
		s = nil
	}
	return s, d.problems
}

// Suites returns the files of tests below a folder, sorted. An error is that of reading the folder itself.
func Suites(folder string) (files []string, err error) {
	var list []Entry
	if err := walkFiles(folder, "", 0, true, &list); err != nil {
		return nil, err
	}
	for _, e := range list {
		files = append(files, e.Path)
	}
	slices.Sort(files)
	return files, nil
}

// SuiteSchema returns a JSON Schema (draft 2020-12) of files of tests, for editors. It ends with a newline.
func SuiteSchema() []byte {
	schema := object(
		"$schema", "https://json-schema.org/draft/2020-12/schema",
		"$comment", "Generated from the key table of loops. `loops schema --tests` prints it; `loops test` sees more.",
		"description", "Tests of a loop.",
		"type", "object",
		"properties", keysOf(InSuite),
		"required", []any{"cases"},
		"additionalProperties", false,
	)
	defs := textDefs()
	for _, in := range inSuite[1:] {
		def := object("type", "object", "properties", keysOf(in), "additionalProperties", false)
		if in == InCases {
			def.add("required", []any{"expect"})
		}
		defs.add(string(in), def)
	}
	schema.add("$defs", defs)
	return indent(schema)
}

func (d *decoder) suite(s *Suite) {
	b := d.block(d.main.root, InSuite, "")
	b.unknown()
	s.Loop = b.word("loop")
	b.need(d.pos(d.main.root), "cases", "a file of tests")
	f, ok := b.fields["cases"]
	if !ok {
		return
	}
	if f.node.Kind != yaml.MappingNode || len(f.node.Content) == 0 {
		if !isNull(f.node) {
			d.errorf(d.pos(f.node), "cases", "wrong-type", "cases must be a mapping of cases by name, found %s",
				describe(f.node))
		}
		return
	}
	for _, e := range d.entries(f.node, "cases") {
		if strings.TrimSpace(e.name) == "" {
			d.errorf(d.pos(e.key), "cases", "bad-key", "a case needs a name")
			continue
		}
		s.Cases = append(s.Cases, d.oneCase(e))
	}
}

func (d *decoder) oneCase(e entry) *Case {
	path := join("cases", e.name)
	c := &Case{Name: e.name, Pos: d.pos(e.key)}
	b := d.block(e.val, InCases, path)
	if e.val.Kind != yaml.MappingNode {
		return c
	}
	b.unknown()
	if b.has("input") {
		c.Input = new(b.text("input"))
	}
	c.Context, c.From, c.Description = b.mapping("context"), b.word("from"), b.text("description")
	c.Env = map[string]string{}
	for name, w := range d.namedTexts(b, "env", "a variable") {
		c.Env[name.Text] = w
	}
	for name, text := range d.namedTexts(b, "files", "a file") {
		if !filepath.IsLocal(name.Text) || filepath.Clean(name.Text) == "." || strings.HasSuffix(name.Text, "/") {
			d.errorf(name.Pos, name.Path, "bad-value", "%s is not the path of a file in the folder of the case",
				quote(name.Text))
			continue
		}
		c.Files = append(c.Files, CaseFile{name, text})
	}
	d.answers(b, c)
	b.need(c.Pos, "expect", "the case "+quote(c.Name))
	if b.has("expect") {
		d.expect(b.sub("expect"), c)
	}
	return c
}

// namedTexts yields the texts of a mapping with their names, in the order of the file.
func (d *decoder) namedTexts(b *block, key, what string) func(yield func(Word, string) bool) {
	return func(yield func(Word, string) bool) {
		f, ok := b.fields[key]
		if !ok || f.node.Kind != yaml.MappingNode {
			return
		}
		for _, e := range d.entries(f.node, join(b.path, key)) {
			at := join(join(b.path, key), e.name)
			text, ok := d.text(e.val, at, what)
			if ok && !yield(Word{e.name, d.pos(e.key), at}, text) {
				return
			}
		}
	}
}

// byState returns the entries of a key that is a mapping by state, and its path; no entries where it is not given.
func (d *decoder) byState(b *block, name string) ([]entry, string) {
	path := join(b.path, name)
	f, ok := b.fields[name]
	if !ok {
		return nil, path
	}
	if f.node.Kind != yaml.MappingNode {
		d.errorf(d.pos(f.node), path, "wrong-type", "%s must be a mapping of %s by state, found %s", name, name,
			describe(f.node))
		return nil, path
	}
	return d.entries(f.node, path), path
}

// answers reads what states come to.
func (d *decoder) answers(b *block, c *Case) {
	entries, path := d.byState(b, "answers")
	for _, e := range entries {
		at := join(path, e.name)
		a := StateAnswers{State: Word{e.name, d.pos(e.key), at}, Every: e.val.Kind != yaml.SequenceNode}
		list := []*yaml.Node{e.val}
		if !a.Every {
			list = e.val.Content
		}
		if len(list) == 0 || isNull(e.val) {
			d.errorf(d.pos(e.key), at, "range", "%s has no answer; expected a verdict, a mapping, or a list of these",
				quote(e.name))
			continue
		}
		for i, n := range list {
			where := at
			if !a.Every {
				where += "[" + strconv.Itoa(i) + "]"
			}
			a.List = append(a.List, d.answer(deref(n), where))
		}
		c.Answers = append(c.Answers, a)
	}
}

func (d *decoder) answer(n *yaml.Node, path string) Answer {
	a := Answer{Pos: d.pos(n)}
	if n.Kind == yaml.ScalarNode && !isNull(n) {
		a.Verdict = n.Value
		if strings.TrimSpace(n.Value) == "" {
			d.errorf(a.Pos, path, "bad-value", "a verdict is missing")
		}
		return a
	}
	b := d.block(n, InAnswer, path)
	b.unknown()
	a.Verdict, a.Output, a.Stderr, a.Timeout = b.text("verdict"), b.text("output"), b.text("stderr"), b.text("timeout")
	a.Status, a.Failure, a.Tokens, a.Details = b.int("status"), fsm.Failure(b.text("failure")), b.int("tokens"),
		b.mapping("details")
	if b.has("exit_code") {
		a.ExitCode = new(b.int("exit_code"))
	}
	if b.has("cost_usd") {
		a.Cost = new(b.number("cost_usd"))
	}
	if a.Failure != "" && a.ExitCode != nil && *a.ExitCode == 0 {
		d.errorf(b.pos("exit_code"), join(path, "exit_code"), "bad-value",
			"a prompt that failed has another exit code than 0")
	}
	return a
}

func (d *decoder) expect(b *block, c *Case) {
	x := &c.Expect
	x.Path, x.Never, x.State = b.words("path"), b.words("never"), b.word("state")
	x.Guarded, x.Sandboxed = b.words("guarded"), b.words("sandboxed")
	x.Captures, x.Context, x.Outcome = b.mapping("captures"), b.mapping("context"), b.text("outcome")
	if b.has("message") {
		x.Message = new(b.text("message"))
	}
	if b.has("max_cost_usd") {
		x.MaxCost = new(b.number("max_cost_usd"))
	}
	if b.at.Kind == yaml.MappingNode && len(b.at.Content) == 0 {
		d.errorf(d.pos(b.at), b.path, "range", "expect is empty; expected a path, an outcome, or another thing that "+
			"has to come of the case")
	}
	key := &Key{Name: "verdicts", In: InExpect, Type: TypeTexts}
	entries, path := d.byState(b, "verdicts")
	for _, e := range entries {
		v := StateVerdicts{State: Word{e.name, d.pos(e.key), join(path, e.name)}}
		if e.val.Kind == yaml.SequenceNode {
			v.List, _ = d.texts(e.val, join(path, e.name), key).([]string)
		} else if text, ok := d.text(e.val, join(path, e.name), "a verdict"); ok {
			v.List = []string{text}
		}
		x.Verdicts = append(x.Verdicts, v)
	}
}

// word returns a text with its place.
func (b *block) word(name string) Word { return Word{b.text(name), b.pos(name), join(b.path, name)} }

// words returns the texts of a list with their places; nil where there is no list.
func (b *block) words(name string) []Word {
	f, ok := b.fields[name]
	if !ok || f.val == nil {
		return nil
	}
	words := []Word{}
	for i, n := range f.node.Content {
		n = deref(n)
		words = append(words, Word{n.Value, b.d.pos(n), join(b.path, name) + "[" + strconv.Itoa(i) + "]"})
	}
	return words
}
