package ui

import "strings"

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
