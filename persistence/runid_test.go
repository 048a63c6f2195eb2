package persistence_test

import (
	"testing"

	"loops/persistence"
)

// IsRunID and ParseRunID agree on what is the id of a run.
func TestRunID(t *testing.T) {
	t.Parallel()
	ids := []string{
		"2026-11-21T103405", "2024-02-29T000000", "2023-02-29T000000", "2026-04-31T235959",
		"2026-04-30T235959", "2026-13-01T000000", "2026-00-01T000000", "2026-01-00T000000", "2026-01-32T000000",
		"2026-01-01T240000", "2026-01-01T006000", "2026-01-01T000060", "2026-01-01 000000", "2026-01-01T00000",
		"2026-01-01T00000x", "", "0000-01-01T000000", "2026-01-01T000000Z",
	}
	for i := range 100 {
		ids = append(ids, "2026-"+string([]byte{'0' + byte(i/10), '0' + byte(i%10)})+"-28T000000",
			"2026-02-"+string([]byte{'0' + byte(i/10), '0' + byte(i%10)})+"T101010")
	}
	for _, id := range ids {
		if _, err := persistence.ParseRunID(id); persistence.IsRunID(id) != (err == nil) {
			t.Errorf("%q: %v, and %v", id, persistence.IsRunID(id), err)
		}
	}
}
