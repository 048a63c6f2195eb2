package cli

import (
	"fmt"
	"io"
	"strings"
)

// A roffPage is one manual page.
type roffPage struct {
	Name     string // loops-run
	Section  int
	Source   string // what is at the foot: the program and its version
	Title    string // at the head: what the page belongs to
	Short    string // one line, without a full stop
	Synopsis []string
	Parts    []roffPart
	See      []roffReference
}

// A roffPart is a section of a page: text, and then a list.
type roffPart struct {
	Heading string
	Text    string
	List    []roffItem
}

// A roffItem is a term and what it means.
type roffItem struct {
	Term string // --output FILE: words in capitals stand for others
	Text string
}

// A roffReference names another page.
type roffReference struct {
	Name    string
	Section int
}

// Write writes a page as roff.
func (p roffPage) Write(w io.Writer) error {
	var b strings.Builder
	b.WriteString(".\\\" Written by loops man.\n")
	fmt.Fprintf(&b, ".TH %s %d \"\" %s %s\n", argument(strings.ToUpper(p.Name)), p.Section, argument(p.Source),
		argument(p.Title))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", escape(p.Name), escape(p.Short))
	b.WriteString(".SH SYNOPSIS\n.nf\n")
	for _, s := range p.Synopsis {
		b.WriteString(line(term(s)))
	}
	b.WriteString(".fi\n")
	for _, part := range p.Parts {
		fmt.Fprintf(&b, ".SH %s\n", argument(part.Heading))
		writeText(&b, part.Text)
		for _, item := range part.List {
			b.WriteString(".TP\n" + line(term(item.Term)) + line(escape(manualOneLine(item.Text))))
		}
	}
	if len(p.See) > 0 {
		b.WriteString(".SH SEE ALSO\n")
		for i, r := range p.See {
			comma := ","
			if i == len(p.See)-1 {
				comma = ""
			}
			fmt.Fprintf(&b, ".BR %s (%d)%s\n", escape(r.Name), r.Section, comma)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeText writes paragraphs. Lines that are indented stay as they are.
func writeText(b *strings.Builder, text string) {
	first := true
	for block := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		if strings.TrimSpace(block) == "" {
			continue
		}
		if !first {
			b.WriteString(".PP\n")
		}
		first = false
		verbatim := false
		for l := range strings.SplitSeq(strings.Trim(block, "\n"), "\n") {
			indented := strings.HasPrefix(l, " ") || strings.HasPrefix(l, "\t")
			if indented != verbatim {
				if verbatim = indented; verbatim {
					b.WriteString(".nf\n")
				} else {
					b.WriteString(".fi\n")
				}
			}
			b.WriteString(line(escape(strings.TrimRight(l, " \t"))))
		}
		if verbatim {
			b.WriteString(".fi\n")
		}
	}
}

// term shows a usage: words that are typed in bold, those that stand for others in italics.
func term(s string) string {
	var b strings.Builder
	for i, w := range strings.Split(s, " ") {
		if i > 0 {
			b.WriteByte(' ')
		}
		bare := strings.Trim(w, "[].,")
		switch {
		case bare == "" || bare == "flags":
			b.WriteString(escape(w))
		case strings.HasPrefix(bare, "-") || strings.ToUpper(bare) != bare:
			b.WriteString(strings.Replace(escape(w), escape(bare), "\\fB"+escape(bare)+"\\fR", 1))
		default:
			b.WriteString(strings.Replace(escape(w), escape(bare), "\\fI"+escape(bare)+"\\fR", 1))
		}
	}
	return b.String()
}

// line ends a line, and keeps it from being a request.
func line(s string) string {
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = "\\&" + s
	}
	return s + "\n"
}

// argument is escape for an argument of a request.
func argument(s string) string { return `"` + escape(s) + `"` }

// escape writes text so that it is printed as it is, quotes and hyphens to be copied too.
func escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\\':
			b.WriteString(`\(rs`)
		case r == '-':
			b.WriteString(`\-`)
		case r == '"':
			b.WriteString(`\(dq`)
		case r == '\'':
			b.WriteString(`\(aq`)
		case r == '`':
			b.WriteString(`\(ga`)
		case r == '^':
			b.WriteString(`\(ha`)
		case r == '~':
			b.WriteString(`\(ti`)
		case r == '\t':
			b.WriteString("    ")
		case r > 126:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		case r < ' ':
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func manualOneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
