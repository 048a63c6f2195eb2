package pyregexp

import (
	"unicode"
	"unicode/utf8"
)

// group reads what follows a ( with its ). It returns nil for a comment and for flags.
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
