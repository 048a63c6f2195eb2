package loopfile

import (
	"fmt"
	"strings"
)

// near returns the candidate most like word, or "" if none is like it. The first of equals wins.
func near(word string, candidates []string) string {
	// Longer words are no typing mistakes, and the work grows with the square of the length.
	if len(word) > 64 {
		return ""
	}
	allowed := 1 + len(word)/4
	best, bestDist := "", allowed+1
	folded := strings.ToLower(word)
	for _, c := range candidates {
		if d := len(c) - len(word); d > allowed || -d > allowed || c == word {
			continue
		}
		if dist := distance(folded, strings.ToLower(c), bestDist); dist < bestDist {
			best, bestDist = c, dist
		}
	}
	// Two words that share hardly a letter are not alike, however short.
	if bestDist >= len(word) {
		return ""
	}
	return best
}

// distance counts the letters to insert, delete, replace or swap with their neighbour; it gives up at limit.
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

// didYouMean returns a clause that begins with a semicolon, or "".
func didYouMean(word string, candidates []string) string {
	if s := near(word, candidates); s != "" {
		return fmt.Sprintf("; did you mean %s?", quote(s))
	}
	return ""
}

// enumerate joins words for a message and cuts a long list short.
func enumerate(words []string) string {
	const most = 15
	var b strings.Builder
	for i, w := range words {
		if i == most && len(words) > most+1 {
			fmt.Fprintf(&b, " and %d more", len(words)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(clip(w))
	}
	return b.String()
}

// and joins words: a, b and c.
func and(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return strings.Join(words, "")
}

// quote shows a text of the file in a message: one line, printable, not too long.
func quote(s string) string { return fmt.Sprintf("%q", short(s)) }

// clip is quote without the quotes.
func clip(s string) string {
	q := quote(s)
	return q[1 : len(q)-1]
}

func short(s string) string {
	const most = 60
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + "…"
		}
		n++
	}
	return s
}
