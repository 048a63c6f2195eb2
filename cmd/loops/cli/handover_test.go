package cli

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"loops/engine"
	"loops/fsm/value"
	"loops/internal/config"
)

// notHanded are the flags that mean nothing to the process of a run, because they are done when it is started, and those that
// are looked at apart.
var notHanded = []string{"background", "dry-run", "help", "color", "output", "items", "follow"}

// flagValues are values that flags take, where a text does not do.
var flagValues = map[string]string{
	"store": "sqlite:x.db", "budget": "cost=3", "permissions": "skip", "durability": "none", "extend": "steps=2", "format": "json", "context": "a=b", "set": "a=b",
	"definition": "recorded", "queue-timeout": "90s", "worktree-end": "merge", "at": "3",
}

// flagNeeds are flags without which another one is refused.
var flagNeeds = map[string][]string{"queue-timeout": {"--queue"}, "worktree-end": {"--worktree"}}

// A flag of run, resume or fork that was not handed to the process of a run in the background would do nothing with -b.
func TestEveryFlagIsHandedOver(t *testing.T) {
	for _, line := range [][]string{{"run", "fix"}, {"resume", "fix"}, {"fork", "fix", "--at=2"}} {
		without := func(args ...string) []string { return append(append(slices.Clone(line), "-b"), args...) }
		var flags []*pflag.Flag
		for _, cmd := range newRootCommand(&app{}, "").Commands() {
			if cmd.Name() == line[0] {
				cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f) })
			}
		}
		if len(flags) < 20 {
			t.Fatalf("%s has %d flags", line[0], len(flags))
		}
		for _, f := range flags {
			if slices.Contains(notHanded, f.Name) {
				continue
			}
			arg := "--" + f.Name + "=" + flagValues[f.Name]
			switch {
			case f.Value.Type() == "bool":
				arg = "--" + f.Name
			case flagValues[f.Name] == "" && strings.Contains("int float64", f.Value.Type()):
				arg += "7"
			case flagValues[f.Name] == "":
				arg += "word"
			}
			needs := flagNeeds[f.Name]
			with, without := handed(t, without(append(slices.Clone(needs), arg)...)), handed(t, without(needs...))
			if reflect.DeepEqual(with, without) {
				t.Errorf("%s -b: %s is not handed over: %+v", line[0], arg, with)
			}
		}
	}
	if h := handed(t, []string{"run", "fix", "-b", "the input"}); h.Request.Start == nil || h.Request.Start.Input == nil || *h.Request.Start.Input != "the input" {
		t.Errorf("the input is not handed over: %+v", h)
	}
	if h := handed(t, []string{"run", "fix", "-b", "--color=always"}); h.View.Color != "always" {
		t.Errorf("--color is not handed over: %+v", h)
	}
	if h := handed(t, []string{"run", "fix", "-b", "--format=junit", "-o", "x.xml"}); h.View.Format != "junit" || h.View.File != "x.xml" {
		t.Errorf("-o is not handed over: %+v", h)
	}
	if h := handed(t, []string{"-C", ".", "run", "fix", "-b"}); h.Project != "." {
		t.Errorf("-C is not handed over: %+v", h)
	}
}

// handed is what a command line hands to the process of its run, as that reads it, without the words that only messages quote.
func handed(t *testing.T, args []string) handover {
	t.Helper()
	var wire []byte
	stop := errors.New("far enough")
	var said strings.Builder
	a := &app{IO: IO{In: strings.NewReader(""), Out: io.Discard, Err: &said, Dir: t.TempDir(), Env: []string{}}}
	a.spawn = func(h handover) (*spawned, error) {
		h.Dir = ""
		wire, _ = json.Marshal(h)
		return nil, stop
	}
	a.execute(t.Context(), args)
	if wire == nil {
		t.Fatalf("loops %s hands nothing over, and says: %s", strings.Join(args, " "), said.String())
	}
	h, err := readHandover(strings.NewReader(string(wire)))
	if err != nil {
		t.Fatal(err)
	}
	h.Words = nil
	return h
}

// A field that has no place in the JSON would be lost between two processes.
func TestHandoverLosesNothing(t *testing.T) {
	for _, kind := range []string{"Start", "Resume", "Fork"} {
		var h handover
		fill(t, reflect.ValueOf(&h).Elem(), kind)
		h.Version = handoverVersion
		b, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		got, err := readHandover(strings.NewReader(string(b)))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, h) {
			again, _ := json.Marshal(got)
			t.Errorf("%s: %+v\nis read as %s\nand was %s", kind, got, again, b)
		}
	}
}

// fill sets every field of v, but those that only mean something in one process, to what is not its zero. Of an engine.Request it
// sets one.
func fill(t *testing.T, v reflect.Value, request string) {
	t.Helper()
	switch v.Interface().(type) {
	case engine.Warn, *config.Config:
		return
	case *value.Map:
		v.Set(reflect.ValueOf(value.NewMap("n", int64(1), "f", 1.5, "in", value.NewMap("l", []any{true, nil, "x"}))))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type() == reflect.TypeFor[engine.Request]() && v.Type().Field(i).Name != request {
				continue
			}
			fill(t, v.Field(i), request)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), request)
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0), request)
	case reflect.Map:
		of := reflect.New(v.Type().Elem()).Elem()
		fill(t, of, request)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key"), of)
	default:
		t.Fatalf("%s: a field of a kind that the test does not know", v.Type())
	}
}

func TestHandoverThatIsNotUnderstood(t *testing.T) {
	for text, want := range map[string]string{
		``:                                     "what was asked for cannot be read: unexpected end of JSON input",
		`{"version":2,"request":{"start":{}}}`: "asked for in version 2, and this program reads version 1: another version of loops was installed meanwhile",
		`{"request":{"start":{}}}`:             "asked for in version 0",
		`{"version":1,"request":{}}`:           "a request is one of start, resume and fork, and this one is 0 of them",
		`{"version":1,"request":{"start":{},"resume":{}}}`:        "this one is 2 of them",
		`{"version":1,"request":{"start":{}},"force":true}`:       `unknown field "force"`,
		`{"version":1,"request":{"start":{"lop":"x"}}}`:           `unknown field "lop"`,
		`{"version":1,"request":{"start":{"over":{"steps":1}}}}`:  `unknown field "steps"`,
		`{"version":1,"request":{"start":{"loop":1}}}`:            "cannot unmarshal number",
		`{"version":1,"request":{"resume":{"extend":{"By2":1}}}}`: `unknown field "By2"`,
	} {
		_, err := readHandover(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := readHandover(strings.NewReader(`{"version":1,"request":{"start":{"loop":"fix"}}}`)); err != nil {
		t.Error(err)
	}
}
