package terminal

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"iter"

	"loops/fsm/value"
)

// WriteJSON prints a value with two-space indent and a line end.
func WriteJSON(w io.Writer, v any) error {
	_, err := w.Write(append(value.AppendJSONIndent(nil, v, "  "), '\n'))
	return err
}

// WriteJSONLine prints a value on one line.
func WriteJSONLine(w io.Writer, v any) error {
	_, err := w.Write(append(value.AppendJSON(nil, v), '\n'))
	return err
}

// WriteLongJSON is WriteJSON of an object whose list under key, which is empty, gets n items, made one by one.
func WriteLongJSON(w io.Writer, object any, key string, n int, item func(int) any) error {
	if n == 0 {
		return WriteJSON(w, object)
	}
	out := bufio.NewWriter(w)
	before, after, _ := bytes.Cut(value.AppendJSONIndent(nil, object, "  "), []byte("\n  \""+key+"\": []"))
	fmt.Fprintf(out, "%s\n  %q: [", before, key)
	between := ""
	for i := range n {
		text := value.AppendJSONIndent(nil, item(i), "  ")
		fmt.Fprintf(out, "%s\n    %s", between, bytes.ReplaceAll(text, []byte("\n"), []byte("\n    ")))
		between = ","
	}
	fmt.Fprintf(out, "\n  ]%s\n", after)
	return out.Flush()
}

// WriteJSONList is WriteJSON of a list whose items are made one by one. Nothing of it is printed where an error comes
// within its first 64 KiB.
func WriteJSONList(w io.Writer, items iter.Seq2[any, error]) error {
	out := bufio.NewWriterSize(w, 64<<10)
	before, end := "[\n  ", "[]\n"
	var text []byte
	for item, err := range items {
		if err != nil {
			return err
		}
		text = value.AppendJSONIndent(text[:0], item, "  ")
		fmt.Fprintf(out, "%s%s", before, bytes.ReplaceAll(text, []byte("\n"), []byte("\n  ")))
		before, end = ",\n  ", "\n]\n"
	}
	fmt.Fprint(out, end)
	return out.Flush()
}

// Before returns a writer to w that calls do before each write.
func Before(w io.Writer, do func()) io.Writer { return before{w, do} }

type before struct {
	io.Writer
	do func()
}

func (w before) Write(b []byte) (int, error) {
	w.do()
	return w.Writer.Write(b)
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
