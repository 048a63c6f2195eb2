package persistence

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"loops/fsm"
)

// aged has everything that is noted noted so long ago.
func aged(t *testing.T, c *Circuit, by time.Duration) {
	t.Helper()
	err := c.change(func(all []refusal) []refusal {
		for i := range all {
			all[i].LastSeen -= by.Seconds()
		}
		return all
	})
	if err != nil {
		t.Fatal(err)
	}
}

// An agent that no run can use is asked once a minute by one of all that want to, is reported once, and is no
// rate limit.
func TestCircuitBlocks(t *testing.T) {
	t.Parallel()
	c := ProjectCircuit(filepath.Join(t.TempDir(), ".loops"))
	if s, try := c.Blocked("claude"); s != nil || try || len(c.Blocks()) > 0 {
		t.Fatalf("nothing is noted, and %+v %v is", s, try)
	}
	until := time.Now().Add(time.Hour).Round(time.Second)
	for _, s := range []fsm.Suspension{
		{By: "claude", Cause: fsm.FailAuth, Why: "expired"},
		{By: "codex/o9", Cause: fsm.FailModel, Why: "unknown"},
	} {
		if err := c.Block(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Limited("claude", until); err != nil {
		t.Fatal(err)
	}
	if s, try := c.Blocked("claude"); s == nil ||
		*s != (fsm.Suspension{By: "claude", Cause: fsm.FailAuth, Why: "expired"}) || try {
		t.Errorf("blocked: %+v, try %v", s, try)
	}
	if s, _ := c.Blocked("codex"); s != nil {
		t.Errorf("codex is blocked for want of a model: %+v", s)
	}
	if by, at := c.Refused("claude"); by != "claude" || !at.Equal(until.UTC()) {
		t.Errorf("the rate limit of claude: %s until %s, want %s", by, at, until)
	}
	if first, again := c.Alarm("claude"), c.Alarm("claude"); !first || again || !c.Alarm("gemini") {
		t.Errorf("alarms: %v, then %v", first, again)
	}
	aged(t, c, 2*time.Minute)
	var tries sync.Map
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if s, try := c.Blocked("claude"); s != nil && try {
				tries.Store(i, true)
			}
		})
	}
	all.Wait()
	n := 0
	tries.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d of 20 runs try, want 1", n)
	}
	if err := c.Block(fsm.Suspension{By: "claude", Cause: fsm.FailBilling, Why: "unpaid"}); err != nil ||
		c.Alarm("claude") {
		t.Errorf("blocked again: %v, or it is reported again", err)
	}
	aged(t, c, 3*time.Hour)
	if blocks := c.Blocks(); len(blocks) != 2 || blocks[0].Why != "unpaid" || blocks[1].By != "codex/o9" {
		t.Errorf("after three hours: %+v", blocks)
	}
	gone, err := c.Unblock(func(by string) bool { return strings.HasPrefix(by, "codex/") })
	if err != nil || len(gone) != 1 || gone[0].By != "codex/o9" {
		t.Errorf("unblocked %+v, %v", gone, err)
	}
	if err := c.Answered("claude", time.Now().Add(time.Second)); err != nil ||
		slices.ContainsFunc(c.Blocks(), func(b Block) bool { return b.By == "claude" }) {
		t.Errorf("claude answered, and is blocked still: %+v, %v", c.Blocks(), err)
	}
}
