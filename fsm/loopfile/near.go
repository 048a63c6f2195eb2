package loopfile

import "loops/internal/phrase"

// The messages of this package quote and suggest a lot; these short names keep them readable.

func quote(s string) string                         { return phrase.Quote(s) }
func clip(s string) string                          { return phrase.Clip(s) }
func enumerate(words []string) string               { return phrase.List(words) }
func and(words []string) string                     { return phrase.And(words) }
func near(word string, words []string) string       { return phrase.Nearest(word, words) }
func didYouMean(word string, words []string) string { return phrase.DidYouMean(word, words) }
