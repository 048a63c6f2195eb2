package fsm

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPatternDepth bounds how deep groups may nest.
const maxPatternDepth = 200

var (
	errNoPattern    = errors.New("not a pattern")
	errPatternDepth = errors.New("groups nest deeper than 200")
)

// reFlags are the flags in force at a place of a pattern.
type reFlags struct{ fold, multi, dotAll, verbose, ascii bool }

// reParser reads a pattern of Python 3.11. It is strict, because text that is no pattern is looked for as it is.
type reParser struct {
	src    []rune
	pos    int
	groups int // opened so far
	names  map[string]int
	widths map[int][2]int // of the groups that are closed
	conds  []int          // groups that conditions ask for
	behind int            // groups that were there before the outermost look-behind; -1 outside
	global reFlags
	gotA   bool // the whole pattern is set to ASCII
	gotU   bool
	depth  int
}

// parsePattern returns the tree of a pattern and how many groups it has.
func parsePattern(pattern string, dotAll bool) (*reNode, int, error) {
	verbose := false
	for {
		p := &reParser{
			src: []rune(pattern), names: make(map[string]int), widths: make(map[int][2]int), behind: -1,
			global: reFlags{dotAll: dotAll, verbose: verbose},
		}
		tree, err := p.alternatives(p.global, true)
		if p.global.verbose && !verbose { // it says so after text that was read otherwise
			verbose = true
			continue
		}
		switch {
		case err != nil:
			return nil, 0, err
		case p.pos < len(p.src): // an unmatched )
			return nil, 0, errNoPattern
		}
		for _, n := range p.conds {
			if n > p.groups {
				return nil, 0, errNoPattern
			}
		}
		return tree, p.groups, nil
	}
}

func (p *reParser) peek() rune {
	if p.pos < len(p.src) {
		return p.src[p.pos]
	}
	return -1
}

func (p *reParser) get() rune {
	r := p.peek()
	if r >= 0 {
		p.pos++
	}
	return r
}

func (p *reParser) accept(r rune) bool {
	if p.peek() == r {
		p.pos++
		return true
	}
	return false
}

// until returns the text up to end, which must come, and skips it.
func (p *reParser) until(end rune) (string, error) {
	for i := p.pos; i < len(p.src); i++ {
		if p.src[i] == end {
			s := string(p.src[p.pos:i])
			p.pos = i + 1
			return s, nil
		}
	}
	return "", errNoPattern
}

func (p *reParser) alternatives(f reFlags, top bool) (*reNode, error) {
	var subs []*reNode
	for {
		n, err := p.sequence(&f, top && len(subs) == 0)
		if err != nil {
			return nil, err
		}
		subs = append(subs, n)
		if !p.accept('|') {
			break
		}
	}
	if len(subs) == 1 {
		return subs[0], nil
	}
	return &reNode{op: reAlt, subs: subs}, nil
}

// sequence reads up to a | or ). Flags for the whole pattern are allowed at the start of its first alternative.
func (p *reParser) sequence(f *reFlags, first bool) (*reNode, error) {
	if p.depth++; p.depth > maxPatternDepth {
		return nil, errPatternDepth
	}
	defer func() { p.depth-- }()
	cat := &reNode{op: reCat}
	for {
		r := p.peek()
		if r < 0 || r == '|' || r == ')' {
			return cat, nil
		}
		p.pos++
		if f.verbose {
			if strings.ContainsRune(" \t\n\r\v\f", r) {
				continue
			}
			if r == '#' {
				for r = p.get(); r >= 0 && r != '\n'; r = p.get() {
				}
				continue
			}
		}
		n, err := p.item(r, f, cat, first && len(cat.subs) == 0)
		if err != nil {
			return nil, err
		}
		if n != nil {
			cat.subs = append(cat.subs, n)
		}
	}
}

// item reads what begins with r. It returns nil for a comment and for a repetition, which changes what came before.
func (p *reParser) item(r rune, f *reFlags, before *reNode, flagsAllowed bool) (*reNode, error) {
	switch r {
	case '\\':
		return p.escape(f)
	case '[':
		return p.class(f)
	case '*', '+', '?', '{':
		return p.repeat(r, f, before)
	case '.':
		return &reNode{op: reAny, dotAll: f.dotAll}, nil
	case '(':
		return p.group(f, flagsAllowed)
	case '^':
		if f.multi {
			return &reNode{op: reBeginRow}, nil
		}
		return &reNode{op: reBegin}, nil
	case '$':
		if f.multi {
			return &reNode{op: reEndRow}, nil
		}
		return &reNode{op: reEnd}, nil
	}
	return literal(r, f), nil
}

func literal(r rune, f *reFlags) *reNode { return &reNode{op: reLiteral, r: r, fold: f.fold} }

func (p *reParser) repeat(r rune, f *reFlags, before *reNode) (*reNode, error) {
	rep := &reNode{op: reRepeat, max: -1}
	switch r {
	case '+':
		rep.min = 1
	case '?':
		rep.max = 1
	case '{':
		start := p.pos
		lo, hasLo, okLo := p.count()
		hi, hasHi, okHi := lo, hasLo, okLo
		comma := p.accept(',')
		if comma {
			hi, hasHi, okHi = p.count()
		}
		if !hasLo && !comma || !p.accept('}') {
			p.pos = start
			return literal('{', f), nil
		}
		if !okLo || !okHi || hasLo && hasHi && hi < lo {
			return nil, errNoPattern
		}
		rep.min = lo
		if hasHi {
			rep.max = hi
		}
	}
	last := len(before.subs) - 1
	if last < 0 || before.subs[last].isAt() || before.subs[last].op == reRepeat {
		return nil, errNoPattern // nothing to repeat, or repeated already
	}
	switch {
	case p.accept('?'):
		rep.lazy = true
	case p.accept('+'):
		rep.greedy = true
	}
	rep.subs = []*reNode{before.subs[last]}
	before.subs[last] = rep
	return nil, nil
}

// count reads a number of repetitions. ok is false for one that is too large.
func (p *reParser) count() (n int, has, ok bool) {
	const limit = 1<<32 - 1
	ok = true
	for ; p.peek() >= '0' && p.peek() <= '9'; has = true {
		n = min(n*10+int(p.get()-'0'), limit)
	}
	return n, has, n < limit
}

func (p *reParser) group(f *reFlags, flagsAllowed bool) (*reNode, error) {
	inner := *f
	if !p.accept('?') {
		return p.capture("", inner)
	}
	switch r := p.get(); r {
	case 'P':
		switch p.get() {
		case '<':
			name, err := p.until('>')
			if err != nil || !isIdentifier(name) || p.names[name] > 0 {
				return nil, errNoPattern
			}
			return p.capture(name, inner)
		case '=':
			name, err := p.until(')')
			if err != nil || p.names[name] == 0 {
				return nil, errNoPattern
			}
			return p.reference(p.names[name], f)
		}
		return nil, errNoPattern
	case ':', '>':
		n, err := p.body(inner)
		if err != nil {
			return nil, err
		}
		op := reGroup
		if r == '>' {
			op = reAtomic
		}
		return &reNode{op: op, subs: []*reNode{n}}, nil
	case '#':
		_, err := p.until(')')
		return nil, err
	case '=', '!':
		return p.look(inner, false, r == '!')
	case '<':
		if r = p.get(); r == '=' || r == '!' {
			return p.look(inner, true, r == '!')
		}
		return nil, errNoPattern
	case '(':
		return p.condition(f, inner)
	default:
		return p.flags(r, f, inner, flagsAllowed)
	}
}

// body reads the rest of a group with its ).
func (p *reParser) body(f reFlags) (*reNode, error) {
	n, err := p.alternatives(f, false)
	if err == nil && !p.accept(')') {
		err = errNoPattern
	}
	return n, err
}

func (p *reParser) capture(name string, f reFlags) (*reNode, error) {
	p.groups++
	id := p.groups
	if name != "" {
		p.names[name] = id
	}
	n, err := p.body(f)
	if err != nil {
		return nil, err
	}
	group := &reNode{op: reGroup, n: id, subs: []*reNode{n}}
	group.width(p.widths) // notes that it is closed
	return group, nil
}

func (p *reParser) look(f reFlags, behind, negative bool) (*reNode, error) {
	outermost := behind && p.behind < 0
	if outermost {
		p.behind = p.groups
	}
	n, err := p.body(f)
	if err != nil {
		return nil, err
	}
	if outermost {
		p.behind = -1
	}
	if behind {
		if lo, hi := n.width(p.widths); lo != hi {
			return nil, errNoPattern
		}
	}
	return &reNode{op: reLook, behind: behind, negative: negative, subs: []*reNode{n}}, nil
}

// reference makes a back-reference to a group, which must be closed and not part of the same look-behind.
func (p *reParser) reference(id int, f *reFlags) (*reNode, error) {
	if _, closed := p.widths[id]; !closed || p.behind >= 0 && id > p.behind {
		return nil, errNoPattern
	}
	return &reNode{op: reBack, n: id, fold: f.fold}, nil
}

func (p *reParser) condition(f *reFlags, inner reFlags) (*reNode, error) {
	name, err := p.until(')')
	if err != nil {
		return nil, err
	}
	id := p.names[name]
	if allDigits(name) && len(name) < 9 {
		for _, c := range name {
			id = id*10 + int(c-'0')
		}
		p.conds = append(p.conds, id)
	}
	if _, closed := p.widths[id]; id == 0 || p.behind >= 0 && (!closed || id > p.behind) {
		return nil, errNoPattern
	}
	yes, err := p.sequence(&inner, false)
	if err != nil {
		return nil, err
	}
	no := &reNode{op: reCat}
	if p.accept('|') {
		if no, err = p.sequence(f, false); err != nil {
			return nil, err
		}
	}
	if !p.accept(')') {
		return nil, errNoPattern
	}
	return &reNode{op: reCond, n: id, subs: []*reNode{yes, no}}, nil
}

// flags reads (?i), which holds for the whole pattern, and (?i-s:...), which holds for the group.
func (p *reParser) flags(r rune, f *reFlags, inner reFlags, allowed bool) (*reNode, error) {
	on := true
	some, gotA, gotU := false, false, false
	for ; r != ')' && r != ':'; r = p.get() {
		if r == '-' && on {
			on, some = false, false
			continue
		}
		switch r {
		case 'i':
			inner.fold = on
		case 'm':
			inner.multi = on
		case 's':
			inner.dotAll = on
		case 'x':
			inner.verbose = on
		case 'a', 'u':
			if !on {
				return nil, errNoPattern
			}
			inner.ascii = r == 'a'
			gotA, gotU = gotA || r == 'a', gotU || r == 'u'
		default:
			return nil, errNoPattern
		}
		some = true
	}
	if !some || gotA && gotU {
		return nil, errNoPattern
	}
	if r == ':' {
		n, err := p.body(inner)
		return &reNode{op: reGroup, subs: []*reNode{n}}, err
	}
	p.gotA, p.gotU = p.gotA || gotA, p.gotU || gotU
	if !on || !allowed || p.gotA && p.gotU {
		return nil, errNoPattern
	}
	*f, p.global = inner, inner
	return nil, nil
}

func isIdentifier(s string) bool {
	for i, r := range s {
		letter := r == '_' || unicode.IsLetter(r)
		if !letter && (i == 0 || !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r)) || r == utf8.RuneError {
			return false
		}
	}
	return s != ""
}
