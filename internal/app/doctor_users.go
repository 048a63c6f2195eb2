package app

import (
	"strings"

	"loops/internal/auth"
	"loops/internal/humanize"
)

// CheckUsers looks at a file of users of loops serve, and returns a problem for each line that is wrong. path
// "" is no file: nothing is found.
func CheckUsers(path string) []Finding {
	if path == "" {
		return nil
	}
	users, err := auth.Listed(path)
	if err == nil {
		return []Finding{{"users", FindingOK, humanize.Count(len(users), "user") + " in " + path, "", nil}}
	}
	var found []Finding
	for line := range strings.SplitSeq(err.Error(), "\n") {
		found = append(found,
			Finding{
				"users", FindingProblem, line,
				"correct the line, or delete it; loops serve passwd adds the user again", nil,
			})
	}
	return found
}
