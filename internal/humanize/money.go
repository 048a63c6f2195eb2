package humanize

import (
	"fmt"
	"strconv"
)

// USD writes a sum of money: $0.0312.
func USD(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("$%.2f", v)
	}
	return fmt.Sprintf("$%.4f", v)
}

// Tokens is a count of tokens for people: 950, 12.3k, 4.56M.
func Tokens(n int64) string {
	switch {
	case n < 10_000:
		return strconv.FormatInt(n, 10)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.2fM", float64(n)/1e6)
}
