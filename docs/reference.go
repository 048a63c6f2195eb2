package docs

import "strings"

// A Chapter is a part of the language page, from its heading to the next heading of its level or above.
type Chapter struct {
	Level int // 2 is a chapter, 3 a part of one
	Title string
	Text  string
}

// A Key is one row of a table of keys.
type Key struct {
	Name    string
	Chapter string      // the title of the nearest heading above the table
	Columns [][2]string // heading and text of the other columns that are not empty
}

// Chapters returns the chapters of the language page and their parts, in the order of the page.
func Chapters() (list []Chapter) {
	page := Language()
	lines := Headings(page)
	for i, h := range lines {
		end := len(page)
		for _, next := range lines[i+1:] {
			if next.Level <= h.Level {
				end = next.Begin
				break
			}
		}
		list = append(list, Chapter{h.Level, h.Title, strings.TrimSpace(page[h.Begin:end]) + "\n"})
	}
	return list
}

// Keys returns the rows of all tables of keys, in the order of the page.
func Keys() (list []Key) {
	var columns []string
	chapter := ""
	for line := range strings.Lines(Language()) {
		switch cells := cellsOf(line); {
		case strings.HasPrefix(line, "## "), strings.HasPrefix(line, "### "):
			_, title, _ := strings.Cut(line, " ")
			chapter = strings.TrimSpace(title)
		case len(cells) == 0:
			columns = nil
		case cells[0] == "key":
			columns = cells
		case columns == nil, strings.HasPrefix(cells[0], "---"):
		default:
			for name := range strings.SplitSeq(cells[0], ", ") {
				k := Key{Name: strings.Trim(name, "`"), Chapter: chapter}
				for i, text := range cells[1:] {
					if i+1 < len(columns) && text != "" {
						k.Columns = append(k.Columns, [2]string{columns[i+1], text})
					}
				}
				list = append(list, k)
			}
		}
	}
	return list
}

// A Heading is one of a page.
type Heading struct {
	Level int // 2 or 3
	Begin int // the byte of the page at which its line begins
	Title string
}

// Headings returns the headings of a page at the levels 2 and 3, outside of code.
func Headings(page string) (list []Heading) {
	at, code := 0, false
	for line := range strings.Lines(page) {
		marks, title, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case strings.HasPrefix(line, "```"):
			code = !code
		case !code && (marks == "##" || marks == "###"):
			list = append(list, Heading{len(marks), at, title})
		}
		at += len(line)
	}
	return list
}

// cellsOf returns the cells of a row of a table; none is no row.
func cellsOf(line string) (cells []string) {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	const bar = "\x00" // stands for a bar that is part of a cell
	line = strings.Trim(strings.ReplaceAll(line, `\|`, bar), "|")
	for cell := range strings.SplitSeq(line, "|") {
		cells = append(cells, strings.TrimSpace(strings.ReplaceAll(cell, bar, "|")))
	}
	return cells
}
