package storetest

import (
	"iter"
	"reflect"
	"slices"
	"strings"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/testenv"
	"loops/persistence"
)

// What a listing gives of its runs beside their records.
var listing = []test{
	{"a reading gives the memory and the definition of a run, also of one that is moved meanwhile", func(t *T) {
		big := strings.Repeat("0123456789abcde\n", 20_000)
		j := t.create("fix")
		id := j.Run().ID
		top, all := inside("fix", 2)
		top.Captured.Set("a", value.NewMap("output", big))
		all[0].Child.Log = []string{strings.Repeat("x", 9000)}
		all[1].Child.Log = []string{strings.Repeat("y", 9000)}
		t.record(j, t.enter(top))
		t.record(j, t.output("one", "two"))
		t.read(id)

		before := t.reading(id)
		t.record(j, t.ended(top, fsm.EndTerminal))
		t.close(j)
		m, err := before.Memory(t.ctx)
		if err != nil || m.Step != top.Step || m.Captured.Len() != 1 {
			t.Errorf("the memory of a run that was archived meanwhile is %+v, %v", m, err)
		}
		var last fsm.Event
		for e, err := range before.Events(t.ctx, 0) {
			t.must(err)
			last = e
		}
		if last.Kind != fsm.EventLoopComplete {
			t.Errorf("the last event of a run that was archived meanwhile is %+v", last)
		}
		if text, err := before.Definition(t.ctx); err != nil || string(text) != "name: fix\n" {
			t.Errorf("the definition of a run that was archived meanwhile is %q, %v", text, err)
		}
		t.read(id)
		t.read(t.crashed("broken", 3))
		t.read(t.finished("stopped", fsm.EndInterrupted))

		for _, r := range t.runs(persistence.Query{}) {
			if r.Reading != nil {
				t.Errorf("%s comes with a reading that nobody asked for", r.ID)
			}
		}
	}},
	{"a limit does not hold back the runs that are running, if they are asked for", func(t *T) {
		var open []persistence.ID
		for range 3 {
			j := t.create("fix")
			t.record(j, t.enter(snap("fix", 1)))
			defer t.close(j)
			open = append(open, j.Run().ID)
		}
		slices.Reverse(open)
		other := t.create("other")
		t.record(other, t.enter(snap("other", 1)))
		defer t.close(other)
		var ended []persistence.ID
		for range 3 {
			ended = append(ended, t.finished("fix", fsm.EndTerminal))
		}
		for _, c := range []struct {
			q    persistence.Query
			want []persistence.ID
		}{
			{persistence.Query{Loop: "fix", Limit: 1}, ended[2:]},
			{persistence.Query{Loop: "fix", Limit: 1, LiveToo: true}, append(slices.Clone(ended[2:]), open...)},
			{
				persistence.Query{Loop: "fix", Limit: 4, LiveToo: true},
				append([]persistence.ID{ended[2], ended[1], ended[0]}, open...),
			},
			{persistence.Query{Loop: "fix", Limit: 1, LiveToo: true, Live: true}, open},
			{
				persistence.Query{Loop: "fix", LiveToo: true},
				append([]persistence.ID{ended[2], ended[1], ended[0]}, open...),
			},
		} {
			var got []persistence.ID
			for _, r := range t.runs(c.q) {
				got = append(got, r.ID)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%+v finds %v, want %v", c.q, got, c.want)
			}
		}
	}},
	{"the newest runs are left out, if they are to be skipped", func(t *T) {
		running := t.create("fix")
		t.record(running, t.enter(snap("fix", 1)))
		defer t.close(running)
		var all []persistence.ID
		for range 3 {
			t.finished("other", fsm.EndTerminal)
			all = append(all, t.finished("fix", fsm.EndTerminal))
		}
		slices.Reverse(all)
		all = append(all, running.Run().ID)
		for _, c := range []struct {
			q    persistence.Query
			want []persistence.ID
		}{
			{persistence.Query{Loop: "fix", Skip: 1}, all[1:]},
			{persistence.Query{Loop: "fix", Skip: 1, Limit: 2}, all[1:3]},
			{persistence.Query{Loop: "fix", Skip: 3, Limit: 2}, all[3:]},
			{persistence.Query{Loop: "fix", Skip: 4}, nil},
			{persistence.Query{Loop: "fix", Skip: 9, Limit: 1}, nil},
		} {
			var got []persistence.ID
			for _, r := range t.runs(c.q) {
				got = append(got, r.ID)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%+v finds %v, want %v", c.q, got, c.want)
			}
		}
		if got := t.runs(persistence.Query{Skip: 5}); len(got) != 2 {
			t.Errorf("of seven runs, without the five newest, %d are found", len(got))
		}
	}},
	{"the newest run of each loop is found, running or not", func(t *T) {
		if got := t.runs(persistence.Query{Last: true}); len(got) != 0 {
			t.Errorf("without runs there are %v", got)
		}
		t.finished("alpha", fsm.EndTerminal)
		t.finished("beta", fsm.EndTerminal)
		alpha := t.finished("alpha", fsm.EndTerminal)
		t.finished("gamma", fsm.EndTerminal)
		gamma := t.create("gamma")
		t.record(gamma, t.enter(snap("gamma", 1)))
		defer t.close(gamma)
		beta := t.finished("beta", fsm.EndTerminal)
		var got []persistence.ID
		for _, r := range t.runs(persistence.Query{Last: true}) {
			got = append(got, r.ID)
		}
		if want := []persistence.ID{beta, gamma.Run().ID, alpha}; !slices.Equal(got, want) {
			t.Errorf("the newest of each loop are %v, want %v", got, want)
		}
	}},
	{"a filter selects before runs are counted", func(t *T) {
		running := t.create("fix")
		t.record(running, t.enter(snap("fix", 1)))
		defer t.close(running)
		var fixed, others []persistence.ID
		n := testenv.Some(12, 40)
		for range n {
			fixed = append(fixed, t.finished("fix", fsm.EndTerminal))
			others = append(others, t.finished("Other", fsm.EndMaxSteps))
		}
		slices.Reverse(fixed)
		slices.Reverse(others)
		began := t.one(fixed[n/2]).StartedAt
		all := append(slices.Clone(fixed), running.Run().ID)
		never := time.Now().Add(time.Hour)
		keep := func(ids ...persistence.ID) persistence.Filter {
			return persistence.Filter{Keep: func(r persistence.Run) bool { return slices.Contains(ids, r.ID) }}
		}
		statuses := func(all ...persistence.Status) persistence.Filter { return persistence.Filter{Statuses: all} }
		for _, c := range []struct {
			q    persistence.Query
			want []persistence.ID
		}{
			{persistence.Query{Filter: statuses(persistence.Completed)}, fixed},
			{persistence.Query{Filter: statuses(persistence.Completed), Skip: 3, Limit: 2}, fixed[3:5]},
			{persistence.Query{Filter: statuses(persistence.Completed), Skip: n - 1, Limit: 2}, fixed[n-1:]},
			{persistence.Query{Filter: statuses(persistence.Completed), Skip: n}, nil},
			{persistence.Query{
				Filter: statuses(persistence.Running, persistence.Completed), Loop: "fix", Skip: n - 2,
				Limit: 9,
			}, all[n-2:]},
			{persistence.Query{
				Filter: statuses(persistence.Running, persistence.Completed), Loop: "fix", Skip: n,
				Readings: true,
			}, all[n:]},
			{persistence.Query{Filter: statuses(persistence.TimedOut)}, nil},
			{
				persistence.Query{
					Filter: persistence.Filter{Ends: []string{fsm.EndMaxSteps, fsm.EndTimeout}},
					Limit:  3,
				},
				others[:3],
			},
			{persistence.Query{Filter: persistence.Filter{Ends: []string{"", fsm.EndTimeout}}, Limit: 3}, all[n:]},
			{persistence.Query{Filter: persistence.Filter{Loops: []string{"Other", "none"}}, Limit: 3}, others[:3]},
			{persistence.Query{Filter: persistence.Filter{Loops: []string{"\xff", "it's"}}}, nil},
			{persistence.Query{Filter: persistence.Filter{Until: began}, Loop: "fix"}, nil}, // all began then
			{persistence.Query{Filter: persistence.Filter{Until: began.Add(time.Millisecond)}, Loop: "fix"}, all},
			{
				persistence.Query{Filter: persistence.Filter{Since: began.Add(-time.Second)}, Loop: "fix", Limit: 1},
				all[:1],
			},
			{persistence.Query{Filter: persistence.Filter{Since: never}}, nil},
			{persistence.Query{Filter: persistence.Filter{Text: "oTHER-"}}, others},
			// what ended it is not one of the texts
			{persistence.Query{Filter: persistence.Filter{Text: "MAX_STEPS"}}, nil},
			{persistence.Query{Filter: persistence.Filter{Text: "100%"}}, nil},
			{persistence.Query{Filter: persistence.Filter{Text: "\"state\""}}, nil},
			{
				persistence.Query{Filter: keep(fixed[1], others[7], fixed[n-1], running.Run().ID)},
				[]persistence.ID{fixed[1], others[7], fixed[n-1], running.Run().ID},
			},
			{
				persistence.Query{Filter: keep(fixed[1], others[7], fixed[n-1], running.Run().ID), Skip: 1, Limit: 2},
				[]persistence.ID{others[7], fixed[n-1]},
			},
			{persistence.Query{Filter: keep(fixed[1], others[7]), ID: others[7]}, others[7:8]},
			{persistence.Query{Filter: keep(fixed[1]), ID: others[7]}, nil},
			{
				persistence.Query{Filter: keep(fixed[1], running.Run().ID), Live: true},
				[]persistence.ID{running.Run().ID},
			},
			{persistence.Query{
				Filter: statuses(persistence.Completed, persistence.Interrupted), Open: true,
				Limit: 4,
			}, others[:2]},
		} {
			var got []persistence.ID
			for _, r := range t.runs(c.q) {
				got = append(got, r.ID)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%+v finds %v, want %v", c.q, got, c.want)
			}
		}
		if n := len(t.runs(persistence.Query{Filter: keep(all...), Enough: func() bool { return true }})); n >
			len(all) {
			t.Errorf("%d runs are found where %d are", n, len(all))
		}
	}},
	{"the last run of each loop is found alone", func(t *T) {
		t.finished("fix", fsm.EndTerminal)
		running := t.create("other")
		t.record(running, t.enter(snap("other", 1)))
		defer t.close(running)
		last := t.finished("fix", fsm.EndTerminal)
		third := t.finished("a-third", fsm.EndMaxSteps)
		for _, c := range []struct {
			q    persistence.Query
			want []persistence.ID
		}{
			{persistence.Query{Last: true}, []persistence.ID{third, last, running.Run().ID}},
			{persistence.Query{Last: true, Loop: "fix"}, []persistence.ID{last}},
			{persistence.Query{Last: true, Limit: 1}, []persistence.ID{third}},
			{persistence.Query{Last: true, Limit: 1, LiveToo: true}, []persistence.ID{third, running.Run().ID}},
			{persistence.Query{Last: true, Open: true, Readings: true}, []persistence.ID{third, running.Run().ID}},
		} {
			var got []persistence.ID
			for _, r := range t.runs(c.q) {
				got = append(got, r.ID)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%+v finds %v, want %v", c.q, got, c.want)
			}
		}
	}},
	{"runs that ended for good are left out, if only the open ones are asked for", func(t *T) {
		running := t.create("fix")
		t.record(running, t.enter(snap("fix", 1)))
		defer t.close(running)
		stopped := t.finished("fix", fsm.EndUserStopped)
		t.finished("fix", fsm.EndTerminal)
		capped := t.finished("fix", fsm.EndMaxSteps)
		t.finished("fix", fsm.EndTimeout)
		for _, c := range []struct {
			q    persistence.Query
			want []persistence.ID
		}{
			{persistence.Query{Open: true}, []persistence.ID{capped, stopped, running.Run().ID}},
			{persistence.Query{Open: true, Limit: 3}, []persistence.ID{capped}},
			{
				persistence.Query{Open: true, Limit: 3, LiveToo: true, Readings: true},
				[]persistence.ID{capped, running.Run().ID},
			},
			{persistence.Query{Open: true, Limit: 1}, nil},
			{persistence.Query{Open: true, ID: stopped}, []persistence.ID{stopped}},
			{persistence.Query{Open: true, Live: true}, []persistence.ID{running.Run().ID}},
		} {
			var got []persistence.ID
			for _, r := range t.runs(c.q) {
				got = append(got, r.ID)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%+v finds %v, want %v", c.q, got, c.want)
			}
		}
	}},
}

// reading lists one run with its reading.
func (t *T) reading(id persistence.ID) persistence.Reading {
	t.Helper()
	runs := t.runs(persistence.Query{ID: id, Readings: true})
	if len(runs) != 1 || runs[0].Reading == nil {
		t.Fatalf("run %s comes without a reading", id)
	}
	return runs[0].Reading
}

// read wants the reading of a run to give what the store does.
func (t *T) read(id persistence.ID) {
	t.Helper()
	r := t.reading(id)
	got, err := r.Memory(t.ctx)
	t.must(err)
	want, err := t.S.Snapshot(t.ctx, id)
	t.must(err)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the reading of %s remembers\n%+v\nand the store\n%+v", id, got, want)
	}
	type found struct {
		Event fsm.Event
		Err   error
	}
	gather := func(events iter.Seq2[fsm.Event, error]) (all []found) {
		for e, err := range events {
			all = append(all, found{e, err})
		}
		return all
	}
	for _, after := range []uint64{0, 2} {
		got, want := gather(r.Events(t.ctx, after)), gather(t.S.Events(t.ctx, id, after))
		if !reflect.DeepEqual(got, want) {
			t.Errorf("the reading of %s has the events after %d\n%+v\nand the store\n%+v", id, after, got, want)
		}
	}
	text, err := r.Definition(t.ctx)
	t.must(err)
	if want, err := t.S.Definition(t.ctx, id); err != nil || string(text) != string(want) {
		t.Errorf("the reading of %s has the definition %q, and the store %q, %v", id, text, want, err)
	}
}
