package loopfile

import (
	"bytes"
	"encoding/json"
)

// A jsonObject is a JSON object whose members keep their order, so that the schema reads like the key table and
// two versions of it can be compared.
type jsonObject []jsonMember

type jsonMember struct {
	name  string
	value any
}

// object makes an object of names and values in turn.
func object(pairs ...any) jsonObject {
	o := make(jsonObject, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		o.add(pairs[i].(string), pairs[i+1])
	}
	return o
}

func (o *jsonObject) add(name string, value any) { *o = append(*o, jsonMember{name, value}) }

// write appends v as JSON. Objects and lists of them keep their order; < and > stay readable.
func write(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case jsonObject:
		b.WriteByte('{')
		for i, m := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			write(b, m.name)
			b.WriteByte(':')
			write(b, m.value)
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			write(b, e)
		}
		b.WriteByte(']')
	default:
		enc := json.NewEncoder(b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			panic("loopfile: a value of the key table is no JSON: " + err.Error())
		}
		b.Truncate(b.Len() - 1) // the encoder ends each value with a newline
	}
}

func indent(v any) []byte {
	var flat, out bytes.Buffer
	write(&flat, v)
	if err := json.Indent(&out, flat.Bytes(), "", "  "); err != nil {
		panic("loopfile: " + err.Error())
	}
	out.WriteByte('\n')
	return out.Bytes()
}
