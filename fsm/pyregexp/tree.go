package pyregexp

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// A reOp is a kind of node in a pattern.
type reOp int

const (
	reLiteral reOp = iota
	reClass
	reAny      // also matches a line end if dotAll
	reBegin    // of the text
	reBeginRow // of a line
	reEnd      // of the text, or before its last line end
	reEndRow   // of a line
	reEndText
	reWord    // word boundary
	reNotWord // not a word boundary
	reCat
	reAlt
	reGroup // capturing if n > 0
	reAtomic
	reRepeat
	reLook
	reBack // what group n matched
	reCond // if group n matched: subs[0], else subs[1]
)

// A reNode is a part of a pattern.
type reNode struct {
	op       reOp
	r        rune
	class    *reSet
	subs     []*reNode
	n        int
	min, max int // of a repetition; max < 0 = any number
	lazy     bool
	greedy   bool // possessive: gives nothing back
	behind   bool // of a look-around
	negative bool
	fold     bool // ignore case
	ascii    bool
	dotAll   bool
}

// isAt reports whether the node only matches a position, which cannot be repeated.
func (n *reNode) isAt() bool { return reBegin <= n.op && n.op <= reNotWord }

// reInf is the largest width that is distinguished from endless.
const reInf = 1 << 30

// width returns the least and the greatest number of characters the node can match. groups are the widths of the
// groups that are closed.
func (n *reNode) width(groups map[int][2]int) (lo, hi int) {
	switch n.op {
	case reLiteral, reClass, reAny:
		return 1, 1
	case reCat:
		for _, s := range n.subs {
			l, h := s.width(groups)
			lo, hi = min(lo+l, reInf), min(hi+h, reInf)
		}
		return lo, hi
	case reAlt, reCond:
		lo = reInf
		for _, s := range n.subs {
			l, h := s.width(groups)
			lo, hi = min(lo, l), max(hi, h)
		}
		return lo, hi
	case reGroup, reAtomic:
		lo, hi = n.subs[0].width(groups)
		if n.n > 0 {
			groups[n.n] = [2]int{lo, hi}
		}
		return lo, hi
	case reRepeat:
		l, h := n.subs[0].width(groups)
		return times(l, n.min), times(h, n.max)
	case reBack:
		w := groups[n.n]
		return w[0], w[1]
	}
	return 0, 0
}

func times(width, count int) int {
	if width == 0 || count == 0 {
		return 0
	}
	if count < 0 || count >= reInf/width {
		return reInf
	}
	return width * count
}

// A reSet is a class of characters.
type reSet struct {
	negate bool
	ranges [][2]rune
	props  []string // as both engines write them, such as \p{Nd}
}

func (s *reSet) add(lo, hi rune) { s.ranges = append(s.ranges, [2]rune{lo, hi}) }

var (
	asciiDigits = [][2]rune{{'0', '9'}}
	asciiWords  = [][2]rune{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}
	asciiSpaces = [][2]rune{{'\t', '\r'}, {' ', ' '}}
	allSpaces   = [][2]rune{
		{'\t', '\r'},
		{0x1c, ' '},
		{0x85, 0x85},
		{0xa0, 0xa0},
		{0x1680, 0x1680},
		{0x2000, 0x200a},
		{0x2028, 0x2029},
		{0x202f, 0x202f},
		{0x205f, 0x205f},
		{0x3000, 0x3000},
	}
)

// addKind adds \d, \s or \w, or, for the capital letter, everything else.
func (s *reSet) addKind(kind rune, ascii bool) {
	var ranges [][2]rune
	switch kind | 0x20 {
	case 'd':
		if !ascii {
			if kind == 'd' {
				s.props = append(s.props, `\p{Nd}`)
			} else {
				s.props = append(s.props, `\P{Nd}`)
			}
			return
		}
		ranges = asciiDigits
	case 's':
		ranges = allSpaces
		if ascii {
			ranges = asciiSpaces
		}
	case 'w':
		if !ascii && kind == 'w' {
			s.props = append(s.props, `\p{L}`, `\p{N}`)
			s.add('_', '_')
			return
		}
		ranges = asciiWords
		if !ascii {
			s.ranges = append(s.ranges, noWords()...)
			return
		}
	}
	if 'A' <= kind && kind <= 'Z' {
		ranges = others(ranges)
	}
	s.ranges = append(s.ranges, ranges...)
}

// others returns the characters that are in none of the ranges, which are in order.
func others(ranges [][2]rune) [][2]rune {
	var out [][2]rune
	from := rune(0)
	for _, r := range ranges {
		if from < r[0] {
			out = append(out, [2]rune{from, r[0] - 1})
		}
		from = r[1] + 1
	}
	return append(out, [2]rune{from, utf8.MaxRune})
}

// noWords are the characters outside \w, found by looking at each one once.
var noWords = sync.OnceValue(func() [][2]rune {
	var words [][2]rune
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if !isWordRune(r) {
			continue
		}
		if n := len(words); n > 0 && words[n-1][1] == r-1 {
			words[n-1][1] = r
		} else {
			words = append(words, [2]rune{r, r})
		}
	}
	return others(words)
})

// A reWriter writes a pattern for the engine of the standard library or, if full, for the backtracking one.
type reWriter struct {
	out       strings.Builder
	full      bool
	backtrack bool // the standard engine cannot do it
	boundary  bool // it has a \b or \B that the standard engine knows for ASCII text that is not empty only
}

func (w *reWriter) text(parts ...string) {
	for _, p := range parts {
		w.out.WriteString(p)
	}
}

// write writes a node. last means that nothing of the pattern comes after it, so that it may match too much.
func (w *reWriter) write(n *reNode, last bool) {
	switch n.op {
	case reLiteral, reClass:
		if n.fold {
			w.text("(?i:")
		}
		if n.op == reLiteral {
			w.rune(n.r)
		} else {
			w.set(n.class)
		}
		if n.fold {
			w.text(")")
		}
	case reAny:
		if n.dotAll {
			w.text(`(?s:.)`)
		} else {
			w.text(`[^\n]`)
		}
	case reBegin:
		w.text(`\A`)
	case reBeginRow:
		w.text(`(?m:^)`)
	case reEnd:
		if w.full {
			w.text(`(?=\n?\z)`)
		} else {
			w.text(`(?:\n?\z)`)
			w.backtrack = w.backtrack || !last
		}
	case reEndRow:
		w.text(`(?m:$)`)
	case reEndText:
		w.text(`\z`)
	case reWord, reNotWord:
		w.word(n)
	case reCat:
		for i, s := range n.subs {
			w.write(s, last && i == len(n.subs)-1)
		}
	case reAlt:
		w.text("(?:")
		for i, s := range n.subs {
			if i > 0 {
				w.text("|")
			}
			w.write(s, last)
		}
		w.text(")")
	case reGroup:
		if n.n > 0 && w.full {
			w.text("(")
		} else {
			w.text("(?:")
		}
		w.write(n.subs[0], last)
		w.text(")")
	case reRepeat:
		w.repeat(n, last)
	case reAtomic:
		w.backtrack = true
		w.text("(?>")
		w.write(n.subs[0], false)
		w.text(")")
	case reLook:
		w.backtrack = true
		w.text("(?")
		if n.behind {
			w.text("<")
		}
		if n.negative {
			w.text("!")
		} else {
			w.text("=")
		}
		w.write(n.subs[0], false)
		w.text(")")
	case reBack:
		w.backtrack = true
		open := "(?:"
		if n.fold {
			open = "(?i:"
		}
		w.text(open, fmt.Sprintf(`\%d)`, n.n))
	case reCond:
		w.backtrack = true
		w.text(fmt.Sprintf("(?(%d)(?:", n.n))
		w.write(n.subs[0], false)
		w.text(")|(?:")
		w.write(n.subs[1], false)
		w.text("))")
	}
}

func (w *reWriter) repeat(n *reNode, last bool) {
	if n.greedy {
		w.backtrack = true
		w.text("(?>")
	}
	w.text("(?:")
	w.write(n.subs[0], last && n.max == 1)
	w.text(")")
	switch {
	case n.max < 0:
		w.text(fmt.Sprintf("{%d,}", n.min))
	default:
		w.text(fmt.Sprintf("{%d,%d}", n.min, n.max))
	}
	if n.lazy {
		w.text("?")
	}
	if n.greedy {
		w.text(")")
	}
}

func (w *reWriter) word(n *reNode) {
	if !w.full {
		w.boundary = w.boundary || !n.ascii || n.op == reNotWord
		if n.op == reWord {
			w.text(`\b`)
		} else {
			w.text(`\B`)
		}
		return
	}
	in := `[\p{L}\p{N}_]`
	if n.ascii {
		in = `[0-9A-Za-z_]`
	}
	if n.op == reWord {
		w.text("(?:(?<=", in, ")(?!", in, ")|(?<!", in, ")(?=", in, "))")
	} else {
		w.text(`(?!\A\z)(?:(?<=`, in, ")(?=", in, ")|(?<!", in, ")(?!", in, "))")
	}
}

func (w *reWriter) rune(r rune) {
	switch {
	case r >= utf8.RuneSelf:
		w.out.WriteRune(r) // half a surrogate pair becomes U+FFFD
	case isAlnum(byte(r)) || r == '_':
		w.out.WriteByte(byte(r))
	default:
		fmt.Fprintf(&w.out, `\x%02x`, r)
	}
}

func (w *reWriter) set(s *reSet) {
	w.text("[")
	if s.negate {
		w.text("^")
	}
	for _, r := range s.ranges {
		w.rune(r[0])
		if r[1] > r[0] {
			w.text("-")
			w.rune(r[1])
		}
	}
	w.text(s.props...)
	w.text("]")
}
