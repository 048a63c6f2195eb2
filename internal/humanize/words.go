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

// Clock writes a time in the local zone.
func Clock(t time.Time) string {
	if t.IsZero() {
		return "?"
	}
	return t.Local().Format("2006-01-02 15:04:05")
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

// OneLine is an error without its line ends. A line that occurs twice is in it once.
func OneLine(err error) string {
	text := ""
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimSpace(line)
		switch {
		case strings.Contains(text, line):
		case text == "" || strings.HasSuffix(text, ":"):
			text = strings.TrimSpace(text + " " + line)
		default:
			text += "; " + line
		}
	}
	return text
}
