package docs

import (
	"embed"
	"regexp"
	"strings"
	"sync"
)

//go:embed language.md language/*.md
var files embed.FS

// Language returns the description of loop files as one page: the index, and its chapters in their order. It is
// safe for concurrent use.
var Language = sync.OnceValue(func() string {
	index, _ := files.ReadFile("language.md")
	text := string(index)
	var b strings.Builder
	b.WriteString(inOne(idAnchor().ReplaceAllString(text, ""), "language/", ""))
	for _, m := range chapterLine().FindAllStringSubmatch(text, -1) {
		page, _ := files.ReadFile("language/" + m[1] + ".md")
		head, body, _ := strings.Cut(string(page), ChapterOf)
		b.WriteString("\n#" + head[strings.Index(head, "\n# ")+1:])
		b.WriteString(inOne(Shift(body, 1), "", "../"))
	}
	return b.String()
})

// ChapterOf is the line between the title of a chapter and its text.
const ChapterOf = "A chapter of [the loop language](../language.md).\n\n"

var (
	idAnchor    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<a id="[^"]*"></a>`) })
	chapterLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^\* .*?\]\(language/([a-z-]+)\.md\)`)
	})
	linkTarget = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\]\(([^()\s]+)\)`) })
)

// Links returns a page with the target of each link that change returns for it, outside of code.
func Links(page string, change func(target string) string) string {
	return outsideOfCode(page, func(line string) string {
		return linkTarget().ReplaceAllStringFunc(line, func(link string) string {
			return "](" + change(link[2:len(link)-1]) + ")"
		})
	})
}

// Shift returns a page with its headings by levels lower; below 0 higher.
func Shift(page string, levels int) string {
	return outsideOfCode(page, func(line string) string {
		switch {
		case !strings.HasPrefix(line, "#"):
			return line
		case levels < 0:
			return line[-levels:]
		}
		return strings.Repeat("#", levels) + line
	})
}

// outsideOfCode returns a page with each line changed that is in no block of code.
func outsideOfCode(page string, change func(line string) string) string {
	var b strings.Builder
	code := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "```") {
			code = !code
		} else if !code {
			line = change(line)
		}
		b.WriteString(line)
	}
	return b.String()
}

// inOne returns a page with links as they are where all chapters are one page of this folder. chapters is in
// front of the files of chapters, others in front of other files.
func inOne(page, chapters, others string) string {
	return Links(page, func(target string) string {
		if others != "" && strings.HasPrefix(target, others) {
			return strings.TrimPrefix(target, others)
		}
		file, is := strings.CutPrefix(target, chapters)
		chapter, part, inside := strings.Cut(file, ".md")
		switch {
		case !is || !inside || strings.Contains(target, ":"):
			return target
		case part != "":
			return part
		}
		return "#" + chapter
	})
}
