package sqlstore_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// The first runs that a process starts, more at once than it has connections: each start held one and waited for
// another, to ask for the names of the project.
func TestManyStartsAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, location func(testing.TB) string) {
		at := location(t)
		first := opened(t, at)
		first.Projects = []string{"/p"}
		begin := spec(self(t))
		j, err := first.Create(t.Context(), begin) // the project has its word from here on
		must(t, err)
		must(t, j.Close(t.Context()))
		s := opened(t, at)
		s.Folder, s.Projects = first.Folder, first.Projects
		var starts sync.WaitGroup
		for n := range 24 {
			starts.Go(func() {
				sp := spec(self(t))
				sp.Loop, sp.StartedAt = fmt.Sprint("loop", n), began.Add(time.Duration(n)*time.Minute)
				sp.Scope = []string{strings.Repeat("d", n+1)}
				j, err := s.Create(t.Context(), sp)
				if err != nil {
					t.Error(err)
					return
				}
				if err := j.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		starts.Wait()
	})
}
