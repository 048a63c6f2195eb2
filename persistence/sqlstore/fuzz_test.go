package sqlstore_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"loops/fsm"
	"loops/persistence"
	"loops/persistence/sqlstore"
)

// FuzzDatabase: a database of SQLite that is torn, or in which bits flipped, is read to the end, and what is
// believed of it is what was recorded.
func FuzzDatabase(f *testing.F) {
	const last = 12
	path := filepath.Join(f.TempDir(), "runs.db")
	s := open(f, "sqlite:"+path)
	j := create(f, s, elsewhere)
	for n := 2; n <= last; n++ {
		must(f, j.Record(f.Context(), step(n)))
	}
	id := j.Run().ID
	must(f, j.Close(f.Context()))
	events := map[uint64]string{}
	for e, err := range s.Events(f.Context(), id, 0) {
		must(f, err)
		events[e.Seq] = string(e.AppendJSON(nil))
	}
	must(f, s.Close())
	sound, err := os.ReadFile(path)
	must(f, err)
	if len(events) != 2*last || len(sound) < 4096 {
		f.Fatalf("%d events in %d bytes", len(events), len(sound))
	}

	for n := range 48 {
		f.Add(uint32(n*len(sound)/48+13*n), byte(1)<<(n%8), uint32(n), byte(0), uint32(0))
	}
	for n := range 8 { // torn
		f.Add(uint32(0), byte(0), uint32(0), byte(0), uint32(1+n*len(sound)/8))
	}
	for at, n := 0, 0; n < 4; n++ { // a digit of an event, which stays well-formed
		i := bytes.Index(sound[at:], []byte(`"step": `))
		if i < 0 {
			f.Fatal("no step is on record")
		}
		at += i + len(`"step": `)
		f.Add(uint32(at), byte(2), uint32(0), byte(0), uint32(0))
	}
	f.Fuzz(func(t *testing.T, a uint32, x byte, b uint32, y byte, length uint32) {
		spoilt := append([]byte(nil), sound...)
		spoilt[int(a)%len(sound)] ^= x
		spoilt[int(b)%len(sound)] ^= y
		if 0 < length && int(length) < len(sound) {
			spoilt = spoilt[:length]
		}
		path := filepath.Join(t.TempDir(), "runs.db")
		must(t, os.WriteFile(path, spoilt, 0o600))
		s, err := sqlstore.Open(t.Context(), "sqlite:"+path)
		if err != nil {
			return
		}
		s.Folder = t.TempDir()
		defer s.Close()
		for e, err := range s.Events(t.Context(), id, 0) {
			if err == nil && string(e.AppendJSON(nil)) != events[e.Seq] {
				t.Errorf("event %d is read as %s, and was recorded as %s", e.Seq, e.AppendJSON(nil), events[e.Seq])
			}
		}
		if m, err := s.Snapshot(t.Context(), id); err == nil &&
			(m.Step < 1 || m.Step > last || m.Current != fmt.Sprint("s", m.Step) || m.Phase != fsm.PhaseActing) {
			t.Errorf("the memory is read as %+v", m)
		}
		if runs, err := s.Runs(t.Context(), persistence.Query{}); err == nil && len(runs) > 1 {
			t.Errorf("one run is listed as %+v", runs)
		}
	})
}
