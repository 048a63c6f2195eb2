package pyregexp

import (
	"errors"
	"strings"
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
	for ; p.peek() >= '0' && p.peek() <= '9'; has = true {
		n = min(n*10+int(p.get()-'0'), limit)
	}
	return n, has, n < limit
}
