// Package glob matches paths with patterns: * ? [...] {a,b}, and ** for all folders below. A backslash makes the next
// byte literal.
package glob

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A Pattern matches paths. The zero Pattern matches none.
type Pattern struct {
	text string
	all  [][]part
}

// A part is a part of a pattern between slashes.
type part struct {
	any   bool // **
	match *regexp.Regexp
	name  string // where match is nil
}

func (p part) matches(name string) bool {
	if p.match == nil {
		return p.name == name
	}
	return p.match.MatchString(name)
}

// Compile reads a pattern of paths that are relative to a folder and have slashes.
func Compile(text string) (Pattern, error) {
	p := Pattern{text: text}
	texts, err := Alternatives(text)
	if err != nil {
		return Pattern{}, err
	}
	if err := closed(text); err != nil {
		return Pattern{}, err
	}
	for _, one := range texts {
		one = strings.TrimSuffix(strings.TrimPrefix(one, "./"), "/")
		if one == "" {
			return Pattern{}, errors.New("a pattern is empty")
		}
		var parts []part
		for _, name := range strings.Split(one, "/") {
			if name == "" || name == "." || name == ".." {
				return Pattern{},
					fmt.Errorf("%q is no pattern of paths below a folder: it is absolute, or one of its parts is "+
						"., .. or empty", text)
			}
			if name == "**" {
				parts = append(parts, part{any: true})
				continue
			}
			match, plain, err := Part(name)
			if err != nil {
				return Pattern{}, err
			}
			parts = append(parts, part{match: match, name: plain})
		}
		p.all = append(p.all, parts)
	}
	return p, nil
}

// closed returns an error where a bracket or a brace of a pattern has no end. In lists of files, as in bash,
// these are names.
func closed(text string) error {
	open := 0 // braces
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '{':
			open++
		case '}':
			open = max(open-1, 0)
		case '[':
			part, _, _ := strings.Cut(text[i:], "/")
			_, n := class(part)
			if n == 0 {
				return fmt.Errorf("%q has a [ without an end; \\[ stands for the character", text)
			}
			i += n - 1
		}
	}
	if open > 0 {
		return fmt.Errorf("%q has a { without an end; \\{ stands for the character", text)
	}
	return nil
}

// String returns the pattern as it was written.
func (p Pattern) String() string { return p.text }

// Covers reports whether the pattern matches a path, or a folder that the path is below. Names that begin with a dot
// are as any others.
func (p Pattern) Covers(path string) bool {
	names := strings.Split(path, "/")
	return slices.ContainsFunc(p.all, func(parts []part) bool { return covers(parts, names) })
}

func covers(parts []part, names []string) bool {
	if len(parts) == 0 {
		return true
	}
	if len(names) == 0 {
		return false
	}
	if parts[0].any {
		return len(parts) == 1 || covers(parts[1:], names) || covers(parts, names[1:])
	}
	return parts[0].matches(names[0]) && covers(parts[1:], names[1:])
}

// mostAlternatives is how many patterns the braces of one pattern may stand for.
const mostAlternatives = 10_000

// inSequence finds {1..3}, which bash would expand.
var inSequence = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[^\\])(\{[^{},/\\]+\.\.[^{},/\\]+\})`)
})

// Part returns what matches the names of one part of a path, and the part without its backslashes; nil for one that
// is a name.
func Part(part string) (match *regexp.Regexp, text string, err error) {
	var b, plain strings.Builder
	b.WriteString(`(?s)\A`)
	wild := false
	for i := 0; i < len(part); i++ {
		switch c := part[i]; c {
		case '\\':
			i = min(i+1, len(part)-1)
			b.WriteString(regexp.QuoteMeta(part[i : i+1]))
			plain.WriteByte(part[i])
			continue
		case '*':
			b.WriteString(".*")
			wild = true
		case '?':
			b.WriteByte('.')
			wild = true
		case '[':
			if set, n := class(part[i:]); n > 0 {
				b.WriteString(set)
				i += n - 1
				wild = true
				break
			}
			fallthrough
		default:
			b.WriteString(regexp.QuoteMeta(part[i : i+1]))
		}
		plain.WriteByte(part[i])
	}
	if !wild {
		return nil, plain.String(), nil
	}
	match, err = regexp.Compile(b.String() + `\z`)
	if err != nil {
		return nil, "", fmt.Errorf("%s is no pattern: %w", part, err)
	}
	return match, plain.String(), nil
}

// class reads [...] at the beginning of text: as a regular expression, and how long it is; 0 if it has no end.
func class(text string) (string, int) {
	b, i := "[", 1
	if strings.HasPrefix(text[1:], "!") || strings.HasPrefix(text[1:], "^") {
		b, i = "[^", 2
	}
	for first := i; i < len(text); i++ {
		c := text[i]
		switch {
		case c == ']' && i > first:
			return b + "]", i + 1
		case c == '\\' && i+1 < len(text):
			i++
			b += regexp.QuoteMeta(text[i : i+1])
			if text[i] == '-' || text[i] == '&' || text[i] == '~' {
				b = b[:len(b)-1] + `\` + text[i:i+1]
			}
		case c == '[' && strings.HasPrefix(text[i:], "[:") && strings.Contains(text[i:], ":]"):
			n := strings.Index(text[i:], ":]") + 2
			b += text[i : i+n]
			i += n - 1
		case strings.IndexByte(`[]^\`, c) >= 0:
			b += `\` + string(rune(c))
		default:
			b += text[i : i+1]
		}
	}
	return "", 0
}

// Alternatives returns the patterns that the {a,b} of a pattern stand for. Braces without a comma or an end are names.
func Alternatives(glob string) ([]string, error) {
	var done []string
	for todo := []string{glob}; len(todo) > 0; {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		open, commas, end := braces(p)
		if end == 0 {
			if seq := inSequence().FindStringSubmatch(p); seq != nil {
				return nil, fmt.Errorf("the pattern has %s, and braces have names in them: {a,b}; a script can "+
					"print what a sequence stands for: {command: ...}", seq[1])
			}
			done = append(done, p)
		}
		for i := 0; end > 0 && i+1 < len(commas); i++ {
			todo = append(todo, p[:open]+p[commas[i]+1:commas[i+1]]+p[end+1:])
		}
		if len(done)+len(todo) > mostAlternatives {
			return nil, fmt.Errorf("the braces of the pattern stand for more than %d patterns; use fewer",
				mostAlternatives)
		}
	}
	return done, nil
}

// braces finds the first {a,b}: where it begins, where its entries are cut (its braces among them), and where
// it ends; 0 = none.
func braces(p string) (open int, cuts []int, end int) {
	for open = 0; open < len(p); open++ {
		if p[open] == '\\' {
			open++
			continue
		}
		if p[open] != '{' {
			continue
		}
		depth := 0
		cuts = []int{open}
		for i := open; i < len(p); i++ {
			switch p[i] {
			case '\\':
				i++
			case '{':
				depth++
			case ',':
				if depth == 1 {
					cuts = append(cuts, i)
				}
			case '}':
				if depth--; depth == 0 && len(cuts) > 1 {
					return open, append(cuts, i), i
				} else if depth == 0 {
					i = len(p)
				}
			}
		}
	}
	return 0, nil, 0
}
