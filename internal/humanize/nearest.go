package humanize

import (
	"fmt"
	"slices"
	"strings"
)

// symbols are the comparisons as programmers write them; as names they have no letter in common with what is meant.
var symbols = map[string]string{"==": "eq", "=": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}

// Nearest returns the candidate most like word, or "" if none is like it. It never returns word itself. Of candidates
// that are equally like it, one that begins as word does wins, then one that ends so, then the first.
func Nearest(word string, candidates []string) string {
	// Longer words are no typing mistakes, and the work grows with the square of the length.
	if len(word) > 64 {
		return ""
	}
	if name := symbols[word]; name != "" && slices.Contains(candidates, name) {
		return name
	}
	allowed := 1 + len(word)/4
	best, bestDist, bestTie := "", allowed+1, -1
	folded := strings.ToLower(word)
	for _, c := range candidates {
		if d := len(c) - len(word); d > allowed || -d > allowed || c == word {
			continue
		}
		lower := strings.ToLower(c)
		dist, tie := distance(folded, lower, bestDist+1), alike(folded, lower)
		if dist < bestDist || dist == bestDist && dist <= allowed && tie > bestTie {
			best, bestDist, bestTie = c, dist, tie
		}
	}
	// Two words that share hardly a letter are not alike, however short.
	if bestDist >= len(word) {
		return ""
	}
	return best
}

// alike ranks words of the same distance: gte is more like ge than like gt, neq more like ne than like eq.
func alike(a, b string) int {
	rank := 0
	if a != "" && b != "" {
		if a[0] == b[0] {
			rank = 2
		}
		if a[len(a)-1] == b[len(b)-1] {
			rank++
		}
	}
	return rank
}

// Distance counts the letters to insert, delete, replace or swap with their neighbour to turn a into b. It gives up at
// limit, which is then what it returns.
func Distance(a, b string, limit int) int { return min(distance(a, b, limit), limit) }

// Slips reports whether at most n letters were added, dropped or swapped with their neighbour to make slip of
// word. Another letter instead of one counts as two: one dropped and one added.
func Slips(slip, word string, n int) bool {
	if slip == word || len(slip) > len(word)+n || len(word) > len(slip)+n {
		return false
	}
	return slipsBetween(slip, word, n+1) <= n
}

// slipsBetween counts letters added, dropped or swapped, up to limit.
func slipsBetween(a, b string, limit int) int {
	switch {
	case limit <= 0:
		return 0
	case a == "" || b == "":
		return min(len(a)+len(b), limit)
	case a[0] == b[0]:
		return slipsBetween(a[1:], b[1:], limit)
	}
	best := 1 + min(slipsBetween(a[1:], b, limit-1), slipsBetween(a, b[1:], limit-1))
	if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
		best = min(best, 1+slipsBetween(a[2:], b[2:], limit-1))
	}
	return min(best, limit)
}

func distance(a, b string, limit int) int {
	prev2, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], prev2[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least >= limit {
			return limit
		}
		prev2, prev, row = prev, row, prev2
	}
	return prev[len(b)]
}

// DidYouMean returns a clause that begins with a semicolon, or "" if no candidate is like word.
func DidYouMean(word string, candidates []string) string {
	if s := Nearest(word, candidates); s != "" {
		return fmt.Sprintf("; did you mean %s?", Quote(s))
	}
	return ""
}
