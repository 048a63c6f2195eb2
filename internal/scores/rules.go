package scores

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"loops/engine"
	"loops/fsm/policy"
	"loops/internal/ui"
)

// Rules reads the rules of a text, whose mistakes are reported with their places in from.
func Rules(text, from string) ([]policy.Rule, error) {
	rules, err := policy.Parse(text)
	if mistakes, ok := errors.AsType[policy.SyntaxErrors](err); ok {
		lines := make([]string, len(mistakes))
		for i, m := range mistakes {
			lines[i] = fmt.Sprintf("%s:%d:%d: %s", from, m.Line, column(text, m.Offset), m.Message)
		}
		return nil, engine.Refuse(engine.Invalid, "%s", ui.BlockOf("loops: ", lines))
	}
	if len(rules) == 0 {
		return nil, engine.Refuse(engine.Invalid, "%s holds no rules", from)
	}
	return rules, nil
}

// column is the column of a byte of text, in characters from 1.
func column(text string, offset int) int {
	return 1 + utf8.RuneCountInString(text[strings.LastIndexByte(text[:offset], '\n')+1:offset])
}
