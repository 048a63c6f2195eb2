package terminal_test

import (
	"errors"
	"strings"
	"testing"

	"loops/fsm/value"
	"loops/internal/terminal"
)

// A list that is written item by item looks as one that is written whole.
func TestWriteJSONList(t *testing.T) {
	t.Parallel()
	for _, list := range [][]any{{}, {int64(1)}, {value.NewMap("a", "x\ny", "b", []any{int64(1), "z"}), []any{}, nil}} {
		var whole, each strings.Builder
		err := errors.Join(terminal.WriteJSON(&whole, list),
			terminal.WriteJSONList(&each, func(yield func(any, error) bool) {
				for _, v := range list {
					if !yield(v, nil) {
						return
					}
				}
			}))
		if err != nil || whole.String() != each.String() {
			t.Errorf("%v\n%s\n%s", err, &whole, &each)
		}
	}
}

// Nothing is written of a list that cannot be read.
func TestWriteJSONListOfNothing(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	bad := errors.New("bad")
	err := terminal.WriteJSONList(&out, func(yield func(any, error) bool) {
		_ = yield(int64(1), nil) && yield(nil, bad)
	})
	if !errors.Is(err, bad) || out.Len() > 0 {
		t.Errorf("%v, %q", err, out.String())
	}
}
