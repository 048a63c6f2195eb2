package fsm_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

// Equal answers of different people decide; the last one of each person counts.
func TestCount(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ given, votes, decided string }{
		{"ada:yes bob:yes", "ada:yes bob:yes", "yes by ada, bob"},
		{"ada:yes ada:yes", "ada:yes", ""},
		{"ada:yes bob:no", "ada:yes bob:no", ""},
		{"ada:yes bob:no ada:no", "bob:no ada:no", "no by bob, ada"},
		{"ada:yes bob:no eve:yes bob:yes", "ada:yes bob:no eve:yes", "yes by ada, eve"},
		{"ada:yes bob:withdrawn eve:yes", "ada:yes bob:withdrawn", "withdrawn by bob"},
	} {
		var given []fsm.Vote
		for _, g := range strings.Fields(c.given) {
			by, choice, _ := strings.Cut(g, ":")
			given = append(given, fsm.Vote{Person: by, By: by, Choice: choice})
		}
		got := fsm.Count(2, given)
		votes := make([]string, len(got.Votes))
		for i, v := range got.Votes {
			votes[i] = v.By + ":" + v.Choice
		}
		decided := ""
		if len(got.Agreed) > 0 {
			decided = got.Agreed[0].Choice + " by " + got.By()
		}
		if strings.Join(votes, " ") != c.votes || decided != c.decided {
			t.Errorf("%s: %v, %q; want %s, %q", c.given, votes, decided, c.votes, c.decided)
		}
	}
}

const quorumLoop = `name: asks
initial: ask
states:
  ask:
    ask: {question: "Ship it?", quorum: 2, fields: {reason: text}}
    on_approve: done
    on_reject: failed
  done: {terminal: true}
  failed: {terminal: true}
`

// Two people decide, and an agent that answers for one of them is no other person, however often the process
// dies. Each answer is told once.
func TestQuorumAtEveryLostRecord(t *testing.T) {
	t.Parallel()
	answer := func(n uint64, by, person, choice, reason string) fsm.Signal {
		data := value.NewMap("choice", choice, "fields", value.NewMap("reason", reason))
		if person != "" {
			data.Set("person", person)
		}
		return fsm.Signal{N: n, Name: fsm.AnswerName("/1:1"), Data: data, From: by}
	}
	sent := box{
		answer(1, "ada", "", "reject", "red"), answer(2, "ada, by MCP", "ada", "approve", "green"),
		answer(3, "bob", "", "approve", "fine"), answer(4, "eve", "", "reject", "late"),
	}
	synctest.Test(t, func(t *testing.T) {
		loop := loadLoop(t, quorumLoop)
		run := func(rec *tape) (fsm.Outcome, error) {
			cfg, _, _ := config(loop, rec)
			some := post{sent: sent[:2]}
			cfg.Inbox = &some
			time.AfterFunc(2*time.Minute, func() { some.send(sent[2:]...) })
			if len(rec.saved) > 0 {
				return fsm.Resume(cfg, clone(rec.saved[len(rec.saved)-1])).Run(context.Background())
			}
			return fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background())
		}
		whole := &tape{}
		if out, err := run(whole); err != nil || out.FinalState != "done" {
			t.Fatalf("the unbroken run ended as %+v, %v", out, err)
		}
		for die := 2; die <= whole.count; die++ {
			rec := &tape{die: die}
			if _, err := run(rec); !errors.Is(err, errDied) {
				t.Fatalf("batch %d lost: the run was carried further: %v", die, err)
			}
			rec.die, rec.events = 0, rec.events[:rec.points[len(rec.saved)-1]]
			out, err := run(rec)
			if err != nil || out.FinalState != "done" {
				t.Errorf("batch %d lost: it ended as %+v, %v", die, out, err)
			}
			got, _ := rec.last().Captured.Value("ask").(*value.Map)
			if got.Value("by") != "ada, by MCP, bob" || got.Value("reason") != "fine" ||
				got.Value("choice") != "approve" {
				t.Errorf("batch %d lost: captured: %v", die, got)
			}
			if votes, answers := rec.has(fsm.EventHumanVote), rec.has(fsm.EventHumanResponse); votes != 2 ||
				answers != 1 {
				t.Errorf("batch %d lost: %d votes and %d answers are on record", die, votes, answers)
			}
		}
	})
}
