package web

import (
	"html/template"
	"slices"
	"strconv"
	"strings"
)

// coloured is what an action printed, with its colours as classes. All else that acts on a terminal is made
// visible, and nothing of it is taken for HTML.
func coloured(text string) template.HTML {
	var b strings.Builder
	var look []string // the classes that hold now
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		line = strings.TrimSuffix(line, "\r")
		for line != "" {
			piece, code, rest, found := cutSGR(line)
			if piece != "" {
				writePiece(&b, piece, look)
			}
			if found {
				look = sgr(look, code)
			}
			line = rest
		}
	}
	return template.HTML(b.String()) //nolint:gosec // every piece was escaped
}

func writePiece(b *strings.Builder, piece string, look []string) {
	text := template.HTMLEscapeString(harmless(piece))
	if len(look) == 0 {
		b.WriteString(text)
		return
	}
	b.WriteString(`<span class="` + strings.Join(look, " ") + `">` + text + "</span>")
}

// cutSGR cuts a line at its first sequence of style.
func cutSGR(line string) (before, code, rest string, found bool) {
	const begin = "\x1b["
	for from := 0; ; {
		i := strings.Index(line[from:], begin)
		if i < 0 {
			return line, "", "", false
		}
		i += from
		end := i + len(begin)
		for end < len(line) && end-i < 64 &&
			(line[end] >= '0' && line[end] <= '9' || line[end] == ';' || line[end] == ':') {
			end++
		}
		if end < len(line) && line[end] == 'm' {
			return line[:i], line[i+len(begin) : end], line[end+1:], true
		}
		from = i + len(begin)
	}
}

// sgr returns the classes that hold after a sequence of style: at most one of each kind.
func sgr(look []string, code string) []string {
	look = slices.Clone(look)
	without := func(prefix string) {
		look = slices.DeleteFunc(look, func(c string) bool { return strings.HasPrefix(c, prefix) })
	}
	set := func(prefix, class string) {
		without(prefix)
		look = append(look, prefix+class)
	}
	parts := strings.FieldsFunc(code, func(r rune) bool { return r == ';' || r == ':' })
	if len(parts) == 0 {
		return nil
	}
	for i := 0; i < len(parts); i++ {
		n, _ := strconv.Atoi(parts[i])
		switch {
		case n == 0:
			look = look[:0]
		case n == 1:
			set("ab", "")
		case n == 2:
			set("ad", "")
		case n == 3:
			set("ai", "")
		case n == 4:
			set("au", "")
		case n == 22:
			without("ab")
			without("ad")
		case n == 23:
			without("ai")
		case n == 24:
			without("au")
		case n >= 30 && n <= 37:
			set("f", strconv.Itoa(n-30))
		case n >= 90 && n <= 97:
			set("f", strconv.Itoa(n-90))
		case n >= 40 && n <= 47:
			set("g", strconv.Itoa(n-40))
		case n >= 100 && n <= 107:
			set("g", strconv.Itoa(n-100))
		case n == 39:
			without("f")
		case n == 49:
			without("g")
		case n == 38 || n == 48:
			colour, used := extended(parts[i+1:])
			i += used
			if colour >= 0 {
				set(map[int]string{38: "f", 48: "g"}[n], strconv.Itoa(colour))
			}
		}
	}
	return look
}

// extended reads a colour of 256, or of three parts, and returns the nearest of the eight.
func extended(parts []string) (colour, used int) {
	at := func(i int) int {
		if i >= len(parts) {
			return 0
		}
		n, _ := strconv.Atoi(parts[i])
		return n
	}
	switch {
	case at(0) == 5 && len(parts) > 1:
		n := at(1)
		switch {
		case n < 16:
			return n % 8, 2
		case n < 232:
			n -= 16
			return eight(n/36*51, n/6%6*51, n%6*51), 2
		}
		return eight((n-232)*10, (n-232)*10, (n-232)*10), 2
	case at(0) == 2 && len(parts) > 3:
		return eight(at(1), at(2), at(3)), 4
	}
	return -1, 1
}

func eight(r, g, b int) int {
	most := max(r, g, b)
	bit := func(v, bit int) int {
		if v > 60 && v*3 > most*2 {
			return bit
		}
		return 0
	}
	return bit(r, 1) | bit(g, 2) | bit(b, 4)
}
