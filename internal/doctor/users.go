package doctor

import (
	"strings"

	"loops/internal/auth"
	"loops/internal/humanize"
)

// Users looks at a file of users of loops serve, and returns a problem for each line that is wrong. path "" is no file: nothing is found.
func Users(path string) []Finding {
	if path == "" {
		return nil
	}
	users, err := auth.Listed(path)
	if err == nil {
		return []Finding{{"users", OK, humanize.Count(len(users), "user") + " in " + path, "", nil}}
	}
	var found []Finding
	for line := range strings.SplitSeq(err.Error(), "\n") {
		found = append(found, Finding{"users", Problem, line, "correct the line, or delete it; loops serve passwd adds the user again", nil})
	}
	return found
}
