package sqlstore_test

import (
	"context"
	"strings"
	"testing"

	"loops/persistence/sqlstore"
)

func TestRedacted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ location, want string }{
		{"sqlite:/a/b@c:d", "sqlite:/a/b@c:d"},
		{"dir", "dir"},
		{"postgres://me@host/runs", "postgres://me@host/runs"},
		{"postgres://me:secret@host:5432/runs?sslmode=disable", "postgres://me:xxxxx@host:5432/runs?sslmode=disable"},
		{"postgres://me:secret%zz@host/runs", "postgres://me:xxxxx@host/runs"},
		{"postgres://me:sec/re@t@host/runs", "postgres://me:xxxxx@host/runs"},
		{"postgres://:secret@host/runs", "postgres://:xxxxx@host/runs"},
		{"postgres:me:secret@host", "postgres:me:xxxxx@host"},
		{"mysql://me:secret@host/runs", "mysql://me:xxxxx@host/runs"},
		{"postgres://host/runs?user=me&password=secret&sslpassword=secret&sslmode=disable", "postgres://host/runs?user=me&password=xxxxx&sslpassword=xxxxx&sslmode=disable"},
		{"host=h password=secret user=me", "host=h password=xxxxx user=me"},
	} {
		if got := sqlstore.Redacted(c.location); got != c.want {
			t.Errorf("%s is shown as %s, want %s", c.location, got, c.want)
		}
	}
}

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
