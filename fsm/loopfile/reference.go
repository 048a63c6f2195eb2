package loopfile

import (
	"strings"

	"loops/fsm"
)

// references finds the templates of a text; escaped ones ($${...}) are text and left out.
func references(text string) []fsm.Ref {
	if !strings.Contains(text, "${") {
		return nil
	}
	// Blanked, not skipped: looking for the end of each escape would take quadratic time in a hostile text.
	return fsm.References(strings.ReplaceAll(text, "$${", "   "))
}

// guarded reports whether a reference has a value even where its path leads nowhere.
func guarded(r fsm.Ref) bool { return r.Suffix == "default" || r.Suffix == "nullable" }
