package web

import (
	"html"
	"html/template"
	"regexp"
	"strings"
	"sync"

	"loops/internal/humanize"
)

var (
	yamlKey = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(\s*(?:- +)*)("[^"]*"|'[^']*'|[^\s#:'"\[\]{},|>&*!%-][^:#]*?|[^\s#])(\s*:)(\s.*|)$`)
	})
	yamlBlock = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s+[|>][-+0-9]*\s*(#.*)?$`) })
	// The parts of a value: a comment, a text in quotes, the key of a mapping in braces.
	yamlParts = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:^|\s)#.*$|"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[A-Za-z_][\w.-]*:\s`)
	})
	yamlPlain = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*(true|false|null|~|-?\d[\d_]*(\.\d+)?[smhd]?)\s*$`)
	})
)

// highlighted returns YAML as HTML, in which keys, texts in quotes, numbers and comments have classes. It looks
// at lines only; what it does not recognise, and what is in a block of text, has no class.
func highlighted(text string) template.HTML {
	var b strings.Builder
	block := -1 // how far the key is indented whose block of text this is; below 0 = it is none
	for line := range strings.Lines(text) {
		line = humanize.PlainLine(strings.TrimSuffix(line, "\n"))
		deep := len(line) - len(strings.TrimLeft(line, " "))
		if block >= 0 && (deep > block || strings.TrimSpace(line) == "") {
			b.WriteString(html.EscapeString(line) + "\n")
			continue
		}
		block = -1
		if m := yamlKey().FindStringSubmatch(line); m != nil {
			b.WriteString(html.EscapeString(m[1]) + classed("y-k", m[2]) + html.EscapeString(m[3]))
			if line = m[4]; yamlBlock().MatchString(line) {
				block = deep
			}
		}
		b.WriteString(yamlValue(line) + "\n")
	}
	return template.HTML(strings.TrimSuffix(b.String(), "\n")) //nolint:gosec // all of it is escaped
}

func yamlValue(text string) string {
	if yamlPlain().MatchString(text) {
		return classed("y-n", text)
	}
	inside := strings.ContainsAny(strings.TrimLeft(text, " -")[:min(1, len(strings.TrimLeft(text, " -")))], "{[")
	var b strings.Builder
	at := 0
	for _, m := range yamlParts().FindAllStringIndex(text, -1) {
		part := text[m[0]:m[1]]
		class := "y-s"
		switch {
		case strings.HasPrefix(strings.TrimSpace(part), "#"):
			class = "y-c"
		case part[0] != '"' && part[0] != '\'':
			if class = "y-k"; !inside {
				continue
			}
		}
		b.WriteString(html.EscapeString(text[at:m[0]]) + classed(class, part))
		at = m[1]
	}
	return b.String() + html.EscapeString(text[at:])
}

func classed(class, text string) string {
	return `<span class="` + class + `">` + html.EscapeString(text) + `</span>`
}
