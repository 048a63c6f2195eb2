package loopfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"loops/internal/testenv"
)

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema(nil)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("loop.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("loop.schema.json") // also checks it against the schema of schemas
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// asJSON turns a file into what an editor hands to a schema: the scalars of YAML 1.2, merge keys filled in. It
// reports false for what is no YAML document.
func asJSON(data []byte) (any, bool) {
	d := newDecoder(newSource("x.yaml", nil, data), nil)
	if d.main.root == nil {
		return nil, false
	}
	return jsonOf(d, d.main.root), true
}

func jsonOf(d *decoder, n *yaml.Node) any {
	switch n = deref(n); n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		for _, e := range d.entries(n, "") {
			m[e.name] = jsonOf(d, e.val)
		}
		return m
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, c := range n.Content {
			list = append(list, jsonOf(d, c))
		}
		return list
	}
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(n.Value, "true")
	case "!!int", "!!float":
		if f, ok := number(n); ok {
			return json.Number(fmt.Sprint(f))
		}
	}
	return n.Value
}

// why says in one line what a schema has against a document: the first of the reasons by place.
func why(err error) string {
	e, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return err.Error()
	}
	reasons := innermost(e)
	// A key that takes a mapping or nothing is also said not to be nothing, which does not help a user.
	if some := slices.DeleteFunc(slices.Clone(reasons), func(r string) bool {
		return strings.HasSuffix(r, ", want null")
	}); len(some) > 0 {
		reasons = some
	}
	return slices.Min(reasons)
}

func innermost(e *jsonschema.ValidationError) (reasons []string) {
	for _, c := range e.Causes {
		reasons = append(reasons, innermost(c)...)
	}
	if reasons == nil {
		text := e.Error()
		reasons = []string{"/" + strings.Join(e.InstanceLocation, "/") + text[strings.LastIndex(text, "': ")+2:]}
	}
	return reasons
}

// TestSchemaProblems writes down, for every file with an error, whether an editor that has only the schema shows that
// it is broken. Files with warnings alone it must accept.
func TestSchemaProblems(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	var rows strings.Builder
	for _, file := range globbed(t, "testdata/problems/*.yaml") {
		says, rules := judge(t, schema, file), errorRules(t, file)
		switch {
		case rules == nil && says != "":
			t.Errorf("%s: the schema rejects what loads: %s", file, says)
		case rules == nil:
			continue
		case says == "":
			says = "unseen    " + strings.Join(rules, ", ")
		}
		fmt.Fprintf(&rows, "%-34s %s\n", strings.TrimSuffix(filepath.Base(file), ".yaml"), says)
	}
	testenv.Golden(t, "testdata/schema.txt",
		`# What the schema says of each file with an error: rejected, and why; unseen, and which rules of loops reject it; no YAML.
# Rewritten by go test ./fsm/loopfile -run TestSchema -update.
`+rows.String())

	// The rules of lint are about what texts hold and how states lead to each other: little of that shows in a schema.
	for _, file := range globbed(t, "../lint/testdata/*.yaml") {
		if says := judge(t, schema, file); says != "" && errorRules(t, file) == nil {
			t.Errorf("%s: the schema rejects what loads: %s", file, says)
		}
	}
	if says := judge(t, schema, "../lint/testdata/bash-default.yaml"); !strings.Contains(says, "which has no :- form") {
		t.Errorf("${NAME:-...}: %s", says)
	}
}

func globbed(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatal(pattern, len(files), err)
	}
	return files
}

// judge returns what the schema has against a file; "" is nothing. Of several files in one text, it is the first.
func judge(t *testing.T, schema *jsonschema.Schema, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	data, _, _ = bytes.Cut(data, []byte("\n-- "))
	doc, ok := asJSON(data)
	if !ok {
		return "no YAML"
	}
	if err := schema.Validate(doc); err != nil {
		return "rejected  " + why(err)
	}
	return ""
}

var errorLine = regexp.MustCompile(`(?m)^\S.*: error: .*\[([a-z-]+)\]$`)

// errorRules are the rules that reject a broken file, in the order of its mistakes.
func errorRules(t *testing.T, file string) (rules []string) {
	t.Helper()
	out, err := os.ReadFile(strings.TrimSuffix(file, ".yaml") + ".out")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range errorLine.FindAllStringSubmatch(string(out), -1) {
		if !slices.Contains(rules, m[1]) {
			rules = append(rules, m[1])
		}
	}
	return rules
}

// What the schema rejects in the folders of TestSchemaAccepts, and rightly.
var rejected = map[string]string{
	// A parent that lacks initial looks like a loop whose author forgot it. The second is far more frequent, and the
	// first can do something about it.
	"catalog/lib/apo-base.yaml":          "missing property 'initial'",
	"retry-needs-target/loops/main.yaml": "missing property 'on_retry_exhausted'",
}

// TestSchemaAccepts shows the schema whole folders of loops, parents and libraries. The catalog of loops by others is
// not part of this repository; where it is missing, the other folders are looked at all the same.
func TestSchemaAccepts(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	for dir, least := range map[string]int{"../../.loops.example": 5, conformanceCases(t): 100, catalog: 0} {
		n := 0
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) && dir == catalog {
				t.Logf("%s is not there: nothing of it was looked at", dir)
				return nil
			}
			if err != nil || e.IsDir() || filepath.Ext(path) != ".yaml" || IsSuite(path) {
				return err
			}
			n++
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			doc, ok := asJSON(data)
			if !ok {
				return nil
			}
			rel, _ := filepath.Rel(dir, path)
			err = schema.Validate(doc)
			switch reason := rejected[filepath.ToSlash(rel)]; {
			case err == nil && reason != "":
				t.Errorf("%s: the schema accepts it; expected that it says %s", path, reason)
			case err != nil && (reason == "" || !strings.Contains(why(err), reason)):
				t.Errorf("%s: %s", path, why(err))
			}
			return nil
		})
		if err != nil || n < least {
			t.Errorf("%s: %d files, %v", dir, n, err)
		}
	}
}

const catalog = "../../../shared/corpus"

// conformanceCases returns a folder with the loops of all conformance cases, each in a folder of its own.
func conformanceCases(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, c := range testenv.Cases(t, "../../cmd/loops/testdata/conformance/cases/*.txtar") {
		c.Unpack(t, "loops", filepath.Join(dir, c.Name, "loops"), "", "")
	}
	return dir
}

// TestSchemaOfSpecialKeys wants a schema of their own for the keys that are decoded by code of their own.
func TestSchemaOfSpecialKeys(t *testing.T) {
	t.Parallel()
	for _, k := range Keys() {
		if k.Type == TypeSpecial && k.Status == StatusLive && specialSchema(&k) == nil {
			t.Errorf("%s may hold anything", k.full())
		}
	}
}
