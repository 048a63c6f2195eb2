package humanize

import (
	"strconv"
	"strings"
)

// ParseSize reads a number of bytes: 512, 20M, 1.5G, 2GiB. The letters mean powers of 1024.
func ParseSize(s string) (n int64, ok bool) {
	number := strings.TrimRight(s, "iBkKmMgGtT")
	unit := strings.ToUpper(strings.TrimSuffix(strings.TrimSuffix(s[len(number):], "B"), "i"))
	shift, ok := map[string]uint{"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[unit]
	v, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || strings.Trim(number, "0123456789.") != "" || v*float64(int64(1)<<shift) > 1<<62 {
		return 0, false
	}
	return int64(v * float64(int64(1)<<shift)), true
}
