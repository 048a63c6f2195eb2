package expr

import (
	"fmt"
	"slices"
	"strings"

	"loops/fsm/value"
)

// dataFilters read a text as data: of an output that is cut they need all.
var dataFilters = []string{filterLines, filterFirst, filterLast, filterJSON}

// isData reports whether a reference with these filters is read as data.
func (s *Scope) isData(filters []string) bool {
	return s.AsData || slices.ContainsFunc(filters, func(f string) bool { return slices.Contains(dataFilters, f) })
}

// An UnreadableError reports that all of a text that is cut is needed and cannot be read.
type UnreadableError struct {
	Name string // as in captured.list.output
	Err  error  // of its file; nil = it has none
}

func (e *UnreadableError) Error() string {
	text := e.Name + " is cut, and all of it is needed here: "
	if e.Err == nil {
		return text + "it has no file; let the action write it into one"
	}
	return text + "its file cannot be read: " + e.Err.Error()
}

// Unwrap returns what kept the file from being read.
func (e *UnreadableError) Unwrap() error { return e.Err }

// cutKeys are the texts of a record that may be cut, and the keys that say so.
var cutKeys = map[string]string{"output": "truncated", "stderr": "stderr_truncated"}

// IsCut reports whether a value is the record of an action whose output or stderr, as key says, is not all there was.
func IsCut(v any, key string) bool {
	rec, _ := v.(*value.Map)
	cut, _ := rec.Value(cutKeys[key]).(bool)
	_, isText := rec.Value(key).(string)
	return cut && isText
}

// WholeText returns all of a text of a record that is cut, without the line ends at its end unless the record
// is [Scope.Prev]. name is how a loop refers to the record. An error is an [*UnreadableError].
func (s *Scope) WholeText(rec *value.Map, key, name string) (string, error) {
	name += "." + key
	file, _ := rec.Value("file").(string)
	if file == "" || key != "output" || s.ReadText == nil {
		return "", &UnreadableError{Name: name}
	}
	text, err := s.ReadText(file)
	if err != nil {
		return "", &UnreadableError{name, err}
	}
	if rec != s.Prev {
		text = strings.TrimRight(text, "\r\n")
	}
	return text, nil
}

// data returns a value that was found under a path as data.
func (s *Scope) data(namespace, path string, v any) (any, error) {
	if namespace != "captured" && namespace != "prev" && namespace != "item" {
		return v, nil
	}
	if i := strings.LastIndexByte("."+path, '.'); cutKeys[path[i:]] != "" {
		record, key := ("." + path)[:i], path[i:]
		of := any(map[string]*value.Map{"captured": s.Captured, "prev": s.Prev, "item": s.Item}[namespace])
		if record != "" {
			of, _ = s.resolve(namespace, record[1:])
		}
		if IsCut(of, key) {
			return s.WholeText(of.(*value.Map), key, namespace+record)
		}
	}
	return s.Whole(v, strings.TrimSuffix(namespace+"."+path, "."))
}

// Whole returns a value with all of every text in it that is cut. name is how a loop refers to it. An error is
// an [*UnreadableError].
func (s *Scope) Whole(v any, name string) (any, error) {
	switch v := v.(type) {
	case *value.Map:
		all := v
		for _, k := range v.Keys() {
			was := v.Value(k)
			is, err := s.Whole(was, name+"."+k)
			if err == nil && IsCut(v, k) {
				is, err = s.WholeText(v, k, name)
			}
			if err != nil {
				return nil, err
			}
			if IsCut(v, k) || isContainer(was) {
				if all == v {
					all = v.Clone()
				}
				all.Set(k, is)
			}
		}
		return all, nil
	case []any:
		list := make([]any, len(v))
		for i, was := range v {
			is, err := s.Whole(was, fmt.Sprintf("%s.%d", name, i))
			if err != nil {
				return nil, err
			}
			list[i] = is
		}
		return list, nil
	}
	return v, nil
}

func isContainer(v any) bool {
	switch v.(type) {
	case *value.Map, []any:
		return true
	}
	return false
}
