package inspect

import (
	"fmt"
	"strings"

	"loops/fsm"
)

// LeftFiles returns which files of a run its event files_kept leaves out, "" if none: a few names with the reason.
func LeftFiles(e fsm.Event) string {
	all := whole(e, "left")
	if all == 0 {
		return ""
	}
	names, _ := e.Get("left_names").([]any)
	text := make([]string, 0, len(names)+1)
	for _, name := range names {
		text = append(text, fmt.Sprint(name))
	}
	if all > len(text) {
		text = append(text, "...")
	}
	return strings.Join(text, ", ")
}
