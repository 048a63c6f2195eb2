package process

import (
	"sync"
	"testing"

	"loops/internal/testenv"
)

// Two runs began at once: the one removed the control group that the other had just made, which then did
// without for as long as it ran.
func TestControlGroupsMadeAtOnce(t *testing.T) {
	g, err := NewCgroup()
	testenv.ControlGroup(t, err)
	g.Close()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 200 {
				g, err := NewCgroup()
				if err != nil {
					t.Error(err)
					return
				}
				if !g.Empty() || g.Mark("x/1/1") != nil {
					t.Error("the group cannot be used")
				}
				g.Close()
			}
		})
	}
	all.Wait()
}
