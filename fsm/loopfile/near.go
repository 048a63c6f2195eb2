package loopfile

import "loops/internal/humanize"

// The messages of this package quote and suggest a lot; these short names keep them readable.

func quote(s string) string                         { return humanize.Quote(s) }
func clip(s string) string                          { return humanize.Clip(s) }
func enumerate(words []string) string               { return humanize.List(words) }
func and(words []string) string                     { return humanize.And(words) }
func near(word string, words []string) string       { return humanize.Nearest(word, words) }
func didYouMean(word string, words []string) string { return humanize.DidYouMean(word, words) }
