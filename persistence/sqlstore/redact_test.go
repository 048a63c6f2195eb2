package sqlstore_test

import (
	"context"
	"strings"
	"testing"

	"loops/persistence/sqlstore"
)

// TestNoPassword opens databases that are not there by URLs that are wrong or right, and looks for the password in what
// is said about them.
func TestNoPassword(t *testing.T) {
	t.Parallel()
	for _, location := range []string{
		"postgres://me:hush%zz@127.0.0.1:1/runs",
		"postgres://me:hush@127.0.0.1:1/runs",
		"postgres://me:hush@127.0.0.1:1/runs?sslmode=sometimes",
		"postgres://me:hush@127.0.0.1:1/runs?lease=soon",
		"postgres://me:hush@127.0.0.1:nowhere/runs",
		"postgres://127.0.0.1:1/runs?user=me&password=hush",
		"postgres://127.0.0.1:1/runs?user=me&password=hush&lease=1",
		"postgre://me:hush@127.0.0.1:1/runs",
	} {
		s, err := sqlstore.Open(context.Background(), location)
		if err == nil {
			s.Close()
			t.Fatalf("%s can be opened", location)
		}
		if strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: the error tells the password: %v", location, err)
		}
	}
}
