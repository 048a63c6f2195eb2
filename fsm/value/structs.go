package value

import (
	"fmt"
	"iter"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// A JSONValuer is written as the value that it returns.
type JSONValuer interface{ JSONValue() any }

// appendGo writes a value that is not of the language. A struct has the keys that its json tags name, in their order
// and with omitempty as in encoding/json. A nil slice is [], the keys of a map are sorted. What has a text of its own
// is that text.
func appendGo(dst []byte, v any, indent, newline string) []byte {
	switch v := v.(type) {
	case JSONValuer:
		return appendJSON(dst, v.JSONValue(), indent, newline)
	case fmt.Stringer, error:
		return AppendJSONString(dst, fmt.Sprint(v))
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Pointer:
		if r.IsNil() {
			return append(dst, "null"...)
		}
		return appendJSON(dst, r.Elem().Interface(), indent, newline)
	case reflect.String:
		return AppendJSONString(dst, r.String())
	case reflect.Bool:
		return strconv.AppendBool(dst, r.Bool())
	case reflect.Int, reflect.Int64:
		return strconv.AppendInt(dst, r.Int(), 10)
	case reflect.Slice:
		w := beginJSON(dst, '[', indent, newline)
		for i := range r.Len() {
			w.next()
			w.dst = appendJSON(w.dst, r.Index(i).Interface(), indent, w.inner)
		}
		return w.end(']', newline)
	case reflect.Map:
		items := make(map[string]any, r.Len())
		for k, e := range r.Seq2() {
			items[k.String()] = e.Interface()
		}
		w := beginJSON(dst, '{', indent, newline)
		for _, k := range sortedKeys(items) {
			w.key(k)
			w.dst = appendJSON(w.dst, items[k], indent, w.inner)
		}
		return w.end('}', newline)
	case reflect.Struct:
		w := beginJSON(dst, '{', indent, newline)
		for k, v := range fields(r) {
			w.key(k)
			w.dst = appendJSON(w.dst, v, indent, w.inner)
		}
		return w.end('}', newline)
	}
	return AppendJSONString(dst, fmt.Sprint(v))
}

// Object returns a struct as an object with the keys that it is written with.
func Object(v any) *Map {
	m := new(Map)
	for k, v := range fields(reflect.ValueOf(v)) {
		m.Set(k, v)
	}
	return m
}

// fields yields the keys of a struct and their values. It leaves out what is absent.
func fields(r reflect.Value) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for _, k := range keysOf(r.Type()) {
			f, err := r.FieldByIndexErr(k.index) // of an embedded pointer that is nil there is none
			if err != nil || k.optional && (f.IsZero() || f.Kind() == reflect.Slice && f.Len() == 0) {
				continue
			}
			if !yield(k.name, f.Interface()) {
				return
			}
		}
	}
}

// A structKey is a key of a struct in JSON.
type structKey struct {
	name     string
	index    []int
	optional bool // absent when it is zero
}

var structKeys sync.Map // the []structKey of each reflect.Type that was written

func keysOf(t reflect.Type) []structKey {
	if known, ok := structKeys.Load(t); ok {
		return known.([]structKey) //nolint:errcheck // nothing else is stored
	}
	var keys []structKey
	for _, f := range reflect.VisibleFields(t) {
		if name, more, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			keys = append(keys, structKey{name, f.Index, more == "omitempty"})
		}
	}
	structKeys.Store(t, keys)
	return keys
}
