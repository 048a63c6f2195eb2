package checkpointtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"loops/persistence/checkpoint"
)

var logging = []test{
	{"a run without events has none", func(t *T) {
		t.equal(t.since("r1", 0), []string{})
		t.equal(t.append("r1"), uint64(0))
		t.lists()
	}},
	{"events are numbered from 1", func(t *T) {
		t.equal(t.append("r1", event("a")), uint64(1))
		t.equal(t.append("r1", event("b"), event("c")), uint64(3))
		t.equal(t.append("r1"), uint64(3))
		t.equal(t.append("r2", event("x")), uint64(1))
		t.equal(t.since("r1", 0), []string{"a1", "b2", "c3"})
		t.equal(t.since("r1", 1), []string{"b2", "c3"})
		t.equal(t.since("r1", 3), []string{})
		t.equal(t.since("r1", 9), []string{})
		t.equal(t.since("r2", 0), []string{"x1"})
	}},
	{"checkpoints and events are counted", func(t *T) {
		count := func(want checkpoint.Counts) {
			t.Helper()
			n, err := checkpoint.Count(t.ctx, t.S, "r1")
			t.is(err, nil)
			t.equal(n, want)
		}
		count(checkpoint.Counts{})
		t.append("r1", event("a"), event("b"))
		count(checkpoint.Counts{Events: 2})
		t.save(full("r1", 1))
		t.save(full("r1", 2))
		count(checkpoint.Counts{Checkpoints: 1, Events: 2})
		t.is(checkpoint.Remove(t.ctx, t.S, "r1"), nil)
		count(checkpoint.Counts{})
	}},
	{"the cause of a failure is an event", func(t *T) {
		r := checkpoint.NewRun(t.S, checkpoint.Meta{Run: "r1"}, 0)
		t.is(r.SaveNow(t.ctx, full("r1", 1)), nil)
		t.is(r.FailWith(t.ctx, errors.New("no \"key\"")), nil)
		t.none("r1")
		for e, err := range t.log().Since(t.ctx, "r1", 0) {
			t.is(err, nil)
			t.equal(e.Kind+string(e.Data), checkpoint.FailedKind+`{"cause":"no \"key\""}`)
		}
		t.equal(t.append("r1"), uint64(1))
	}},
	{"an event comes back as it was", func(t *T) {
		at := time.Date(2026, 11, 21, 10, 34, 5, 123456789, time.FixedZone("east", 3600))
		e := checkpoint.Event{
			Time: at, Kind: "tool \"<x>\"\n",
			Data: json.RawMessage(`{"a":[1.0,"<\u2028>"],"crc32c":"x"}`),
		}
		before := e.Seq
		t.append("r1", e, checkpoint.Event{})
		t.equal(e.Seq, before)
		var got []checkpoint.Event
		for e, err := range t.log().Since(t.ctx, "r1", 0) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
		}
		if len(got) != 2 || !got[0].Time.Equal(at) || got[0].Time.Location() != time.UTC || got[0].Kind != e.Kind ||
			string(got[0].Data) != string(e.Data) || got[0].Seq != 1 {
			t.Fatalf("%+v", got)
		}
		if d := time.Since(got[1].Time); d.Abs() > time.Hour || got[1].Seq != 2 || got[1].Data != nil {
			t.Fatalf("%+v", got[1])
		}
	}},
	{"events that are not JSON are refused, all of them", func(t *T) {
		t.append("r1", event("a"))
		_, err := t.log().Append(t.ctx, "r1", event("b"), checkpoint.Event{Kind: "c", Data: json.RawMessage("{")})
		t.is(err, checkpoint.ErrNotJSON)
		t.equal(t.append("r1", event("d")), uint64(2))
		t.equal(t.since("r1", 0), []string{"a1", "d2"})
	}},
	{"an event with another number than the next is refused, and nothing is appended", func(t *T) {
		numbered := func(kind string, seq uint64) checkpoint.Event { e := event(kind); e.Seq = seq; return e }
		_, err := t.log().Append(t.ctx, "r1", numbered("a", 2))
		t.is(err, checkpoint.ErrSeq)
		t.equal(t.append("r1", numbered("a", 1)), uint64(1))
		_, err = t.log().Append(t.ctx, "r1", event("b"), numbered("c", 2))
		t.is(err, checkpoint.ErrSeq)
		t.equal(t.since("r1", 0), []string{"a1"})
		t.equal(t.append("r1", event("b"), numbered("c", 3)), uint64(3))
		t.equal(t.since("r1", 0), []string{"a1", "b2", "c3"})
	}},
	{"removing a run removes its events too, and can be repeated", func(t *T) {
		t.save(full("r1", 1))
		t.append("r1", event("a"))
		for range 2 {
			if err := checkpoint.Remove(t.ctx, t.S, "r1"); err != nil {
				t.Fatal(err)
			}
		}
		t.lists()
		t.equal(t.append("r1", event("b")), uint64(1))
	}},
	{"events outlive the checkpoint", func(t *T) {
		t.save(full("r1", 1))
		t.append("r1", event("a"))
		if err := t.S.Delete(t.ctx, "r1"); err != nil {
			t.Fatal(err)
		}
		t.lists()
		t.equal(t.append("r1", event("b")), uint64(2))
		t.equal(t.since("r1", 0), []string{"a1", "b2"})
	}},
	{"clearing removes the events of one run and keeps its checkpoint", func(t *T) {
		t.save(full("r1", 1))
		t.append("r1", event("a"))
		t.append("r2", event("x"))
		for range 2 {
			if err := t.log().Clear(t.ctx, "r1"); err != nil {
				t.Fatal(err)
			}
			t.equal(t.since("r1", 0), []string{})
		}
		t.equal(t.append("r1", event("b")), uint64(1))
		t.equal(t.since("r2", 0), []string{"x1"})
		t.holds(full("r1", 1))
	}},
	{"large events and many events come back", func(t *T) {
		big := strings.Repeat("x", 1<<20)
		t.append("r1", checkpoint.Event{Kind: "big", Data: json.RawMessage(`"` + big + `"`)})
		var many []checkpoint.Event
		var want []string
		for i := range 3000 {
			many = append(many, event("e"))
			want = append(want, fmt.Sprintf("e%d", i+2))
		}
		t.equal(t.append("r1", many...), uint64(3001))
		t.append("r1", checkpoint.Event{Kind: "big", Data: json.RawMessage(`"` + big + `"`)})
		t.equal(t.since("r1", 1), append(want, "big3002"))
		t.equal(t.append("r1", event("z")), uint64(3003))
	}},
	{"a reader may stop early", func(t *T) {
		t.append("r1", event("a"), event("b"), event("c"))
		for e, err := range t.log().Since(t.ctx, "r1", 0) {
			if err != nil || e.Kind == "c" {
				t.Fatalf("%v, %+v", err, e)
			}
			if e.Kind == "b" {
				break
			}
		}
		t.equal(t.append("r1", event("d")), uint64(4))
	}},
	{"a reader may append while it reads", func(t *T) {
		t.append("r1", event("a"), event("b"))
		n := 0
		for _, err := range t.log().Since(t.ctx, "r1", 0) {
			if n++; n > 2 || err != nil {
				break
			}
			t.append("r1", event("c"))
		}
		t.equal(t.since("r1", 3), []string{"c4"})
	}},
	{"a bad run id is ErrRunID for events too", func(t *T) {
		_, err := t.log().Append(t.ctx, "", event("a"))
		t.is(err, checkpoint.ErrRunID)
		t.is(t.log().Clear(t.ctx, ""), checkpoint.ErrRunID)
		n := 0
		for _, err := range t.log().Since(t.ctx, "", 0) {
			t.is(err, checkpoint.ErrRunID)
			n++
		}
		t.equal(n, 1)
	}},
	{"a cancelled context appends nothing and says why", func(t *T) {
		t.append("r1", event("a"), event("b"))
		ctx, cancel := context.WithCancelCause(t.ctx)
		cancel(errWhy)
		_, err := t.log().Append(ctx, "r1", event("c"))
		t.is(err, errWhy)
		t.is(t.log().Clear(ctx, "r1"), errWhy)
		for _, err := range t.log().Since(ctx, "r1", 0) {
			t.is(err, errWhy)
		}
		t.equal(t.since("r1", 0), []string{"a1", "b2"})
	}},
	{"events of many goroutines have no gap", func(t *T) {
		var wg sync.WaitGroup
		for g := range 6 {
			wg.Go(func() {
				for range 10 {
					n, err := t.log().Append(t.ctx, "r1", event(fmt.Sprint("g", g)), event("twin"))
					if err != nil || n%2 != 0 {
						t.Errorf("append: %v, %d", err, n)
					}
				}
			})
		}
		wg.Wait()
		n := uint64(0)
		for e, err := range t.log().Since(t.ctx, "r1", 0) {
			if n++; err != nil || e.Seq != n || (e.Kind == "twin") != (n%2 == 0) {
				t.Fatalf("event %d: %v, %+v", n, err, e)
			}
		}
		t.equal(n, uint64(120))
	}},
}
