package cli

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"loops/internal/plain"
)

// A bar is drawn on a terminal as it is, though all other output loses its control characters there; with --quiet and
// TERM=dumb there is no bar.
func TestMeterOnATerminal(t *testing.T) {
	for _, c := range []struct {
		name, term string
		quiet      bool
		want       string
	}{
		{"a terminal", "xterm", false, "\rCopying  ############------------  50 of 100  50%  50/s  1s left\x1b[K\r\x1b[K"},
		{"quiet", "xterm", true, ""},
		{"a dumb terminal", "dumb", false, ""},
	} {
		far, near, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		a := &app{IO: IO{Err: plain.NewWriter(near), Env: append(os.Environ(), "TERM="+c.term, "LC_ALL=C")}}
		m := a.meter("Copying", c.quiet, nil)
		at := time.Unix(0, 0)
		if m != nil {
			m.Clock = func() time.Time { return at }
		}
		m.Set(0, 100)
		at = at.Add(time.Second)
		m.Set(50, 100)
		m.End()
		if _, err := near.WriteString("."); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 1000)
		n, err := far.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		got := string(buf[:n])
		for !strings.HasSuffix(got, ".") {
			if n, err = far.Read(buf); err != nil {
				t.Fatal(err)
			}
			got += string(buf[:n])
		}
		if got != c.want+"." {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		_, _ = near.Close(), far.Close()
	}
}
