package worker

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"loops/engine"
	"loops/fsm/value"
	"loops/internal/config"
)

// A field that has no place in the JSON would be lost between two processes.
func TestHandoverLosesNothing(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"Start", "Resume", "Fork"} {
		var h Handover
		fill(t, reflect.ValueOf(&h).Elem(), kind)
		h.Version = HandoverVersion
		b, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadHandover(strings.NewReader(string(b)))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, h) {
			again, _ := json.Marshal(got)
			t.Errorf("%s: %+v\nis read as %s\nand was %s", kind, got, again, b)
		}
	}
}

// fill sets every field of v that travels to what is not its zero. Of an engine.Request it sets one.
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
			if v.Type().Field(i).Tag.Get("json") != "-" {
				fill(t, v.Field(i), request)
			}
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
	t.Parallel()
	for text, want := range map[string]string{
		``: "what was asked for cannot be read: unexpected end of JSON input",
		`{"version":2,"request":{"start":{}}}`: "asked for in version 2, and this program reads version 1: another " +
			"version of loops was installed meanwhile",
		`{"request":{"start":{}}}`: "asked for in version 0",
		`{"version":1,"request":{}}`: "a request is one of start, resume and fork, and " +
			"this one is 0 of them",
		`{"version":1,"request":{"start":{},"resume":{}}}`:        "this one is 2 of them",
		`{"version":1,"request":{"start":{}},"force":true}`:       `unknown field "force"`,
		`{"version":1,"request":{"start":{"lop":"x"}}}`:           `unknown field "lop"`,
		`{"version":1,"request":{"start":{"over":{"steps":1}}}}`:  `unknown field "steps"`,
		`{"version":1,"request":{"start":{"loop":1}}}`:            "cannot unmarshal number",
		`{"version":1,"request":{"resume":{"extend":{"By2":1}}}}`: `unknown field "By2"`,
	} {
		_, err := ReadHandover(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := ReadHandover(strings.NewReader(`{"version":1,"request":{"start":{"loop":"fix"}}}`)); err != nil {
		t.Error(err)
	}
}
