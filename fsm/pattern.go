package fsm

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

// patternLimit is how long a pattern may take that only a backtracking engine can match.
const patternLimit = 2 * time.Second

// Search says whether pattern matches anywhere in text, as re.search of Python has it, without flags. Text that
// is no pattern at all is looked for as it is. Patterns with look-around, back-references and the like may take
// very long; after 2 seconds that is an error. Search is safe for concurrent use.
// Bytes of a pattern that are no UTF-8 stand for U+FFFD, as in the text that actions print.
func Search(pattern, text string) (matched bool, err error) {
	pattern = strings.ToValidUTF8(pattern, "\ufffd")
	if !strings.ContainsAny(pattern, `.\[{()*+?^$|`) {
		return strings.Contains(text, pattern), nil
	}
	m := patterns.get(pattern)
	switch {
	case m.err != nil:
		return false, m.err
	case m.tree == nil:
		return strings.Contains(text, pattern), nil
	case m.fast != nil && (!m.boundary || text != "" && isASCII(text)):
		return m.fast.MatchString(text), nil
	}
	re, err := m.slow()
	if err != nil {
		return false, err
	}
	matched, err = re.MatchString(text)
	if err != nil {
		return false, tooSlow(pattern)
	}
	return matched, nil
}

// IsPattern says whether [Search] takes a text for a pattern; what it is not is looked for as it stands.
func IsPattern(text string) bool {
	m := patterns.get(strings.ToValidUTF8(text, "\ufffd"))
	return m.tree != nil || m.err != nil
}

func tooSlow(pattern string) error {
	return fmt.Errorf("pattern %q took longer than %s on this text: make it simpler, or the text shorter", pattern, patternLimit)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// A matcher is a compiled pattern.
type matcher struct {
	pattern  string
	tree     *reNode // nil: the text is no pattern
	groups   int
	err      error          // the pattern is beyond our limits
	fast     *regexp.Regexp // nil: only the backtracking engine can match it
	boundary bool           // fast is right for ASCII text that is not empty only

	once    sync.Once
	back    *regexp2.Regexp
	backErr error
}

func newMatcher(pattern string, dotAll bool) *matcher {
	m := &matcher{pattern: pattern}
	tree, groups, err := parsePattern(pattern, dotAll)
	if err != nil {
		if errors.Is(err, errPatternDepth) {
			m.err = fmt.Errorf("pattern %q: %w", firstRunes(pattern, 60), err)
		}
		return m
	}
	m.tree, m.groups = tree, groups
	w := reWriter{}
	w.write(tree, true)
	if !w.backtrack {
		m.fast, _ = regexp.Compile(w.out.String()) // too large a repetition leaves nil
		m.boundary = w.boundary
	}
	return m
}

// slow returns the backtracking form, made when it is first needed.
func (m *matcher) slow() (*regexp2.Regexp, error) {
	m.once.Do(func() {
		w := reWriter{full: true}
		w.write(m.tree, false)
		m.back, m.backErr = regexp2.Compile(w.out.String(), regexp2.None)
		if m.backErr != nil {
			m.backErr = fmt.Errorf("pattern %q is too complex", firstRunes(m.pattern, 60))
			return
		}
		m.back.MatchTimeout = patternLimit
	})
	return m.back, m.backErr
}

// findAll returns what pattern matches in text, where a dot matches line ends too: its one group if it has one, else
// all of it.
func findAll(pattern, text string) ([]string, error) {
	m := newMatcher(pattern, true)
	switch {
	case m.err != nil:
		return nil, m.err
	case m.tree == nil:
		return nil, fmt.Errorf("%q is not a pattern", pattern)
	case m.groups > 1:
		return nil, fmt.Errorf("pattern %q has more than one group", pattern)
	}
	re, err := m.slow()
	if err != nil {
		return nil, err
	}
	var found []string
	start := time.Now()
	for match, err := re.FindStringMatch(text); ; match, err = re.FindNextMatch(match) {
		if err != nil || time.Since(start) > patternLimit {
			return nil, tooSlow(pattern)
		}
		if match == nil {
			return found, nil
		}
		found = append(found, match.GroupByNumber(m.groups).String())
	}
}

// patterns keeps the compiled patterns that were used last.
var patterns = compiled[*matcher]{compile: func(pattern string) *matcher { return newMatcher(pattern, false) }}

const maxPatterns = 256

// compiled keeps what was made of a bounded number of texts. It is safe for concurrent use.
type compiled[T any] struct {
	compile func(text string) T

	mu     sync.Mutex
	byText map[string]T // guarded by mu
}

func (c *compiled[T]) get(text string) T {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.byText[text]
	if !ok {
		v = c.compile(text)
		if c.byText == nil || len(c.byText) >= maxPatterns {
			c.byText = make(map[string]T)
		}
		c.byText[text] = v
	}
	return v
}
