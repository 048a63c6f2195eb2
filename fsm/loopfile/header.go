package loopfile

import (
	"bytes"
	"maps"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// A header is what a listing needs of the top level of a loop file.
type header struct {
	keys    map[string]bool // nil if the file holds no mapping
	text    map[string]string
	labels  []string
	problem string // why the file cannot run
	data    []byte // the file
}

func (h *header) has(key string) bool { return h.keys[key] }

// broken reports whether it is not clear what the file is meant to be.
func (h *header) broken() bool { return h.keys == nil }

// silent reports whether the file says nothing, or nothing that can be made out.
func (h *header) silent() bool { return len(h.keys) == 0 }

// meant reports whether the file is meant to be a loop, also if what makes it one is mistyped, or not written yet.
func (h *header) meant() bool {
	if len(h.keys) == 0 || h.has("states") || h.has("flow") || h.has("initial") || h.has("from") {
		return true
	}
	for k := range h.keys {
		if byWhere()[InLoop][k] == nil && near(k, []string{"states", "initial", "flow"}) != "" {
			return true
		}
	}
	return false
}

// lacks says which of the keys are missing that no loop can do without.
func (h *header) lacks() string {
	var missing []string
	for _, k := range []string{"name", "initial"} {
		if !h.has(k) {
			missing = append(missing, k)
		}
	}
	if !h.has("states") && !h.has("flow") {
		missing = append(missing, "states")
	}
	if missing == nil {
		return ""
	}
	return "lacks " + and(missing)
}

// over returns what the two say together, where h wins.
func (h *header) over(base *header) *header {
	out := &header{keys: maps.Clone(base.keys), text: maps.Clone(base.text), labels: h.labels}
	maps.Copy(out.keys, h.keys)
	maps.Copy(out.text, h.text)
	if !h.has("labels") {
		out.labels = base.labels
	}
	return out
}

// startsNowhere reports whether initial names nothing that could be a state. It only looks for the name as a key of
// any mapping, so it misses much, but what it reports is so.
func (h *header) startsNowhere() bool {
	name := h.text["initial"]
	if name == "" || strings.ContainsAny(name, "\\\"'${}\n") || h.has("flow") || h.has("from") {
		return false
	}
	// a state may come from elsewhere, or be written by numbers
	for _, disguise := range []string{"<<", `\x`, `\u`, `\U`} {
		if bytes.Contains(h.data, []byte(disguise)) {
			return false
		}
	}
	for rest := h.data; ; {
		i := bytes.Index(rest, []byte(name))
		if i < 0 {
			return true
		}
		rest = rest[i+len(name):]
		if after := bytes.TrimLeft(rest, "\"' \t\r\n"); len(after) > 0 && after[0] == ':' {
			return false
		}
	}
}

// The keys whose value a listing shows or needs.
var shown = map[string]bool{
	"name": true, "description": true, "category": true, "visibility": true, "labels": true,
	"from": true, "initial": true,
}

// readHeader reads the header of a file, or says in it why that cannot be done.
func readHeader(path string) *header {
	data, err := read(path)
	if err != nil {
		return &header{problem: cause(path, err)}
	}
	h := scanHeader(data)
	if h == nil {
		h = parseHeader(path, data)
	}
	h.data = data
	return h
}

// scanHeader reads the top-level keys line by line, some fifty times as fast as parsing the file. It returns
// nil for a file that is written in a way it does not understand, and for one that may be broken.
func scanHeader(data []byte) *header {
	if !utf8.Valid(data) {
		return nil
	}
	h := &header{keys: map[string]bool{}, text: map[string]string{}}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	key, start := "", 0 // the key being read, and where its value starts
	finish := func(end int) bool {
		if !shown[key] {
			return true
		}
		if v, ok := plainValue(data[start+len(key)+1 : end]); ok {
			h.text[key] = v
			return true
		}
		// The value of one key is a small document, which the parser reads at little cost.
		var v map[string]yaml.Node
		if yaml.Unmarshal(data[start:end], &v) != nil {
			return false
		}
		n := v[key]
		h.take(key, &n)
		return true
	}
	for at := 0; at < len(data); {
		end := len(data)
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		line := data[at:end]
		switch c := line[0]; {
		case c == '\n' || c == '\r' || c == '#' || c == ' ':
			if key == "" && c == ' ' && len(bytes.TrimSpace(line)) > 0 {
				return nil
			}
		case c == '-' && key != "" && (len(line) > 1 && line[1] == ' '):
			// An item of a list that is not indented.
		case c >= 'a' && c <= 'z':
			i := bytes.IndexByte(line, ':')
			if i < 0 || !plainKey(line[:i]) || i+1 < len(line) && line[i+1] != ' ' && line[i+1] != '\n' &&
				line[i+1] != '\r' {
				return nil
			}
			if !finish(at) {
				return nil
			}
			key, start = string(line[:i]), at
			value := bytes.TrimSpace(line[i+1:])
			if h.keys[key] || len(value) > 0 && (value[0] == '&' || value[0] == '*' || value[0] == '!') {
				return nil
			}
			if j := bytes.Index(value, []byte(" #")); j >= 0 {
				value = bytes.TrimSpace(value[:j])
			}
			// A text in quotation marks or a list in brackets may continue over lines that look like keys.
			if len(value) > 0 && !closed(value) {
				return nil
			}
			h.keys[key] = true
		default:
			return nil
		}
		at = end
	}
	if !finish(len(data)) {
		return nil
	}
	return h
}

// plainValue returns a text of one line that means itself whatever YAML may say: words, and little else.
func plainValue(v []byte) (string, bool) {
	v = bytes.TrimSpace(v)
	for i, c := range v {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c != ' ' && c != '.' && c != ',' && c != '-' && c != '_' && (c < '0' || c > '9')) {
			return "", false
		}
	}
	return string(v), len(v) > 0 && !strings.EqualFold(string(v), "null")
}

func plainKey(k []byte) bool {
	for _, c := range k {
		if (c < 'a' || c > 'z') && c != '_' {
			return false
		}
	}
	return true
}

// closed reports whether a value that begins with a quotation mark or a bracket ends on its line.
func closed(v []byte) bool {
	last := v[len(v)-1]
	switch v[0] {
	case '"', '\'':
		return len(v) > 1 && last == v[0]
	case '[':
		return last == ']'
	case '{':
		return last == '}'
	}
	return true
}

func (h *header) take(key string, n *yaml.Node) {
	n = deref(n)
	if key == "labels" && n.Kind == yaml.SequenceNode {
		for _, c := range n.Content {
			if c = deref(c); c.Kind == yaml.ScalarNode {
				h.labels = append(h.labels, c.Value)
			}
		}
		return
	}
	if n.Kind == yaml.ScalarNode && !isNull(n) {
		h.text[key] = n.Value
	}
}

// parseHeader is scanHeader for every file.
func parseHeader(name string, data []byte) *header {
	src := newSource(name, nil, data)
	if src.root == nil {
		p := src.problems[0]
		return &header{problem: strings.TrimPrefix(p.Pos.String(), name+":") + ": " + p.Message}
	}
	d := newDecoder(src, nil)
	h := &header{keys: map[string]bool{}, text: map[string]string{}}
	for _, e := range d.entries(src.root, "") {
		h.keys[e.name] = true
		if shown[e.name] {
			h.take(e.name, e.val)
		}
	}
	if d.failed {
		h.problem = d.problems[0].Message
	}
	return h
}
