package loopfile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"loops/internal/testenv"
)

// TestSuitesAreNoLoops: a file of tests is found by no name, and in no list.
func TestSuitesAreNoLoops(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const loop = "name: fix\ninitial: done\nstates: {done: {terminal: true}}\n"
	for name, text := range map[string]string{
		"fix.yaml": loop, "fix.test.yaml": loop,
		"team/other.test.yaml": "cases: {}\n", "runs/x.test.yaml": "cases: {}\n",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err !=
			nil {
			t.Fatal(err)
		}
	}
	l := &Loader{Loops: dir}
	list, err := l.List(dir)
	if err != nil || len(list) != 1 || list[0].Name != "fix" {
		t.Errorf("the list is %v, %v", list, err)
	}
	if IsLoop(filepath.Join(dir, "fix.test.yaml")) {
		t.Error("a file of tests is a loop")
	}
	for _, name := range []string{"fix.test", "fix.test.yaml", filepath.Join(dir, "fix.test.yaml")} {
		path, err := l.Resolve(name, dir)
		missing, ok := errors.AsType[*NotFoundError](err)
		if !ok || !strings.Contains(missing.Error(), "fix.test.yaml holds tests of a loop") {
			t.Errorf("%s: found %s, %v", name, path, err)
		}
	}
	if path := l.Named("fix.test"); path != "" {
		t.Errorf("fix.test is %s", path)
	}
	suites, err := Suites(dir)
	want := []string{filepath.Join(dir, "fix.test.yaml"), filepath.Join(dir, "team", "other.test.yaml")}
	if err != nil || !slices.Equal(suites, want) {
		t.Errorf("the files of tests are %v, %v", suites, err)
	}
}

// TestSuiteSchema compares the schema with the file of it, and shows it files of tests, good and bad.
func TestSuiteSchema(t *testing.T) {
	t.Parallel()
	testenv.Golden(t, "testdata/tests.schema.json", string(SuiteSchema()))
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(SuiteSchema())))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("tests.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("tests.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for text, good := range map[string]bool{
		"cases: {a: {answers: {x: 'yes', y: ['no', {exit_code: 1, output: z}]}, " +
			"expect: {path: [x], verdicts: {x: ['no'], y: 'yes'}}}}": true,
		"cases: {a: {expect: {outcome: completed}}}": true,
		"cases: {}":                                         false,
		"cases: {a: {}}":                                    false,
		"case: {a: {expect: {}}}":                           false,
		"cases: {a: {expect: {pth: [x]}}}":                  false,
		"cases: {a: {expect: {outcome: good}}}":             false,
		"cases: {a: {answers: {x: []}, expect: {}}}":        false,
		"cases: {a: {answers: {x: {exit: 1}}, expect: {}}}": false,
	} {
		doc, ok := asJSON([]byte(text))
		if err := schema.Validate(doc); !ok || (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}
