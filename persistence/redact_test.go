package persistence_test

import (
	"testing"

	"loops/persistence"
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
		{
			"postgres://host/runs?user=me&password=secret&sslpassword=secret&sslmode=disable",
			"postgres://host/runs?user=me&password=xxxxx&sslpassword=xxxxx&sslmode=disable",
		},
		{"host=h password=secret user=me", "host=h password=xxxxx user=me"},
	} {
		if got := persistence.Redacted(c.location); got != c.want {
			t.Errorf("%s is shown as %s, want %s", c.location, got, c.want)
		}
	}
}
