package main

import (
	"strings"
	"syscall"
)

func kernel() string {
	var u syscall.Utsname
	if err := syscall.Uname(&u); err != nil {
		return "unknown"
	}
	var release strings.Builder
	for _, c := range u.Release {
		if c == 0 {
			break
		}
		release.WriteByte(byte(c))
	}
	// What follows the number names a build of the machine's owner.
	number, _, _ := strings.Cut(release.String(), "-")
	return number
}
