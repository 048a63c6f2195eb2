package actionlog

import (
	"io"
	"runtime"
	"strings"
	"testing"

	"loops/internal/plain"
)

// A line of any length is printed as it is, and is never in memory as a whole.
func TestLongLines(t *testing.T) {
	for _, text := range []string{
		"", "a", "a\n", "\n", "a\n\nb", "\n\n", strings.Repeat("x", pieceSize), strings.Repeat("x", pieceSize) + "\n", strings.Repeat("x", pieceSize) + "\ny\n",
		strings.Repeat("long ", 100_000) + "\nshort\n" + strings.Repeat("y", 3*pieceSize+7),
	} {
		for _, raw := range []bool{true, false} {
			var out strings.Builder
			l := &Printer{out: &out, Options: Options{Raw: raw}}
			if err := eachPiece(strings.NewReader(text), l.piece); err != nil {
				t.Fatal(err)
			}
			want := text
			if want != "" && !strings.HasSuffix(want, "\n") {
				want += "\n"
			}
			if out.String() != want {
				t.Errorf("of %d bytes, %.20q…, %d are printed", len(want), want, out.Len())
			}
		}
	}
	// A colour is not cut in two.
	for n := pieceSize - 8; n < pieceSize+2; n++ {
		var out strings.Builder
		w := plain.NewWriter(&out)
		l := &Printer{out: w}
		if err := eachPiece(strings.NewReader(strings.Repeat("x", n)+"\x1b[1;31mred\x1b[0m\n"), l.piece); err != nil {
			t.Fatal(err)
		}
		if got := out.String()[n:]; !strings.HasPrefix(got, "\x1b[1;31m") || strings.Contains(got, `\x1b`) {
			t.Errorf("behind %d bytes: %q", n, got)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	most := uint64(0)
	err := eachPiece(io.LimitReader(zeros{}, 1<<28), func(string, bool) {
		runtime.ReadMemStats(&after)
		most = max(most, after.HeapAlloc)
	})
	if err != nil || most > before.HeapAlloc+(16<<20) {
		t.Errorf("%v; %d MiB for a line of 256", err, (most-before.HeapAlloc)>>20)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
