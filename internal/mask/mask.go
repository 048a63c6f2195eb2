package mask

import (
	"bytes"
	"encoding/base64"
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

// A Masker masks secrets. The zero Masker, and nil, find nothing; one that [New] makes finds tokens by their shape.
// Its methods may be called at once.
type Masker struct {
	mu sync.RWMutex
	finder
	needles map[string]string // labels by text
	held    map[string]string // what placeholders stand for
	used    map[string]bool   // the placeholders of what was replaced
	labels  map[string]string // placeholders of what was found by its shape
	next    map[string]int    // the number of the last of each shape
	news    bool              // something was replaced for the first time since Taken
}

// New returns a Masker that finds tokens by their shape.
func New() *Masker { return newMasker(shaped()) }

func newMasker(f *finder) *Masker {
	m := &Masker{finder: *f}
	m.shared, m.marks = true, slices.Clone(f.marks)
	return m
}

// foreignMark is how placeholders begin.
const foreignMark = "***("

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
		if _, known := m.needles[string(n.text)]; known {
			continue
		}
		m.needles[string(n.text)] = n.label
		if len(n.text) >= longText {
			m.long.add(&n, m.by)
		} else {
			m.look(&n)
		}
	}
	m.ready()
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
	b, changed, _ := m.mask([]byte(s), true)
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
	b, changed, _ := m.mask([]byte(s), false)
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
	b, _, _ = m.mask(b, true)
	return b
}

// Count adds to found how often which kinds of secrets are in a text, by the names that their placeholders would have.
func (m *Masker) Count(b []byte, found map[string]int) {
	hits, _ := m.hits(b)
	for _, h := range hits {
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

// mask returns b with what is to be masked replaced, and what find reports.
func (m *Masker) mask(b []byte, foreign bool) (masked []byte, changed, header bool) {
	hits, header := m.hits(b)
	if !foreign {
		hits = slices.DeleteFunc(hits, func(h hit) bool { return h.label == "" && h.shape == nil })
	}
	if len(hits) == 0 {
		return b, false, header
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
	return append(out, b[done:]...), true, header
}

// hits is find.
func (m *Masker) hits(b []byte) (hits []hit, header bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.find(b)
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
