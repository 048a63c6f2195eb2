package expr

import (
	"slices"
	"strings"
)

// How a reference can end, besides with its path or with another filter than :shell.
const (
	suffixDefault  = "default"
	suffixNullable = "nullable"
	suffixShell    = filterShell
)

// A reference is ${...}, taken apart.
type reference struct {
	name     string   // namespace and path
	filters  []string // from left to right, without their colons
	suffix   string
	fallback string // of suffixDefault, as written
	problem  string // what is wrong with it whatever the values are; or ""

	program string // of jq, which the value goes through; "" = none
	offset  int    // of program in the text, in bytes
}

// parseReference takes a reference apart. What is after a | is a program of jq, with the filters and the
// suffix after that.
func parseReference(text string) reference {
	inside := text[2 : len(text)-1]
	before, _, _ := strings.Cut(inside, ":default=")
	i := strings.IndexByte(before, '|')
	if i < 0 {
		return parsePlain(text, inside)
	}
	r := parsePlain(text, inside[i+1:])
	r.offset = 2 + i + 1 + len(r.name) - len(strings.TrimLeft(r.name, " \t\n"))
	r.program, r.name = strings.TrimSpace(r.name), strings.TrimSpace(inside[:i])
	return r
}

// parsePlain is parseReference of text without its brackets, or of a part of it.
func parsePlain(text, inside string) reference {
	var r reference
	if name, fallback, ok := strings.Cut(inside, ":default="); ok {
		r.suffix, r.fallback = suffixDefault, fallback
		r.name, r.filters = cutFilters(name)
		if strings.HasSuffix(name, "?") || strings.HasSuffix(name, ":shell") {
			r.problem = "Ambiguous suffix in " + text + ": use only one of :default=, ? and :shell"
			return r
		}
	} else if name, ok := strings.CutSuffix(inside, "?"); ok {
		r.suffix = suffixNullable
		r.name, r.filters = cutFilters(name)
		if len(r.filters) == 1 && r.filters[0] == filterShell {
			r.name, r.filters = name, nil
		}
	} else {
		r.name, r.filters = cutFilters(inside)
		if strings.HasSuffix(inside, ":shell") {
			r.suffix = suffixShell
		}
	}
	if i := slices.Index(r.filters, filterShell); i >= 0 && i < len(r.filters)-1 {
		r.problem = "Filter :" + r.filters[i+1] + " after :shell in " + text +
			": it would take the quotes apart, so put :shell last"
	}
	return r
}

// cutFilters cuts the filters off the end of a name.
func cutFilters(inside string) (name string, filters []string) {
	name = inside
	for {
		i := strings.LastIndexByte(name, ':')
		if i < 0 || !isFilter(name[i+1:]) {
			break
		}
		filters = append(filters, name[i+1:])
		name = name[:i]
	}
	slices.Reverse(filters)
	return name, filters
}

// unescape turns $${ into ${, which a default text may hold.
func unescape(s string) string { return strings.ReplaceAll(s, "$${", "${") }

// A Reference is one reference in a text, for checks before a run.
type Reference struct {
	Namespace string   // before the first dot; all of it if there is none
	Path      string   // after the first dot, without filters and suffix
	Suffix    string   // "default" or "nullable"; else "shell" if that is the last filter; else ""
	Offset    int      // of its first $, in bytes
	Escaped   bool     // written $${...}: text, not a reference
	Text      string   // as written, with ${ and }
	Filters   []string // from left to right, without their colons; "shell" is one of them
	Program   string   // of jq; "" = none
	At        int      // of Program, in bytes from Offset
}

// References returns every reference in text, in order, the escaped ones included.
func References(text string) []Reference {
	var refs []Reference
	for t := (tokens{text: text}); t.next(); {
		inside := text[t.start:t.end]
		if t.escape {
			n := strings.IndexByte(text[t.end:], '}')
			if n < 1 {
				continue
			}
			inside = text[t.start+1 : t.end+n+1]
		}
		p := parseReference(inside)
		r := Reference{
			Offset: t.start, Escaped: t.escape, Text: inside, Suffix: p.suffix, Filters: p.filters,
			Program: p.program, At: p.offset,
		}
		r.Namespace, r.Path, _ = strings.Cut(p.name, ".")
		refs = append(refs, r)
	}
	return refs
}
