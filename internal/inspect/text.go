package inspect

import "loops/fsm/value"

// Text returns a value of an event as people read it: text as it is, nothing for null.
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	return string(value.AppendJSON(nil, v))
}
