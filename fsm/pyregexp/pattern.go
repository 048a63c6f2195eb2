package pyregexp

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

// Search reports whether pattern matches anywhere in text, as re.search of Python does without flags. A text that is no
// valid pattern is searched for literally. Patterns with look-around, back-references and the like may take very long;
// after 2 seconds that is an error. Bytes of a pattern that are no UTF-8 stand for U+FFFD, as in the text that actions
// print. Search is safe for concurrent use.
func Search(pattern, text string) (matched bool, err error) {
	pattern = strings.ToValidUTF8(pattern, "\ufffd")
	if !strings.ContainsAny(pattern, `.\[{()*+?^$|`) {
		return strings.Contains(text, pattern), nil
	}
	m := patterns.Get(pattern)
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

// Valid reports whether [Search] takes text for a pattern, and does not search for it literally.
func Valid(text string) bool {
	m := patterns.Get(strings.ToValidUTF8(text, "\ufffd"))
	return m.tree != nil || m.err != nil
}

func tooSlow(pattern string) error {
	return fmt.Errorf("pattern %q took longer than %s on this text: make it simpler, or the text shorter", pattern,
		patternLimit)
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
			m.err = fmt.Errorf("pattern %.60q: %w", pattern, err)
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
			m.backErr = fmt.Errorf("pattern %.60q is too complex", m.pattern)
			return
		}
		m.back.MatchTimeout = patternLimit
	})
	return m.back, m.backErr
}

// FindAll returns what pattern matches in text: of each match its one group, or all of it if pattern has no
// group. A dot matches line ends too. A text that is no valid pattern is an error, and so is one with several
// groups.
func FindAll(pattern, text string) ([]string, error) {
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
var patterns = Cache[*matcher]{Compile: func(pattern string) *matcher { return newMatcher(pattern, false) }}

const cacheSize = 256

// A Cache keeps what Compile made of the texts that were used last, up to a bounded number. It is safe for
// concurrent use.
type Cache[T any] struct {
	Compile func(text string) T // called by one goroutine at a time; set before the first Get

	mu     sync.Mutex
	byText map[string]T // guarded by mu
}

// Get returns what Compile makes of text.
func (c *Cache[T]) Get(text string) T {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.byText[text]
	if !ok {
		v = c.Compile(text)
		if c.byText == nil || len(c.byText) >= cacheSize {
			c.byText = make(map[string]T)
		}
		c.byText[text] = v
	}
	return v
}
