package dirstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"loops/fsm"
)

// The project was moved while a run recorded, and another one was put at the old path: state.json goes along with the
// journal, and nothing is written to the other project. The run is stopped when the journal is looked for.
func TestStateGoesWithTheJournal(t *testing.T) {
	t.Parallel()
	d := open(t)
	j := begin(t, d, step(1))
	running := filepath.Dir(j.files.state)
	moved := filepath.Join(t.TempDir(), "moved")
	must(t, errors.Join(os.Rename(running, moved), os.Mkdir(running, 0o700)))

	j.looked = time.Now().Add(time.Hour) // it is not looked for yet
	must(t, j.Record(t.Context(), step(2)))
	if names, err := os.ReadDir(running); err != nil || len(names) > 0 {
		t.Errorf("written to the old path: %v, %v", names, err)
	}
	b, err := os.ReadFile(filepath.Join(moved, filepath.Base(j.files.state)))
	if want := fmt.Sprintf(`"seq": %d,`, j.seq); err != nil || !strings.Contains(string(b), want) {
		t.Errorf("the state beside the journal lacks %s: %v, %s", want, err, b)
	}

	large := step(3) // its state file is not written at each checkpoint, and the journal is looked for all the same
	large.Snapshot.Messages = slices.Repeat([]string{strings.Repeat("m", 1000)}, 100)
	must(t, j.Record(t.Context(), large))
	j.looked = time.Time{}
	large.Snapshot.Step++
	if err := j.Record(t.Context(), large); !errors.Is(err, fsm.ErrMoved) {
		t.Errorf("error is %v, want %v", err, fsm.ErrMoved)
	}
	j.die()
}
