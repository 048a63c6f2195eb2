package terminal

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

// WriteJSON prints a value with two-space indent and a line end.
func WriteJSON(w io.Writer, v any) error {
	_, err := w.Write(append(value.AppendJSONIndent(nil, v, "  "), '\n'))
	return err
}

// WriteLongJSON is writeJSON of an object in which a list of n items, made one by one, is under key.
func WriteLongJSON(w io.Writer, m *value.Map, key string, n int, item func(int) any) error {
	out := bufio.NewWriter(w)
	const indent = "  "
	var buf []byte
	val := func(v any, depth int) {
		buf = value.AppendJSONIndent(buf[:0], v, indent)
		out.Write(bytes.ReplaceAll(buf, []byte("\n"), []byte("\n"+strings.Repeat(indent, depth)))) //nolint:errcheck // Flush returns it
	}
	between := "{\n"
	for _, k := range m.Keys() {
		out.WriteString(between + indent) //nolint:errcheck // as above
		between = ",\n"
		val(k, 0)
		out.WriteString(": ") //nolint:errcheck // as above
		v, _ := m.Get(k)
		if k != key || n == 0 {
			if k == key {
				v = []any{}
			}
			val(v, 1)
			continue
		}
		for i := range n {
			out.WriteString(map[bool]string{true: "[\n", false: ",\n"}[i == 0] + indent + indent) //nolint:errcheck // as above
			val(item(i), 2)
		}
		out.WriteString("\n" + indent + "]") //nolint:errcheck // as above
	}
	out.WriteString("\n}\n") //nolint:errcheck // as above
	return out.Flush()
}

// Stamp writes a time as the files do, UTC with microseconds; the zero time is null.
func Stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return fsm.FormatTime(t)
}

// OrNull returns nil for "".
func OrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// List returns a list that is [] in JSON when it is empty.
func List[T any](items []T, value func(T) any) []any {
	values := make([]any, 0, len(items))
	for _, item := range items {
		values = append(values, value(item))
	}
	return values
}

// Texts returns a list of strings as a list of values.
func Texts(items []string) []any { return List(items, func(s string) any { return s }) }

// EventObject is an event as one JSON object, with the keys it has in the event file.
func EventObject(e fsm.Event) *value.Map {
	m := value.NewMap("event", e.Kind, "ts", Stamp(e.Time), "seq", e.Seq)
	for _, f := range e.Fields {
		m.Set(f.Key, f.Value)
	}
	if e.Depth > 0 {
		m.Set("depth", int64(e.Depth))
	}
	return m
}
