package snapshot

import (
	"reflect"
	"testing"

	"loops/fsm"
	"loops/fsm/value"
)

// A field of the Snapshot that is not in the layout would be forgotten at a crash.
func TestLayoutHasEveryField(t *testing.T) {
	t.Parallel()
	named := map[string]int{}
	for _, f := range layout {
		if f.name != "" {
			named[f.name]++
		}
		if byKey[f.key].name != f.name {
			t.Errorf("two fields have the key %s", f.key)
		}
	}
	for i := range reflect.TypeFor[fsm.Snapshot]().NumField() {
		name := reflect.TypeFor[fsm.Snapshot]().Field(i).Name
		if named[name] != 1 {
			t.Errorf("fsm.Snapshot.%s has %d keys in state.json, want 1", name, named[name])
		}
	}
	for _, parts := range []struct {
		of   reflect.Type
		want int
	}{
		{reflect.TypeFor[fsm.Result](), 14},
		{reflect.TypeFor[fsm.Response](), 3},
		{reflect.TypeFor[fsm.Reply](), 18},
		{reflect.TypeFor[fsm.Usage](), 4},
		{reflect.TypeFor[fsm.Spent](), 7},
		{reflect.TypeFor[fsm.Unsure](), 3},
		{reflect.TypeFor[fsm.Outcome](), 20},
		{reflect.TypeFor[fsm.StallRecord](), 3},
		{reflect.TypeFor[fsm.Repeat](), 3},
		{reflect.TypeFor[fsm.Answer](), 3},
		{reflect.TypeFor[fsm.Child](), 8},
		{reflect.TypeFor[fsm.BranchMemory](), 3},
		{reflect.TypeFor[fsm.RateLimit](), 4},
		{reflect.TypeFor[fsm.Session](), 3},
		{reflect.TypeFor[fsm.Wait](), 15},
		{reflect.TypeFor[fsm.Awaiting](), 17},
		{reflect.TypeFor[fsm.Items](), 8},
		{reflect.TypeFor[fsm.Raised](), 3},
		{reflect.TypeFor[fsm.Raise](), 6},
	} {
		if n := parts.of.NumField(); n != parts.want {
			t.Errorf("%s has %d fields; this package writes %d", parts.of, n, parts.want)
		}
	}
}

func TestIndent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, want string }{
		{`{}`, `{}`},
		{`{"a": {}, "b": []}`, "{\n  \"a\": {},\n  \"b\": []\n}"},
		{`{"a": "x, {\" \\"}`, "{\n  \"a\": \"x, {\\\" \\\\\"\n}"},
		{`[1, [2, {"k": null}]]`, "[\n  1,\n  [\n    2,\n    {\n      \"k\": null\n    }\n  ]\n]"},
	} {
		if got := string(AppendIndented(nil, []byte(c.line))); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.line, got, c.want)
		}
		v, err := value.ParseJSON([]byte(c.line))
		if err != nil {
			t.Fatal(err)
		}
		if same := string(value.AppendJSONIndent(nil, v, "  ")); same != c.want {
			t.Errorf("fsm writes it as %s", same)
		}
	}
}
