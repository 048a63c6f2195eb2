package cli

import (
	"strings"
	"unicode/utf8"
)

// helpWidth is the longest line of a help page in characters, but for words that are longer.
const helpWidth = 90

// helpWrap breaks text again so that no line is longer than [Width]. Lines without an indent that follow each
// other are one paragraph. An indented line stays as it is where it fits; else it is a row of a table, and its
// text continues below the place where its last column begins, as the lines below it do.
func helpWrap(text string) string {
	var b strings.Builder
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); {
		from := i
		switch {
		case strings.TrimSpace(lines[i]) == "":
			b.WriteString("\n")
			i++
			continue
		case indent(lines[i]) == 0:
			for i < len(lines) && lines[i] != "" && indent(lines[i]) == 0 {
				i++
			}
			fill(&b, "", "", lines[from:i])
			continue
		}
		column := lastColumn(lines[i])
		for i++; i < len(lines) && column > indent(lines[from]) && indent(lines[i]) == column &&
			!strings.HasPrefix(lines[i][column:], "->"); {
			i++
		}
		row := lines[from:i]
		if fits(row) {
			b.WriteString(strings.Join(row, "\n") + "\n")
			continue
		}
		first := []rune(row[0])
		fill(&b, string(first[:column]), strings.Repeat(" ", column),
			append([]string{string(first[column:])}, row[1:]...))
	}
	return b.String()
}

// fill writes the words of lines, behind head on the first line and behind rest on the others.
func fill(b *strings.Builder, head, rest string, lines []string) {
	at := 0
	for i, word := range strings.Fields(strings.Join(lines, " ")) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
			b.WriteString(head)
			at = utf8.RuneCountInString(head)
		case at+1+n > helpWidth:
			b.WriteString("\n" + rest)
			at = utf8.RuneCountInString(rest)
		default:
			b.WriteString(" ")
			at++
		}
		b.WriteString(word)
		at += n
	}
	b.WriteString("\n")
}

func fits(lines []string) bool {
	for _, line := range lines {
		if utf8.RuneCountInString(line) > helpWidth {
			return false
		}
	}
	return true
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// lastColumn returns where the last column of a row of a table begins, in characters; that is its indent if it
// has but one.
func lastColumn(line string) int {
	in := indent(line)
	if i := strings.LastIndex(line[in:], "  "); i >= 0 {
		return utf8.RuneCountInString(line[:in+i+2])
	}
	return in
}
