package project

import (
	"context"
	"iter"
	"testing"

	"loops/fsm"
	"loops/persistence"
)

// recordsAtOnce is a store in which a run that was starting recorded all it did, and its process ended.
type recordsAtOnce struct{ persistence.Store }

func (recordsAtOnce) Runs(context.Context, persistence.Query) ([]persistence.Run, error) {
	return []persistence.Run{{ID: "fix-1", Loop: "fix", Status: persistence.Completed}}, nil
}

func (recordsAtOnce) Events(context.Context, persistence.ID, uint64) iter.Seq2[fsm.Event, error] {
	return func(yield func(fsm.Event, error) bool) { yield(fsm.Event{Seq: 1, Kind: fsm.EventLoopComplete}, nil) }
}

func (s recordsAtOnce) Track(r persistence.Run, after uint64) persistence.Track {
	return persistence.TrackEvents(s, r, after)
}

// `attach` said that a process had ended before it recorded anything: it recorded all between two looks.
func TestFollowRunThatRecordedAllBetweenTwoLooks(t *testing.T) {
	t.Parallel()
	f := Follower{Store: &Records{Store: recordsAtOnce{}, Project: &Project{}}, ID: "fix-1"}
	seen := 0
	r, err := f.Follow(t.Context(),
		persistence.Run{ID: "fix-1", Status: persistence.Starting, Owner: persistence.Owner{PID: -1}},
		func(_ fsm.Event, err error) {
			if err == nil {
				seen++
			}
		})
	if err != nil || r.Status != persistence.Completed || seen != 1 {
		t.Errorf("the run is %s after %d events: %v", r.Status, seen, err)
	}
}
