package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unicode/utf8"
)

// mostAlternatives is how many patterns the braces of one pattern may stand for.
const mostAlternatives = 10_000

// inSequence finds {1..3}, which bash would expand.
var inSequence = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[^\\])(\{[^{},/\\]+\.\.[^{},/\\]+\})`)
})

// mostMatches is how many paths a pattern may match, which is as many as a list has items.
const mostMatches = 1_000_000

// Glob returns the paths that match a pattern, each once, as [fsm.Files] says.
func (f Files) Glob(ctx context.Context, dir, glob string) ([]string, error) {
	patterns, err := alternatives(glob)
	if err != nil {
		return nil, err
	}
	g := globber{ctx: ctx, root: cmp.Or(f.path(dir), "."), found: map[string]bool{}}
	if _, err := os.Stat(g.root); err != nil {
		return nil, f.missing(err)
	}
	for _, p := range patterns {
		base, parts := "", strings.Split(p, "/")
		if strings.HasPrefix(p, "/") {
			base, parts = "/", parts[1:]
		}
		if err := g.walk(base, parts); err != nil {
			return nil, err
		}
	}
	if f.There != nil { // a folder that was moved meanwhile looks empty
		if err := f.There(); err != nil {
			return nil, err
		}
	}
	names := slices.Sorted(maps.Keys(g.found))
	for _, name := range names {
		if !utf8.ValidString(name) {
			return nil, fmt.Errorf("the name %q is not UTF-8, so it cannot be an item; rename it", name)
		}
	}
	return names, nil
}

// A globber collects the paths that match patterns. Paths are joined and never cleaned: the system resolves ..
// behind a link.
type globber struct {
	ctx   context.Context
	root  string
	found map[string]bool
}

// at returns where a path is that a pattern means.
func (g *globber) at(name string) string {
	switch {
	case name == "":
		return g.root
	case name[0] == '/':
		return name
	}
	return g.root + "/" + name
}

func (g *globber) add(name string) error {
	if g.found[name] = true; len(g.found) > mostMatches {
		return fmt.Errorf("more than %d paths match; divide the work among several runs", mostMatches)
	}
	return nil
}

// walk finds what matches parts below base, which is empty or ends with a slash.
func (g *globber) walk(base string, parts []string) error {
	part, rest := parts[0], parts[1:]
	last := len(rest) == 0
	switch {
	case part == "" && !last: // a second slash
		return g.walk(base, rest)
	case part == "": // a pattern that ends with a slash means folders, and links to them
		st, err := os.Stat(g.at(base))
		if err != nil || !st.IsDir() || base == "" {
			return tolerable(err)
		}
		return g.add(base)
	case part == "**" && !last && rest[0] == "**":
		return g.walk(base, rest)
	case part == "**":
		if last {
			rest = []string{""} // base itself
		}
		if err := g.walk(base, rest); err != nil {
			return err
		}
		return g.below(base, parts)
	}
	match, text, err := matcher(part)
	if err != nil {
		return err
	}
	if match == nil && !last {
		return g.walk(base+text+"/", rest)
	}
	if match == nil {
		if _, err := os.Lstat(g.at(base + text)); err != nil {
			return tolerable(err)
		}
		return g.add(base + text)
	}
	entries, err := g.read(base)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		switch {
		case strings.HasPrefix(name, ".") && !strings.HasPrefix(text, ".") || !match.MatchString(name):
		case last:
			err = g.add(base + name)
		case entry.IsDir() || entry.Type()&fs.ModeSymlink != 0:
			err = g.walk(base+name+"/", rest)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// below continues with ** in every folder below base that is neither hidden nor a link.
func (g *globber) below(base string, parts []string) error {
	entries, err := g.read(base)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := base + entry.Name()
		switch {
		case strings.HasPrefix(entry.Name(), "."):
			continue
		case len(parts) == 1:
			err = g.add(name)
		case entry.IsDir():
			err = g.walk(name+"/", parts[1:])
		}
		if err == nil && entry.IsDir() {
			err = g.below(name+"/", parts)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// read lists a folder. A path that does not exist or is no folder is empty.
func (g *globber) read(base string) ([]fs.DirEntry, error) {
	if err := g.ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(g.at(base))
	return entries, tolerable(err)
}

// tolerable returns nil for errors that mean that no such path exists.
func tolerable(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) {
		return nil
	}
	return err
}

// matcher returns what matches the names of one part of a path, and the part without its backslashes; nil for
// one that is a name.
func matcher(part string) (match *regexp.Regexp, text string, err error) {
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

// alternatives returns the patterns that the {a,b} of a pattern stand for. Braces without a comma or an end are names.
func alternatives(glob string) ([]string, error) {
	var done []string
	for todo := []string{glob}; len(todo) > 0; {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		open, commas, end := braces(p)
		if end == 0 {
			if seq := inSequence().FindStringSubmatch(p); seq != nil {
				return nil, fmt.Errorf("the pattern has %s, and braces have names in them: {a,b}; a script can print what a sequence stands for: {command: ...}", seq[1])
			}
			done = append(done, p)
		}
		for i := 0; end > 0 && i+1 < len(commas); i++ {
			todo = append(todo, p[:open]+p[commas[i]+1:commas[i+1]]+p[end+1:])
		}
		if len(done)+len(todo) > mostAlternatives {
			return nil, fmt.Errorf("the braces of the pattern stand for more than %d patterns; use fewer", mostAlternatives)
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
