package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	_ "modernc.org/sqlite" // the driver

	"loops/internal/testenv"
)

var (
	serverUsed atomic.Bool
	server     = sync.OnceValues(func() (*testenv.PostgresServer, error) {
		serverUsed.Store(true)
		return testenv.StartPostgres(context.Background(),
			append(slices.Clone(testenv.QuickSettings), "max_connections = 60")...)
	})
	schemas atomic.Int64
)

func TestMain(m *testing.M) {
	testenv.Parallel(8)
	code := m.Run()
	if serverUsed.Load() {
		if s, err := server(); err == nil {
			if err := s.Remove(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				code = 1
			}
		}
	}
	os.Exit(code)
}

// postgres returns the location of an empty schema of a real server, which all tests share.
func postgres(t testing.TB) string {
	t.Helper()
	s, err := server()
	if errors.Is(err, testenv.ErrNoPostgres) {
		testenv.Skip(t, "PostgreSQL: "+err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	return s.URL(fmt.Sprintf("t%d", schemas.Add(1)))
}
