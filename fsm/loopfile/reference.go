package loopfile

import (
	"strings"

	"loops/fsm/expr"
)

// references finds the templates of a text; escaped ones ($${...}) are text and left out.
func references(text string) []expr.Reference {
	if !strings.Contains(text, "${") {
		return nil
	}
	// Blanked, not skipped: looking for the end of each escape would take quadratic time in a hostile text.
	return expr.References(strings.ReplaceAll(text, "$${", "   "))
}

// guarded reports whether a reference has a value even where its path leads nowhere.
func guarded(r expr.Reference) bool { return r.Suffix == "default" || r.Suffix == "nullable" }
