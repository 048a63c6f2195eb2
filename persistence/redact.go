package persistence

import (
	"regexp"
	"strings"
	"sync"
)

var secret = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)((?:^|[?&\s])(?:ssl)?password\s*=)[^&\s]*`)
})

// Redacted returns a location as it may be shown: without the passwords of a URL, also of one that cannot be parsed.
func Redacted(location string) string {
	location = secret().ReplaceAllString(location, "${1}xxxxx")
	scheme, rest, ok := strings.Cut(location, ":")
	at := strings.LastIndexByte(rest, '@')
	if !ok || at < 0 || scheme == "sqlite" {
		return location
	}
	user, _, has := strings.Cut(strings.TrimLeft(rest[:at], "/"), ":")
	if !has {
		return location
	}
	slashes := rest[:len(rest)-len(strings.TrimLeft(rest, "/"))]
	return scheme + ":" + slashes + user + ":xxxxx" + rest[at:]
}
