package sqlstore_test

import (
	"fmt"
	"strings"
	"testing"

	"loops/persistence"
	"loops/persistence/sqlstore"
)

// TestMomentsOfSubmittedRun: the first events of a submitted run were "damaged: the checksum does not hold" for
// `history --at`, because its worker records its first memory whole, without a patch.
func TestMomentsOfSubmittedRun(t *testing.T) {
	t.Parallel()
	s := opened(t, postgres(t))
	r := submitted(t, s, persistence.Job{Queue: "default"})
	j, err := s.Begin(t.Context(), r.ID, spec(faraway))
	must(t, err)
	must(t, j.Record(t.Context(), step(2)))
	must(t, j.Record(t.Context(), step(3)))
	must(t, j.Close(t.Context()))
	var got strings.Builder
	for seq := uint64(1); seq <= 5; seq++ {
		before, after, err := s.Around(t.Context(), r.ID, seq)
		fmt.Fprint(&got, seq, ":")
		for _, m := range []persistence.Moment{before, after} {
			if m.Memory != nil {
				fmt.Fprintf(&got, " %s at %d", m.Memory.Current, m.Seq)
			}
		}
		fmt.Fprintln(&got, "", err)
	}
	const want = `1: s1 at 0 s2 at 2 <nil>
2: s1 at 0 s2 at 2 <nil>
3: s2 at 2 s3 at 4 <nil>
4: s2 at 2 s3 at 4 <nil>
5: s3 at 4 <nil>
`
	if got.String() != want {
		t.Errorf("around each event:\n%s\nwant\n%s", got.String(), want)
	}
}

// TestMemoryReadBesideWriter: who reads the row of a run, and then its memory, was told of damage if the first
// memory was recorded between the two.
func TestMemoryReadBesideWriter(t *testing.T) {
	t.Parallel()
	beside := func(t *testing.T, s *sqlstore.Store, begin func() persistence.Journal) {
		t.Helper()
		rs, err := s.Runs(t.Context(), persistence.Query{Readings: true})
		must(t, err)
		j := begin()
		if len(rs) == 0 {
			rs, err = s.Runs(t.Context(), persistence.Query{Readings: true})
			must(t, err)
		}
		must(t, j.Record(t.Context(), step(2)))
		must(t, j.Record(t.Context(), step(3)))
		if m, err := sqlstore.RememberedOf(t.Context(), rs[0]); err != nil || m.Current != "s3" {
			t.Errorf("memory %+v, %v", m, err)
		}
		must(t, j.Close(t.Context()))
	}
	each(t, func(t *testing.T, location func(testing.TB) string) {
		s := opened(t, location(t))
		beside(t, s, func() persistence.Journal { return create(t, s, elsewhere) })
	})
	t.Run("submitted", func(t *testing.T) {
		s := opened(t, postgres(t))
		r := submitted(t, s, persistence.Job{Queue: "default"})
		beside(t, s, func() persistence.Journal {
			j, err := s.Begin(t.Context(), r.ID, spec(faraway))
			must(t, err)
			return j
		})
	})
}
