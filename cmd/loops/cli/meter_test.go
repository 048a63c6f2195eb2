package cli

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"loops/internal/humanize"
)

// A bar is drawn on a terminal as it is, though all other output loses its control characters there; with --quiet and
// TERM=dumb there is no bar.
func TestMeterOnATerminal(t *testing.T) {
	for _, c := range []struct {
		name, term string
		quiet      bool
		want       string
	}{
		{"a terminal", "xterm", false, "\rCopying  ############------------  50 of 100  50%  50/s  1s " +
			"left\x1b[K\r\x1b[K"},
		{"quiet", "xterm", true, ""},
		{"a dumb terminal", "dumb", false, ""},
	} {
		far, near, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		a := &program{IO: IO{Err: humanize.NewPlainWriter(near), Env: append(os.Environ(), "TERM="+c.term, "LC_ALL=C")}}
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

// TestMessageInTheLineOfABar_36_4: a warning was printed behind the bar, in its line.
func TestMessageInTheLineOfABar_36_4(t *testing.T) {
	far, near, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	a := &program{IO: IO{
		Err: humanize.NewPlainWriter(near), Out: humanize.NewPlainWriter(near),
		Env: append(os.Environ(), "TERM=xterm", "LC_ALL=C"),
	}}
	m := a.meter("Copying", false, nil)
	at := time.Unix(0, 0)
	m.Clock = func() time.Time { return at }
	m.Set(0, 100)
	at = at.Add(time.Second)
	m.Set(50, 100)
	for _, w := range []io.Writer{a.Err, a.Out} {
		if _, err := io.WriteString(w, "a warning\n"); err != nil {
			t.Fatal(err)
		}
	}
	m.End()
	_ = near.Close()
	b, _ := io.ReadAll(far) // it ends with an error where the terminal is closed
	if got, want := string(b), "1s left\x1b[K\r\x1b[Ka warning\r\na warning\r\n"; !strings.HasSuffix(got, want) {
		t.Errorf("the terminal got %q, want it to end with %q", got, want)
	}
}
