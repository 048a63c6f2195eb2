package snapshot

import (
	"crypto/sha256"
	"encoding/hex"

	"loops/fsm/value"
)

// A Rewriter changes the texts of what was recorded. It belongs to one goroutine.
type Rewriter struct {
	In      Texts                     // the large texts; nil = there are none
	Change  func(string) string       // returns what a text becomes
	Object  func(m *value.Map)        // sees each line before its texts change; nil = no function does
	Changed bool                      // some text became another one
	large   map[string]map[int64]*ref // what references became
}

type ref struct {
	name string
	size int64
}

// Text returns what a text becomes.
func (r *Rewriter) Text(s string) string {
	t := r.Change(s)
	r.Changed = r.Changed || t != s
	return t
}

// Value returns a value with its texts changed, but for the keys of objects. It changes v. A large text that is not
// there, or not as it was recorded, stays as it is.
func (r *Rewriter) Value(v any) (any, error) {
	switch x := v.(type) {
	case string:
		return r.Text(x), nil
	case *value.Map:
		if name, n, ok := blobRef(x); ok && r.In != nil {
			to, err := r.ref(name, n)
			return value.NewMap("$blob", to.name, "bytes", to.size), err
		}
		if inner, ok := literal(x); ok {
			x = inner
		}
		for _, k := range x.Keys() {
			y, _ := x.Get(k)
			z, err := r.Value(y)
			if err != nil {
				return nil, err
			}
			x.Set(k, z)
		}
	case []any:
		for i := range x {
			y, err := r.Value(x[i])
			if err != nil {
				return nil, err
			}
			x[i] = y
		}
	}
	return v, nil
}

// ref returns what a reference to a large text becomes, whose changed text it puts where the others are.
func (r *Rewriter) ref(name string, n int64) (ref, error) {
	if to := r.large[name][n]; to != nil {
		return *to, nil
	}
	to := ref{name, n}
	text, err := r.In.Get(name)
	if sum := sha256.Sum256(text); err == nil && int64(len(text)) >= n && hex.EncodeToString(sum[:]) == name &&
		r.Text(string(text)) != string(text) {
		// also where only what follows the first n bytes changes: the text with this name goes
		changed := r.Text(string(text[:n]))
		sum := sha256.Sum256([]byte(changed))
		to = ref{hex.EncodeToString(sum[:]), int64(len(changed))}
		if err := r.In.Put(to.name, changed); err != nil {
			return to, err
		}
	}
	if r.large == nil {
		r.large = map[string]map[int64]*ref{}
	}
	if r.large[name] == nil {
		r.large[name] = map[int64]*ref{}
	}
	r.large[name][n] = &to
	return to, nil
}

// Line returns what a line of a record becomes, with or without a checksum. One that cannot be read is changed as a
// text, and stays one that cannot be read. It does not change b.
func (r *Rewriter) Line(b []byte) ([]byte, error) {
	object, sum := Cut(append([]byte(nil), b...))
	v, err := value.ParseJSON(object)
	m, ok := v.(*value.Map)
	if sum == Spoilt || err != nil || !ok {
		return []byte(r.Text(string(b))), nil
	}
	before := r.Changed
	r.Changed = false
	defer func() { r.Changed = r.Changed || before }()
	if r.Object != nil {
		r.Object(m)
	}
	if _, err := r.Value(m); err != nil {
		return nil, err
	}
	if !r.Changed {
		return b, nil
	}
	out := value.AppendJSON(nil, m)
	switch sum {
	case Sound:
		out = AppendSum(out, 0)
	case SoundFirst:
		out = AppendFirstSum(out, 0)
	}
	return out, nil
}

// Redefine has the checksum of a definition in an object follow its text, and keeps in sums which became which.
func (r *Rewriter) Redefine(m *value.Map, textKey string, sums map[string]string) {
	d := inside(m, "definition")
	if d == nil {
		return
	}
	v, _ := d.Get("text_sha256")
	was, _ := v.(string)
	if text, ok := m.Get(textKey); ok && was != "" {
		if ref, ok := text.(*value.Map); ok && r.In != nil {
			var err error
			if text, err = Fill(ref, r.In); err != nil {
				return // it is damaged, and stays so
			}
		}
		s, _ := text.(string)
		sum := sha256.Sum256([]byte(r.Change(s)))
		sums[was] = hex.EncodeToString(sum[:])
	}
	if to := sums[was]; to != "" && to != was {
		d.Set("text_sha256", to)
		r.Changed = true
	}
}
