package mask

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// leastValue is how many bytes a secret has at least: a shorter text is part of many that have nothing to do with it.
const leastValue = 6

// A needle is a text that is replaced where it stands.
type needle struct {
	text  []byte
	label string // of its placeholder
	shape *Shape // whose prefix it is; nil = it is replaced itself
}

// A mark is where in a needle two bytes are that the text is searched for.
type mark struct {
	*needle
	at int
}

// A Masker masks secrets. The zero Masker, and nil, find nothing; one that [New] makes finds tokens by their shape.
// Its methods may be called at once.
type Masker struct {
	mu      sync.RWMutex
	pairs   [1 << 16]uint16   // the number of what is looked for that has these two bytes at its mark, 0 = nothing
	marks   [][]mark          // by number
	needles map[string]string // labels by text
	held    map[string]string // what placeholders stand for
	used    map[string]bool   // the placeholders of what was replaced
	labels  map[string]string // placeholders of what was found by its shape
	next    map[string]int    // the number of the last of each shape
	news    bool              // something was replaced for the first time since Taken
}

// New returns a Masker that finds tokens by their shape.
func New() *Masker {
	m := &Masker{}
	for i := range shapes {
		m.look(&needle{text: []byte(shapes[i].Prefix), shape: &shapes[i]})
	}
	m.look(&needle{text: []byte(foreignMark)})
	return m
}

// foreignMark is how placeholders begin.
const foreignMark = "***("

// look has a needle looked for, by two bytes of it that are rare. The text is searched at each second byte, so it is
// marked at two places side by side.
func (m *Masker) look(n *needle) {
	best := 0
	for at := range len(n.text) - 2 {
		if common(n.text[at:]) < common(n.text[best:]) {
			best = at
		}
	}
	if m.marks == nil {
		m.marks = make([][]mark, 1)
	}
	for _, at := range []int{best, best + 1} {
		number := &m.pairs[binary.LittleEndian.Uint16(n.text[at:])]
		if *number == 0 {
			*number = uint16(len(m.marks))
			m.marks = append(m.marks, nil)
		}
		m.marks[*number] = append(m.marks[*number], mark{n, at})
	}
}

// common is how often three bytes side by side are in texts, roughly.
func common(b []byte) (cost int) {
	for _, pair := range [][]byte{b[:2], b[1:3]} {
		for _, c := range pair {
			switch {
			case c >= 'a' && c <= 'z' && c != 'j' && c != 'q' && c != 'x' && c != 'z', c == ' ':
				cost += 4
			case c >= '0' && c <= '9', c == '/', c == '-':
				cost += 2
			default:
				cost++
			}
		}
	}
	return cost
}

// Placeholder is what stands for the value of a name.
func Placeholder(name string) string { return foreignMark + name + ")" }

// Add declares the value of a name as secret. It reports whether the value can be masked: one that is shorter than
// six bytes cannot.
func (m *Masker) Add(name, secret string) bool {
	if len(secret) < leastValue {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.needles == nil {
		m.needles = map[string]string{}
	}
	for _, n := range forms(name, secret, leastValue) {
		if _, known := m.needles[string(n.text)]; !known {
			m.needles[string(n.text)] = n.label
			m.look(&n)
		}
	}
	m.set(Placeholder(name), secret)
	return true
}

// Forms returns the texts that programs print for a secret, itself first, but for those with fewer than least bytes.
func Forms(secret string, least int) (texts []string) {
	for _, n := range forms("", secret, least) {
		texts = append(texts, string(n.text))
	}
	return texts
}

// forms are [Forms] with the labels of their placeholders.
func forms(name, secret string, least int) (list []needle) {
	add := func(form, text string) {
		if len(text) >= least && !slices.ContainsFunc(list, func(n needle) bool { return string(n.text) == text }) {
			label := name
			if form != "" {
				label += ":" + form
			}
			list = append(list, needle{text: []byte(text), label: label})
		}
	}
	add("", secret)
	if quoted, err := json.Marshal(secret); err == nil {
		add("json", string(quoted[1:len(quoted)-1]))
	}
	var plain bytes.Buffer
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	if enc.Encode(secret) == nil {
		text := strings.TrimSuffix(plain.String(), "\n")
		add("json-2", text[1:len(text)-1])
	}
	if utf8.ValidString(secret) {
		ascii := strconv.QuoteToASCII(secret)
		add("json-3", ascii[1:len(ascii)-1])
	}
	add("query", url.QueryEscape(secret))
	add("path", url.PathEscape(secret))
	spaces := strings.ReplaceAll(url.QueryEscape(secret), "+", "%20")
	add("query-2", spaces)
	add("query-3", strings.ReplaceAll(spaces, "%2F", "/"))
	add("query-4", strings.NewReplacer("%21", "!", "%2A", "*", "%27", "'", "%28", "(", "%29", ")").Replace(spaces))
	digits := hex.EncodeToString([]byte(secret))
	add("hex", digits)
	add("hex-2", strings.ToUpper(digits))
	// What stands before it moves it by 0, 1 or 2 bytes; the letters that depend on what is around it are left out.
	for shift := range 3 {
		b := base64.StdEncoding.EncodeToString(append(make([]byte, shift), secret...))
		from, to := (shift*8+5)/6, (shift+len(secret))*8/6
		if to-from < 8 {
			continue
		}
		form := "base64"
		if shift > 0 {
			form += "-" + strconv.Itoa(shift+1)
		}
		add(form, b[from:to])
		add(form+"url", strings.NewReplacer("+", "-", "/", "_").Replace(b[from:to]))
		// base64 and PEM break lines after 76 and 64 letters
		for _, width := range []int{76, 64} {
			for at := 0; len(b) > width && at < to; at += width {
				if part := b[max(at, from):min(at+width, to)]; len(part) >= 8 {
					add(form+"-line", part)
				}
			}
		}
	}
	// Output is masked line by line.
	if strings.Contains(secret, "\n") {
		for i, line := range strings.Split(secret, "\n") {
			if line = strings.TrimSuffix(line, "\r"); len(line) >= 8 {
				add("line-"+strconv.Itoa(i+1), line)
			}
		}
	}
	return list
}

// Text returns a text with its secrets masked. A placeholder that stands in it already becomes ***[NAME]: what
// others wrote is never taken for a secret.
func (m *Masker) Text(s string) string {
	if m == nil || s == "" {
		return s
	}
	b, changed := m.mask([]byte(s), true)
	if !changed {
		return s
	}
	return string(b)
}

// Again returns a text that may have been masked before: the placeholders in it are ours.
func (m *Masker) Again(s string) string {
	if m == nil {
		return s
	}
	b, changed := m.mask([]byte(s), false)
	if !changed {
		return s
	}
	return string(b)
}

// Bytes is [Masker.Text] for bytes. It returns b itself where there is nothing to mask.
func (m *Masker) Bytes(b []byte) []byte {
	if m == nil {
		return b
	}
	b, _ = m.mask(b, true)
	return b
}

// Count adds to found how often which kinds of secrets are in a text, by the names that their placeholders would have.
func (m *Masker) Count(b []byte, found map[string]int) {
	for _, h := range m.hits(b) {
		name := h.label
		if h.shape != nil {
			name = h.shape.Name
		}
		if name, _, _ = strings.Cut(name, ":"); name != "" {
			found[name]++
		}
	}
}

// A hit is a part of a text that is to be replaced.
type hit struct {
	from, to int
	label    string // "" = of a shape, or of the placeholder of others
	shape    *Shape
}

func (m *Masker) mask(b []byte, foreign bool) (masked []byte, changed bool) {
	m.mu.RLock()
	hits := m.find(b)
	m.mu.RUnlock()
	if !foreign {
		hits = slices.DeleteFunc(hits, func(h hit) bool { return h.label == "" && h.shape == nil })
	}
	if len(hits) == 0 {
		return b, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]byte, 0, len(b)+64)
	done := 0
	for _, h := range hits {
		out = append(out, b[done:h.from]...)
		out = append(out, m.replacement(string(b[h.from:h.to]), h)...)
		done = h.to
	}
	return append(out, b[done:]...), true
}

// find returns the parts of b that are to be replaced, in order.
func (m *Masker) find(b []byte) (hits []hit) {
	q := 0
	for ; q+8 <= len(b); q += 8 {
		v := binary.LittleEndian.Uint64(b[q:])
		if m.pairs[uint16(v)]|m.pairs[uint16(v>>16)]|m.pairs[uint16(v>>32)]|m.pairs[uint16(v>>48)] == 0 {
			continue
		}
		for i := q; i < q+8; i += 2 {
			hits = m.at(b, i, hits)
		}
	}
	for ; q+2 <= len(b); q += 2 {
		hits = m.at(b, q, hits)
	}
	if len(hits) < 2 {
		return hits
	}
	// the first that begins counts, and of those the longest
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	done := 0
	return slices.DeleteFunc(hits, func(h hit) bool {
		if h.from < done {
			return true
		}
		done = h.to
		return false
	})
}

// at adds what has its mark at i.
func (m *Masker) at(b []byte, i int, hits []hit) []hit {
	number := m.pairs[binary.LittleEndian.Uint16(b[i:])]
	if number == 0 {
		return hits
	}
	for _, n := range m.marks[number] {
		from := i - n.at
		if from < 0 || !bytes.HasPrefix(b[from:], n.text) {
			continue
		}
		switch {
		case n.shape != nil:
			if from > 0 && word[b[from-1]] && word[n.text[0]] && !escaped(b[:from]) {
				continue // inside a word
			}
			if f, t, ok := n.shape.match(b[from:]); ok {
				hits = append(hits, hit{from: from + f, to: from + t, shape: n.shape})
			}
		case n.label == "":
			if h, ok := m.foreign(b, from); ok {
				hits = append(hits, h)
			}
		default:
			hits = append(hits, hit{from: from, to: from + len(n.text), label: n.label})
		}
	}
	return hits
}

// escaped reports whether a text ends with an end of a line, or another sign, as JSON and Go write it: \n.
func escaped(b []byte) bool {
	n := len(b)
	return n > 1 && b[n-2] == '\\' && strings.IndexByte("nrtbf", b[n-1]) >= 0
}

// foreign finds a placeholder that others wrote.
func (m *Masker) foreign(b []byte, i int) (hit, bool) {
	end := i + len(foreignMark)
	for end < len(b) && end < i+200 && (word[b[end]] || b[end] == '-' || b[end] == ':') {
		end++
	}
	if end == i+len(foreignMark) || end == len(b) || b[end] != ')' {
		return hit{}, false
	}
	return hit{from: i, to: end + 1}, true
}

// replacement returns the placeholder of a text, and holds the text for it.
func (m *Masker) replacement(text string, h hit) string {
	switch {
	case h.label != "":
		return m.hold(Placeholder(h.label), text)
	case h.shape == nil:
		return "***[" + text[len(foreignMark):len(text)-1] + "]"
	}
	if p, known := m.labels[text]; known {
		return p
	}
	if label, named := m.needles[text]; named {
		return m.hold(Placeholder(label), text)
	}
	if len(m.labels) >= mostHeld {
		return Placeholder(h.shape.Name + ":gone")
	}
	if m.labels == nil {
		m.labels, m.next = map[string]string{}, map[string]int{}
	}
	p := ""
	for p == "" || m.held[p] != "" {
		if m.next[h.shape.Name]++; m.next[h.shape.Name] == 1 {
			p = Placeholder(h.shape.Name)
		} else {
			p = Placeholder(h.shape.Name + ":" + strconv.Itoa(m.next[h.shape.Name]))
		}
	}
	m.labels[text] = p
	return m.hold(p, text)
}

// mostHeld is how many tokens that no loop names are put back where an action gets them: a run that finds more reads
// a list of them, and uses none.
const mostHeld = 1000

// set has a placeholder stand for a text.
func (m *Masker) set(placeholder, text string) {
	if m.held == nil {
		m.held = map[string]string{}
	}
	m.held[placeholder] = text
}

// hold is set of a text that was replaced.
func (m *Masker) hold(placeholder, text string) string {
	m.set(placeholder, text)
	if !m.used[placeholder] {
		if m.used == nil {
			m.used = map[string]bool{}
		}
		m.used[placeholder], m.news = true, true
	}
	return placeholder
}

// Reveal returns a text with the secrets in place of their placeholders.
func (m *Masker) Reveal(s string) string {
	if m == nil || !strings.Contains(s, foreignMark) {
		return s
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, foreignMark)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, rest, closed := strings.Cut(after, ")")
		secret, known := m.held[Placeholder(name)]
		if !closed || !known {
			b.WriteString(foreignMark)
			s = after
			continue
		}
		b.WriteString(secret)
		s = rest
	}
}

// Taken returns what was masked, by placeholder, if something was masked for the first time since the last call.
func (m *Masker) Taken() (held map[string]string, news bool) {
	if m == nil {
		return nil, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.news {
		return nil, false
	}
	m.news = false
	held = make(map[string]string, len(m.used))
	for p := range m.used {
		held[p] = m.held[p]
	}
	return held, true
}

// Restore takes back what [Masker.Taken] returned. A name that was declared again keeps its new value.
func (m *Masker) Restore(held map[string]string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.used == nil {
		m.used = map[string]bool{}
	}
	for placeholder, text := range held {
		m.used[placeholder] = true
		if _, known := m.held[placeholder]; known {
			continue
		}
		m.set(placeholder, text)
		if m.labels == nil {
			m.labels, m.next = map[string]string{}, map[string]int{}
		}
		m.labels[text] = placeholder
	}
	m.news = true // a fork keeps what it has from its origin
}

// Knows reports whether there is a secret for a placeholder.
func (m *Masker) Knows(placeholder string) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	_, known := m.held[placeholder]
	return known
}

// Keep has Taken return the value of a name, although it was not masked yet.
func (m *Masker) Keep(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hold(Placeholder(name), m.held[Placeholder(name)])
}

// Unkept has Taken return again what it returned: it could not be kept.
func (m *Masker) Unkept() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.news = true
}

// Spread has the lines of what was found on several lines looked for one by one, too, as in the record of an output.
func (m *Masker) Spread() {
	m.mu.RLock()
	found := map[string]string{}
	for p := range m.used {
		if text := m.held[p]; strings.Contains(text, "\n") {
			found[strings.TrimSuffix(strings.TrimPrefix(p, foreignMark), ")")] = text
		}
	}
	m.mu.RUnlock()
	for name, text := range found {
		m.Add(name, text)
	}
}
