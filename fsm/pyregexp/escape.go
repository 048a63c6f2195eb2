package pyregexp

import (
	"unicode"
)

// escape reads what follows a backslash outside a class.
func (p *reParser) escape(f *reFlags) (*reNode, error) {
	r := p.get()
	switch r {
	case -1:
		return nil, errNoPattern
	case 'A':
		return &reNode{op: reBegin}, nil
	case 'Z':
		return &reNode{op: reEndText}, nil
	case 'b':
		return &reNode{op: reWord, ascii: f.ascii}, nil
	case 'B':
		return &reNode{op: reNotWord, ascii: f.ascii}, nil
	case 'd', 'D', 's', 'S', 'w', 'W':
		set := &reSet{negate: r < 'a'}
		set.addKind(r|0x20, f.ascii)
		return &reNode{op: reClass, class: set, fold: f.fold}, nil
	case '0':
		return literal(p.octal(0, 2), f), nil
	}
	if '1' <= r && r <= '9' {
		return p.numbered(r, f)
	}
	c, err := p.character(r)
	if err != nil {
		return nil, err
	}
	return literal(c, f), nil
}

// octal reads up to n more octal digits.
func (p *reParser) octal(v rune, n int) rune {
	for ; n > 0 && '0' <= p.peek() && p.peek() <= '7'; n-- {
		v = v*8 + p.get() - '0'
	}
	return v
}

// numbered reads a back-reference of one or two digits, or three octal digits.
func (p *reParser) numbered(r rune, f *reFlags) (*reNode, error) {
	id := r - '0'
	if d := p.peek(); '0' <= d && d <= '9' {
		p.pos++
		if e := p.peek(); r <= '7' && d <= '7' && '0' <= e && e <= '7' {
			p.pos++
			v := (r-'0')<<6 | (d-'0')<<3 | (e - '0')
			if v > 0o377 {
				return nil, errNoPattern
			}
			return literal(v, f), nil
		}
		id = id*10 + d - '0'
	}
	return p.reference(int(id), f)
}

// character reads the escapes that stand for one character, inside a class and out of it.
func (p *reParser) character(r rune) (rune, error) {
	switch r {
	case 'a':
		return '\a', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'v':
		return '\v', nil
	case 'x':
		return p.hex(2)
	case 'u':
		return p.hex(4)
	case 'U':
		return p.hex(8)
	}
	if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
		return 0, errNoPattern
	}
	return r, nil
}

func (p *reParser) hex(n int) (rune, error) {
	v := 0
	for range n {
		switch r := p.get(); {
		case '0' <= r && r <= '9':
			v = v*16 + int(r-'0')
		case 'a' <= r|0x20 && r|0x20 <= 'f' && r > 0:
			v = v*16 + int(r|0x20-'a') + 10
		default:
			return 0, errNoPattern
		}
	}
	if v > unicode.MaxRune {
		return 0, errNoPattern
	}
	return rune(v), nil
}

// class reads a [...].
func (p *reParser) class(f *reFlags) (*reNode, error) {
	set := &reSet{negate: p.accept('^')}
	for first := true; ; first = false {
		if p.peek() == ']' && !first {
			p.pos++
			return &reNode{op: reClass, class: set, fold: f.fold}, nil
		}
		lo, kind, err := p.member()
		if err != nil {
			return nil, err
		}
		if p.peek() == '-' {
			p.pos++
			if p.peek() != ']' {
				hi, hiKind, err := p.member()
				if err != nil || kind != 0 || hiKind != 0 || hi < lo {
					return nil, errNoPattern
				}
				set.add(lo, hi)
				continue
			}
			set.add('-', '-')
		}
		if kind != 0 {
			set.addKind(kind, f.ascii)
		} else {
			set.add(lo, lo)
		}
	}
}

// member reads one character of a class, or the kind of a shorthand such as \d.
func (p *reParser) member() (r, kind rune, err error) {
	if r = p.get(); r < 0 {
		return 0, 0, errNoPattern
	}
	if r != '\\' {
		return r, 0, nil
	}
	switch r = p.get(); r {
	case -1, '8', '9':
		return 0, 0, errNoPattern
	case 'd', 'D', 's', 'S', 'w', 'W':
		return 0, r, nil
	case 'b':
		return '\b', 0, nil
	}
	if '0' <= r && r <= '7' {
		v := p.octal(r-'0', 2)
		if v > 0o377 {
			return 0, 0, errNoPattern
		}
		return v, 0, nil
	}
	r, err = p.character(r)
	return r, 0, err
}
