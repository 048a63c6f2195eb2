package humanize

import (
	"fmt"
	"strings"
	"time"
)

// LastLines returns the last n lines of text.
func LastLines(s string, n int) string {
	end := len(s)
	for range n {
		i := strings.LastIndexByte(s[:end], '\n')
		if i < 0 {
			return s
		}
		end = i
	}
	return s[end+1:]
}

// InSeconds is Duration of so many seconds.
func InSeconds(s float64) string { return Duration(time.Duration(s * float64(time.Second))) }

// Words writes a name of the language as words: timed_out, timed out.
func Words(name string) string { return strings.ReplaceAll(name, "_", " ") }

// Clock writes a time in the local zone, with the name of the zone.
func Clock(t time.Time) string {
	if t.IsZero() {
		return "?"
	}
	return t.Local().Format("2006-01-02 15:04:05 MST")
}

// Dash returns s, or a dash for nothing.
func Dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// Seconds writes a time span without parts of a second.
func Seconds(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%ds", max(0, int(d.Seconds())))
	}
	return Duration(d)
}

// Bytes writes a number of bytes as people read it: 512 B, 1.5 KiB, 20 MiB.
func Bytes(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	for i, unit := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if v := float64(n) / float64(int64(1)<<(10*(i+1))); v < 1023.95 || unit == "TiB" {
			if v < 9.95 {
				return fmt.Sprintf("%.1f %s", v, unit)
			}
			return fmt.Sprintf("%.0f %s", v, unit)
		}
	}
	return ""
}

// FirstLine returns the first line of text that is not blank.
func FirstLine(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return strings.TrimRight(s[:i], " \t\r") + " …"
	}
	return s
}

// Ago writes how long ago something was.
func Ago(d time.Duration) string {
	if d < time.Second {
		return "just now"
	}
	return Duration(d.Truncate(time.Second)) + " ago"
}

// OneLine returns an error on one line, as [Joined] does, without the lines of files that it quotes and the
// marks below them.
func OneLine(err error) string { return joined(err.Error(), isQuoted) }

// Reason returns the first paragraph of the text of an error on one line, as OneLine does: why something was
// not done, without what was noted before.
func Reason(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n\n")
	return joined(first, isQuoted)
}

// Joined returns the lines of a text on one line, with semicolons between them. A line that occurs twice is in it once.
func Joined(lines string) string { return joined(lines, func(string) bool { return false }) }

func joined(lines string, without func(line string) bool) string {
	text := ""
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		switch {
		case without(line), strings.Contains(text, line):
		case text == "" || strings.HasSuffix(text, ":"):
			text = strings.TrimSpace(text + " " + line)
		default:
			text += "; " + line
		}
	}
	return text
}

// isQuoted reports whether a line is one of a file behind its number, or the mark of a place in the line above,
// as messages quote them.
func isQuoted(line string) bool {
	before, after, found := strings.Cut(line, "|")
	if !found || strings.Trim(before, "0123456789 ") != "" {
		return false
	}
	return strings.HasSuffix(before, " ") && before != "" || strings.Trim(after, " ^~") == "" &&
		strings.Contains(after, "^")
}
