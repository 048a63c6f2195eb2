package terminal

import (
	"io"
	"strings"
)

// OnlyASCII reports whether the locale that an environment names has no more characters than ASCII.
func OnlyASCII(getenv func(string) (string, bool)) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		v, _ := getenv(name)
		if v == "" {
			continue
		}
		_, set, named := strings.Cut(v, ".")
		set, _, _ = strings.Cut(strings.ToLower(set), "@")
		if named {
			return set != "utf-8" && set != "utf8"
		}
		return v == "C" || v == "POSIX"
	}
	return false
}

// BarWidth returns how many columns a bar on w may have; 0 = w is no terminal, or one that only takes lines.
func BarWidth(w io.Writer, getenv func(string) (string, bool)) int {
	f, is := Terminal(w)
	if kind, _ := getenv("TERM"); !is || kind == "dumb" {
		return 0
	}
	return Width(f)
}
