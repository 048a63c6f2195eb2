package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"loops/persistence"
	"loops/persistence/sqlstore"
)

// TestSendWhoseCommitIsLost is issue 35 §1.13: the connection breaks before COMMIT came to the server, or
// before its answer came back.
func TestSendWhoseCommitIsLost(t *testing.T) {
	t.Parallel()
	w := newWire(t, theServer(t))
	s := opened(t, w.location("commit", ""))
	direct := opened(t, theServer(t).URL("commit"))
	j := create(t, s, elsewhere)
	defer j.Close(t.Context()) //nolint:errcheck // the test is over
	for _, how := range []string{cutRequest, cutAnswer} {
		before, err := direct.Commands(t.Context(), j.Run().ID, 0)
		must(t, err)
		w.mu.Lock()
		w.end = how
		w.mu.Unlock()
		_, err = s.Send(t.Context(), j.Run().ID,
			persistence.Command{Kind: persistence.CommandPause, Segment: persistence.AnySegment})
		if _, unsure := errors.AsType[*persistence.UncertainError](err); !unsure {
			t.Errorf("%s: Send: %v, want that it may have been recorded", how, err)
		}
		after, err := direct.Commands(t.Context(), j.Run().ID, 0)
		if took := len(after) - len(before); err != nil || took != map[string]int{cutRequest: 0, cutAnswer: 1}[how] {
			t.Errorf("%s: %d commands came to it, %v", how, took, err)
		}
	}
}

// TestCommitThatIsRefused: what is certain after a COMMIT that failed.
func TestCommitThatIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "40001"}, true},
		{&pgconn.PgError{SeverityUnlocalized: "FATAL", Code: "57P01"}, false},
		{pgx.ErrTxCommitRollback, true},
		{sql.ErrTxDone, true},
		{io.ErrUnexpectedEOF, false},
		{context.DeadlineExceeded, false},
	} {
		if got := sqlstore.RolledBack(c.err); got != c.want {
			t.Errorf("%v: rolled back for certain is %v", c.err, got)
		}
	}
}
