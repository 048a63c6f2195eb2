package loopfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"gopkg.in/yaml.v3"

	"loops/fsm"
)

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
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
	d := &decoder{file: "x.yaml", data: data}
	root, ok := d.document()
	if !ok {
		return nil, false
	}
	return jsonOf(d, root), true
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

// why says in one line what a schema has against a document: the innermost of the first reasons.
func why(err error) string {
	var e *jsonschema.ValidationError
	if !errors.As(err, &e) {
		return err.Error()
	}
	for len(e.Causes) > 0 {
		// A text where a block or nothing is expected: the block is what was meant.
		next := e.Causes[0]
		for _, c := range e.Causes {
			if _, isType := next.ErrorKind.(*kind.Type); isType && len(c.InstanceLocation) > len(next.InstanceLocation) {
				next = c
			}
		}
		e = next
	}
	text := e.Error()
	return "/" + strings.Join(e.InstanceLocation, "/") + text[strings.LastIndex(text, "': ")+2:]
}

// TestSchemaProblems writes down, for every broken file, whether an editor that has only the schema shows that it is
// broken. What the program accepts the schema must accept.
func TestSchemaProblems(t *testing.T) {
	schema := compileSchema(t)
	files, err := filepath.Glob("testdata/problems/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	var b strings.Builder
	b.WriteString("# What the schema says of each file in problems: rejected, and why; unseen, and which rules of loops reject it;\n# accepted, as loops does; no YAML. Rewritten by go test -run TestSchema -update.\n")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		loop, problems := Parse(file, data)
		says := "no YAML"
		if doc, ok := asJSON(data); ok {
			err := schema.Validate(doc)
			switch {
			case err != nil:
				says = "rejected  " + why(err)
				if loop != nil {
					t.Errorf("%s: the schema rejects what loads: %v", file, err)
				}
			case loop != nil:
				says = "accepted"
			default:
				says = "unseen    " + strings.Join(errorRules(problems), ", ")
			}
		}
		fmt.Fprintf(&b, "%-34s %s\n", strings.TrimSuffix(filepath.Base(file), ".yaml"), says)
	}
	golden(t, "testdata/schema.txt", b.String())
}

func errorRules(problems []fsm.Problem) []string {
	var rules []string
	for _, p := range problems {
		if p.Severity == fsm.SeverityError && !slices.Contains(rules, p.Rule) {
			rules = append(rules, p.Rule)
		}
	}
	return rules
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	old := strings.Split(string(want), "\n")
	for _, line := range strings.Split(got, "\n") {
		if !slices.Contains(old, line) {
			t.Errorf("%s lacks\n%s", name, line)
		}
	}
	t.Errorf("%s is out of date; if that is right: go test ./fsm/loopfile -run %s -update", name, t.Name())
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
	schema := compileSchema(t)
	for dir, least := range map[string]int{"../../.loops.example": 5, "../../cmd/loops/testdata/conformance/cases": 100, catalog: 0} {
		n := 0
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) && dir == catalog {
				t.Logf("%s is not there: nothing of it was looked at", dir)
				return nil
			}
			if err != nil || e.IsDir() || filepath.Ext(path) != ".yaml" {
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
