package simtest

import (
	"testing"
	"time"
)

// A found is a fault that the simulator found, as small as it gets.
type found struct {
	name  string
	loops []*Loop
	plan  []Disturbance
	first uint64 // of forty seeds
}

// try compares the disturbed runs with the undisturbed ones; timed means that the way of the loops depends on time.
func (c found) try(t *testing.T, timed bool) {
	t.Helper()
	t.Run(c.name, func(t *testing.T) {
		t.Parallel()
		d := &Definition{Loops: c.loops}
		for seed := c.first; seed < c.first+40; seed++ {
			a, b, err := both(t, seed, d, c.plan)
			if err != nil {
				t.Fatal(err)
			}
			if text := b.Differs(a, timed); text != "" {
				t.Fatalf("seed %d: %s\n%s", seed, text, story(t, seed, d, c.plan, timed))
			}
		}
	})
}

// What simulations have found, each as small as it gets, with a few seeds: they are what actions come to, and
// how long they take.
func TestFound(t *testing.T) {
	t.Parallel()
	prompt := []string{"action_type: prompt", "action: do it", "evaluate: {type: exit_code}"}
	list := []string{
		"for_each: [x, y, z]", "on_item_failure: continue", "on_error: done", "on_no: done",
		"on_yes: done",
	}
	loop := func(name string, states ...*State) *Loop { return &Loop{Name: name, States: states} }
	for _, c := range []found{
		{
			"a run that was paused while the first check ran sent the prompt",
			[]*Loop{loop("l0",
				&State{Name: "s0", Keys: []string{"action_type: prompt", "action: do it", "on_error: done"}},
				&State{
					Name: "s1",
					Keys: []string{
						"action: do it", "on_error: done",
						"check: {files: ['tests/**'], must_fail_first: true}",
					},
				},
			)},
			[]Disturbance{{1, 0, Pause}},
			2006335,
		},
		{
			"a run that is paused in its branches and stopped by --after-item used up the stack",
			[]*Loop{loop("l0",
				&State{
					Name: "s0", Keys: []string{"join: settled", "on_error: done", "on_no: done", "on_yes: done"},
					Branches: []*State{
						{Name: "a", Keys: []string{"action: do it", "retry: {times: 2, backoff: 9s}"}},
						{Name: "b", Keys: []string{"action: do it"}},
					},
				})},
			[]Disturbance{{4, time.Millisecond, Pause}, {4, 9 * time.Second, Drain}},
			0,
		},
		{
			"an item that failed in its first try when the run was stopped by --after-item lost its other tries",
			[]*Loop{loop("l0",
				&State{Name: "s0", Keys: append(append([]string{"item_retries: 2"}, prompt...), list...)})},
			[]Disturbance{{4, time.Millisecond, Drain}},
			0,
		},
		{
			"two tries of an item were started under one name",
			[]*Loop{loop("l0",
				&State{
					Name: "s0",
					Keys: append(append([]string{"item_retries: 2", "parallel: 2"}, prompt...), list...),
				})},
			nil,
			0,
		},
		{
			"a wait of an item looked once more when the run was paused and stopped by --after-item",
			[]*Loop{loop("l0", &State{Name: "s0", Keys: append([]string{"wait: {until: look, every: 2s}"}, list...)})},
			[]Disturbance{{9, 4 * time.Second, Pause}, {13, 4 * time.Second, Drain}},
			0,
		},
		{
			"an item that was paused before it began, in a process that was killed, could not be resumed after " +
				"the next kill",
			[]*Loop{
				loop("l0", &State{
					Name: "s0",
					Keys: []string{"action: do it", "on_yes: s1", "on_no: s1", "on_error: s1"},
				},
					&State{Name: "s1", Keys: []string{"loop: l1", "on_error: done", "on_no: done", "on_yes: done"}}),
				loop("l1", &State{
					Name: "e0",
					Keys: append([]string{"action_type: prompt", "action: do it", "parallel: 3"}, list...),
				}),
			},
			[]Disturbance{{9, 0, Pause}, {13, 0, CrashLost}, {18, 4*time.Second + 1, CrashOver}},
			0,
		},
		{
			"a try that waited for its host when the run was killed was counted and never begun",
			[]*Loop{loop("l0",
				&State{
					Name: "s0",
					Keys: []string{"on_branch_failure: continue", "on_error: done", "on_no: done", "on_yes: done"},
					Branches: []*State{
						{Name: "a", Keys: []string{"action: do it"}},
						{Name: "b", Keys: prompt},
						{Name: "c", Keys: append([]string{"retry: {times: 1, backoff: 2s}"}, prompt...)},
					},
				})},
			[]Disturbance{{4, 20 * time.Second, CrashOver}},
			125,
		},
		{
			"items whose waits were ended by the timeout of a sub-loop went on without a place: three were at work " +
				"where one could be",
			[]*Loop{
				loop("l0", &State{Name: "s0", Keys: append([]string{"loop: l1"}, list...)}),
				loop("l1", &State{
					Name: "e0",
					Keys: []string{"loop: l2", "timeout: 16", "on_yes: e1", "on_no: e1", "on_error: e1"},
				},
					&State{Name: "e1", Keys: []string{"action: do it", "next: done"}}),
				loop("l2", &State{Name: "f0", Keys: []string{"wait: {for: 70s}", "next: done"}}),
			},
			nil,
			0,
		},
		{
			"a state with a guard lost what its set says when the run was killed after its action",
			[]*Loop{loop("l0",
				&State{
					Name: "s0",
					Keys: []string{
						"action: do it", "on_error: s0", guard, "on_guarded: done",
						"set: {n: context.n + 1}",
					},
				})},
			[]Disturbance{{5, 0, CrashKept}},
			7116,
		},
		{
			"a sub-loop that a guard ended acted again when the process died before the loop around it followed that",
			[]*Loop{
				loop("l0", &State{
					Name: "s0",
					Keys: []string{"loop: l1", "on_yes: done", "on_no: done", "on_error: failed"},
				}),
				loop("l1", &State{Name: "e0", Keys: []string{"loop: l2", "on_yes: done", "on_no: done"}}),
				loop("l2", &State{
					Name: "f0",
					Keys: []string{"action: do it", guard, "on_yes: done", "on_no: done", "on_error: done"},
				}),
			},
			[]Disturbance{{4, 0, CrashKept}},
			0,
		},
		{
			"the same of an item",
			[]*Loop{
				loop("l0", &State{Name: "s0", Keys: append([]string{"loop: l1"}, list...)}),
				loop("l1", &State{
					Name: "e0",
					Keys: []string{"action: do it", guard, "on_yes: done", "on_no: done", "on_error: done"},
				}),
			},
			[]Disturbance{{6, 0, CrashKept}},
			0,
		},
		{
			"the same of a sub-loop whose own budget was used up",
			[]*Loop{
				loop("l0", &State{
					Name: "s0",
					Keys: []string{"loop: l1", "on_yes: done", "on_no: failed", "on_error: done"},
				}),
				{
					Name: "l1", Keys: []string{"budget: {prompts: 1}"},
					States: []*State{
						{Name: "e0", Keys: append([]string{"on_yes: e0", "on_no: e0", "on_error: e0"}, prompt...)},
					},
				},
			},
			[]Disturbance{{4, 0, CrashKept}},
			0,
		},
		{
			"branches that had not begun when the run was stopped by --after-item were left out, because another " +
				"one was refused",
			[]*Loop{loop("l0",
				&State{Name: "s0", Keys: []string{
					"on_branch_failure: continue", "max_parallel: 2", "on_error: done",
					"on_no: done", "on_yes: done",
				}, Branches: []*State{
					{Name: "a", Keys: prompt}, {Name: "b", Keys: prompt}, {Name: "c", Keys: []string{"action: do it"}},
				}})},
			[]Disturbance{{4, 0, Drain}},
			0,
		},
		{
			"a run whose process died where another agent took over followed the failure of the first",
			[]*Loop{
				loop("l0", &State{Name: "s0", Keys: []string{"action: do it", "on_yes: s0", "on_no: s2"}},
					&State{
						Name: "s2", Keys: []string{"on_branch_failure: continue", "on_error: done"},
						Branches: []*State{
							{Name: "a", Keys: []string{"action: do it"}},
							{Name: "b", Keys: []string{"action: do it"}},
							{Name: "c", Keys: []string{
								"action_type: prompt", "action: do it",
								"host: [one, two, {host: one, model: small}]",
								"failover: {on: [suspended], return: false}",
							}},
							{Name: "d", Keys: []string{"wait: {event: go}"}},
						},
					}),
			},
			[]Disturbance{{10, 0, Drain}, {15, 0, Broken}},
			0,
		},
		{
			"another agent took over in a paused run",
			[]*Loop{loop("l0",
				&State{
					Name: "s0",
					Keys: append([]string{
						"host: [one, two]", "failover: {on: [suspended], return: false}",
						"on_error: failed", "on_no: done", "on_yes: done",
					}, prompt...),
				})},
			[]Disturbance{{2, 0, Pause}},
			0,
		},
		{
			"a run that was killed while a judge was asked what to remember counted what it had counted",
			[]*Loop{{
				Name: "l0",
				Keys: []string{memory, "circuit: {repeated_failure: {window: 2, on_repeated_failure: done}}"},
				States: []*State{
					{Name: "s0", Keys: []string{
						"action: do it", "on_error: s0", "on_no: s0", "on_yes: s0",
						"remember: {judge: what}",
					}},
				},
			}},
			[]Disturbance{{4, time.Second, CrashOver}},
			0,
		},
		{
			"a rate limit was remembered as an attempt that failed, and after a resume as none",
			[]*Loop{{
				Name: "l0", Keys: []string{memory},
				States: []*State{
					{Name: "s0", Keys: append([]string{
						"on_error: done", "on_no: done", "on_yes: done",
						"remember: so",
					}, prompt...)},
				},
			}},
			[]Disturbance{{3, 4 * time.Second, UserStop}},
			0,
		},
		{
			"a fact was lost when stop --after-item came while a judge was asked for it",
			[]*Loop{{
				Name: "l0", Keys: []string{memory},
				States: []*State{
					{Name: "s0", Keys: []string{"action: do it", "on_error: done", "remember: {judge: what}"}},
				},
			}},
			[]Disturbance{{4, 2926992147, Drain}},
			1000148,
		},
		{
			"a run stopped for lack of a process asked a refused branch again, and followed the refusal before the " +
				"others had ended",
			[]*Loop{
				loop("l0", &State{
					Name: "s0",
					Keys: []string{"loop: l1", "on_error: failed", "on_no: done", "on_yes: done"},
				}),
				loop("l1", &State{
					Name: "e0",
					Keys: []string{
						"on_branch_failure: continue", "on_error: e0", "max_retries: 2",
						"on_retry_exhausted: done",
					}, Branches: []*State{
						{Name: "a", Keys: []string{"action: do it"}},
						{Name: "b", Keys: []string{"action: do it"}},
						{Name: "c", Keys: prompt[:2]},
					},
				}),
			},
			[]Disturbance{{7, 5704421923, Stop}},
			50591,
		},
		{
			"a run whose verdict led nowhere ended as stopped, because stop --after-item came while it acted",
			[]*Loop{loop("l0", &State{Name: "s0", Keys: []string{"action: do it", "on_no: done"}})},
			[]Disturbance{{1, time.Millisecond, Drain}},
			0,
		},
		{
			"a refused branch was asked again, though a loop around follows the refusal, because the process " +
				"died before that",
			[]*Loop{
				loop("l0", &State{Name: "s0", Keys: []string{"loop: l1", "on_error: done"}}),
				loop("l1",
					&State{
						Name: "e0",
						Keys: []string{"action: quick", "for_each: [x]", "on_item_failure: continue", "on_no: e2"},
					},
					&State{
						Name: "e2", Keys: []string{"max_parallel: 1", "on_branch_failure: continue", "next: e0"},
						Branches: []*State{
							{Name: "a", Keys: prompt[:2]}, {Name: "d", Keys: []string{"action: do it"}},
						},
					},
				),
			},
			[]Disturbance{{12, 0, CrashLost}},
			2001250,
		},
		{
			"a check that has to fail before the first prompt was done before the route that led there was on record",
			[]*Loop{loop("l0",
				&State{Name: "s0", Keys: []string{"action: do it", "next: done", guard, "on_guarded: s2"}},
				&State{
					Name: "s1",
					Keys: []string{
						"action: do it", "on_error: done",
						"check: {files: ['tests/**'], must_fail_first: true}",
					},
				},
				&State{Name: "s2", Keys: append([]string{"on_error: done", "on_no: done", "on_yes: done"}, prompt...)},
			)},
			nil,
			1000573,
		},
		{
			"a run that was killed while it wrote a fact did the action again, where its verdict led nowhere",
			[]*Loop{{
				Name: "l0", Keys: []string{memory},
				States: []*State{{Name: "s0", Keys: []string{"action: do it", "on_no: done", "remember: so"}}},
			}},
			[]Disturbance{{4, 0, CrashKept}},
			0,
		},
		{
			"an item beside a branch that handed over was taken for one that had not begun, by the simulator",
			[]*Loop{
				loop("l0", &State{
					Name: "s0",
					Keys: []string{"on_branch_failure: continue", "on_error: done", "on_no: done", "on_yes: done"},
					Branches: []*State{
						{Name: "a", Keys: []string{"loop: l1"}},
						{Name: "b", Keys: []string{"loop: l4"}},
						{Name: "c", Keys: []string{"action: do it"}},
					},
				}),
				loop("l1", &State{Name: "e0", Keys: append([]string{"action: do it"}, list...)}),
				loop("l4", &State{
					Name: "h0",
					Keys: []string{
						"action: do it", "item_retries: 1", "for_each: [a, b, c, d, e]", "parallel: 3",
						"on_item_failure: continue", "on_error: done",
					},
				}),
			},
			nil,
			1001527,
		},
		{
			"an action that was stopped with its last line had changed files before that, in the simulator",
			[]*Loop{loop("l0",
				&State{Name: "s0", Keys: []string{"action: do it", "retry: {times: 1, backoff: 3s}", "next: s4"}},
				&State{Name: "s4", Keys: []string{"action: do it", "on_error: done", guard}},
			)},
			[]Disturbance{{1, 3871380545, PowerCut}, {6, 0, Drain}, {9, 3136701383, CrashOver}, {12, 0, Stop}},
			1005686,
		},
		{
			"a sub-loop in a branch did its last action again, because the process died while its memory was " +
				"told how it ended",
			[]*Loop{
				loop("l0", &State{
					Name: "s0",
					Keys: []string{"on_branch_failure: continue", "on_error: done", "on_no: done", "on_yes: done"},
					Branches: []*State{
						{Name: "a", Keys: []string{"loop: l1"}}, {Name: "b", Keys: []string{"action: do it"}},
					},
				}),
				{
					Name: "l1", Keys: []string{memory},
					States: []*State{{Name: "e0", Keys: []string{"action: do it", "on_error: done"}}},
				},
			},
			[]Disturbance{{8, 0, CrashKept}},
			0,
		},
		{
			"a sub-loop in a branch went in circles once more than it may, for the same reason",
			[]*Loop{
				loop("l0", &State{
					Name: "s0",
					Keys: []string{"on_branch_failure: continue", "on_error: done", "on_no: done", "on_yes: done"},
					Branches: []*State{
						{Name: "a", Keys: []string{"loop: l1"}}, {Name: "b", Keys: []string{"action: do it"}},
					},
				}),
				{
					Name: "l1", Keys: []string{memory, "max_edge_revisits: 1"},
					States: []*State{{Name: "e0", Keys: []string{"action: do it", "next: e0"}}},
				},
			},
			[]Disturbance{{9, 0, CrashKept}},
			0,
		},
		{
			"an item that had used more memory than its loop may went on, for the same reason",
			[]*Loop{
				loop("l0", &State{Name: "s0", Keys: append([]string{"loop: l1", "parallel: 2"}, list...)}),
				{Name: "l1", Keys: []string{
					memory,
					"host_guard: {max_cumulative_subproc_mb: 60, on_budget_exceeded: abort}",
				}, States: []*State{
					{Name: "e0", Keys: []string{"action: do it", "on_error: e0", "on_no: e0", "on_yes: e0"}},
				}},
			},
			[]Disturbance{{9, 0, CrashKept}},
			0,
		},
		{
			"a fact was about an attempt that failed, and after a resume about none, where the second try could " +
				"not be started",
			[]*Loop{{Name: "l0", Keys: []string{memory}, States: []*State{
				{Name: "s0", Keys: []string{
					"action: do it", "retry: {times: 1, backoff: 8s}", "on_error: done",
					"remember: '${state.name}'",
				}},
			}}},
			[]Disturbance{{4, 0, CrashKept}},
			4016490,
		},
		{
			"the same of an action that could not be started, when the run was killed while a judge was asked " +
				"what to remember",
			[]*Loop{{
				Name: "l0", Keys: []string{memory},
				States: []*State{
					{Name: "s0", Keys: []string{"action: do it", "on_error: done", "remember: {judge: what}"}},
				},
			}},
			[]Disturbance{{3, 0, CrashKept}},
			4016490,
		},
		{
			"another agent began with the files as the first one left them, though files: reset, because the " +
				"process died meanwhile",
			[]*Loop{
				loop("l0", &State{
					Name: "s0",
					Keys: append([]string{
						"host: [one, two]",
						"failover: {on: [suspended], return: false, files: reset}", "on_error: failed", "on_no: done",
						"on_yes: done",
					}, prompt...),
				}),
			},
			[]Disturbance{{4, 0, CrashKept}},
			0,
		},
		{
			"an event that was sent once ended the waits of two branches",
			[]*Loop{loop("l0",
				&State{
					Name: "s0",
					Keys: []string{"on_branch_failure: continue", "on_error: done", "on_no: done", "on_yes: done"},
					Branches: []*State{
						{Name: "a", Keys: []string{"wait: {event: go}"}},
						{Name: "b", Keys: []string{"wait: {event: go}"}},
					},
				})},
			nil,
			0,
		},
		{
			"an event was lost that came for an item which then waited for a place, because the process died there",
			[]*Loop{
				loop("l0", &State{Name: "s0", Keys: append([]string{"loop: l1", "parallel: 1"}, list...)}),
				loop("l1",
					&State{Name: "e0", Keys: []string{"wait: {event: go}", "next: e1"}},
					&State{Name: "e1", Keys: []string{"action: do it", "next: done"}},
				),
			},
			[]Disturbance{{9, 0, CrashKept}},
			0,
		},
		{
			"a work tree that an earlier visit left was made again, and all of it lost, because the process died " +
				"before the next visit acted",
			[]*Loop{
				loop("l0", &State{
					Name: "s0", Keys: []string{"join: settled", "on_error: done"},
					Branches: []*State{{Name: "a", Keys: []string{"loop: l1"}}},
				}),
				loop("l1", &State{
					Name: "e0",
					Keys: []string{
						"loop: l2", "worktree: side", "next: e0", "max_retries: 1",
						"on_retry_exhausted: done",
					},
				}),
				{
					Name: "l2", Keys: []string{memory},
					States: []*State{{Name: "f0", Keys: []string{"action: do it", "next: done"}}},
				},
			},
			[]Disturbance{{9, 0, CrashOver}},
			0,
		},
		{
			"a run that stalled did its last action again, because the process died while its memory was " +
				"told how it ended",
			[]*Loop{{
				Name: "l0",
				Keys: []string{memory, "circuit: {repeated_failure: {window: 2, on_repeated_failure: abort}}"},
				States: []*State{
					{Name: "s0", Keys: []string{
						"action_type: prompt", "action: do it", "on_error: s0", "on_no: s0",
						"on_yes: s0",
					}},
				},
			}},
			[]Disturbance{{11, 0, CrashKept}},
			0,
		},
		{
			"the handler of max_steps began with the breach of the state that acted one last time, which was not told",
			[]*Loop{
				{Name: "l0", Keys: []string{"max_steps: 6", "on_max_steps: s0", "maintain: true"}, States: []*State{
					{Name: "s0", Keys: []string{"loop: l1", "for_each: {command: list}", "next: s3"}},
					{Name: "s3", Keys: []string{"action: do it", "on_yes: done", guard}},
				}},
				loop("l1", &State{Name: "e0", Keys: []string{"on_error: done"}}),
			},
			nil,
			120006902,
		},
		{
			"a run that went in circles did its last list again, for the same reason",
			[]*Loop{{Name: "l0", Keys: []string{memory, "max_edge_revisits: 1"}, States: []*State{
				{Name: "s0", Keys: []string{
					"action: do it", "for_each: [x]", "on_item_failure: continue",
					"on_yes: s0", "on_error: done",
				}},
			}}},
			[]Disturbance{{5, 0, Pause}, {8, 0, CrashKept}},
			120010297,
		},
		{
			"a run that was suspended ended by its memory budget instead, unless it was parked",
			[]*Loop{
				{Name: "l0", Keys: []string{"host_guard: {max_cumulative_subproc_mb: 263, on_budget_exceeded: " +
					"abort, enabled: true, cooldown_ms: 2000}"}, States: []*State{
					{Name: "s0", Keys: []string{
						"action_type: prompt", "action: do it", "for_each: [x, y, z]",
						"on_item_failure: continue", "on_no: s1",
					}},
					{Name: "s1", Keys: []string{"on_branch_failure: continue", "next: done"}, Branches: []*State{
						{Name: "a", Keys: []string{"loop: l1"}},
						{Name: "c", Keys: []string{"ask: {question: sure, choices: [approve, reject]}"}},
					}},
				}},
				loop("l1", &State{Name: "e0", Keys: []string{"action: do it", "on_yes: e3"}},
					&State{Name: "e3", Keys: []string{"action_type: prompt", "action: do it", "on_yes: e0"}}),
			},
			[]Disturbance{{11, 2475724303, CrashOver}},
			140002097,
		},
		{
			"what an item changed was lost, because another one had to be put back when the process died, and " +
				"continued after it",
			[]*Loop{
				loop("l0", &State{Name: "s0", Keys: append([]string{"loop: l1", "parallel: 1"}, list...)}),
				loop("l1",
					&State{Name: "e0", Keys: []string{"wait: {url: 'http://x/', every: 3s}", "on_yes: e1"}},
					&State{Name: "e1", Keys: []string{"action: do it", "next: done", guard, "on_guarded: done"}},
				),
			},
			[]Disturbance{{6, time.Second, CrashOver}, {8, 0, CrashKept}},
			0,
		},
		{
			"a run that was paused while the first check ran did the other checks",
			[]*Loop{loop("l0",
				&State{Name: "s0", Keys: []string{"action_type: prompt", "action: do it", "on_error: done"}},
				&State{
					Name: "s1",
					Keys: []string{
						"action: do it", "on_error: done",
						"check: {files: ['tests/**'], must_fail_first: true}",
					},
				},
				&State{
					Name: "s2",
					Keys: append([]string{"action: do it", "check: {files: ['tests/**'], must_fail_first: true}"},
						list...),
				},
			)},
			[]Disturbance{{1, 1, Pause}},
			0,
		},
		{
			"a run that was paused in its action asked a judge what it came to",
			[]*Loop{loop("l0",
				&State{
					Name: "s0",
					Keys: append([]string{"on_error: done", "on_no: done", "on_yes: done"}, prompt[:2]...),
				})},
			[]Disturbance{{1, time.Millisecond, Pause}},
			0,
		},
		{
			"an action that breached a guard and was stopped left a message and a capture in the undisturbed run " +
				"only, in the simulator",
			[]*Loop{loop("l0",
				&State{
					Name: "s0",
					Keys: []string{
						"action: do it", "capture: cs0",
						"append_to_messages: '${state.name} ${state.iteration}'", "next: done", guard,
					},
				})},
			[]Disturbance{{4, 0, CrashLost}, {5, 3295709527, UserStop}},
			50002091,
		},
		{
			"an action that breached a guard and was stopped had a result in the undisturbed run only, in " +
				"the simulator",
			[]*Loop{loop("l0", &State{Name: "s0", Keys: []string{"action: do it", "next: done", guard}})},
			[]Disturbance{{1, 4366501081, PowerCut}, {5, 0, CrashLost}, {6, 5201054351, UserStop}},
			80003993,
		},
		{
			"a run that went in circles did its last action again, because the process died while its end was noted " +
				"in its memory",
			[]*Loop{{
				Name: "l0", Keys: []string{memory, "max_edge_revisits: 1"},
				States: []*State{{Name: "s0", Keys: []string{"action: do it", "next: s0"}}},
			}},
			[]Disturbance{{5, 0, CrashKept}},
			0,
		},
	} {
		c.try(t, false)
	}
}

// The same of loops whose way depends on time: nothing is wrong with either run.
func TestFoundWithLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []found{
		{
			"an agent that is out for the rest of the run was asked again, because it failed otherwise when all " +
				"agents were out",
			[]*Loop{{Name: "l0", Keys: []string{"failover: {on: [suspended]}"}, States: []*State{
				{Name: "s0", Keys: []string{
					"action_type: prompt", "action: do it", "host: [one, two]", "on_no: done",
					"max_rate_limit_retries: 1", "on_rate_limit_exhausted: done",
				}},
			}}},
			[]Disturbance{{7, 0, CrashLost}},
			2900,
		},
		{
			"a prompt that waited for what others in flight leave of a budget was sent though the quota of its " +
				"agent was used meanwhile",
			[]*Loop{{Name: "l0", Keys: []string{"quota: {reserve: 20%, spare: true}"}, States: []*State{
				{Name: "s0", Keys: []string{
					"wait: {for: 3s}", "for_each: [x]", "on_item_failure: continue",
					"next: s3",
				}},
				{Name: "s3", Keys: []string{
					"action_type: prompt", "action: do it", "for_each: {command: list}",
					"parallel: 2", "on_item_failure: continue", "next: done", "budget: {tokens: 20}",
				}},
			}}},
			nil,
			90006366,
		},
		{
			"items that a guard undid were done again with the addresses of before, after a hand-over, so that what " +
				"they remembered was lost",
			[]*Loop{
				{Name: "l0", States: []*State{{Name: "s0", Keys: []string{
					"loop: l1", "for_each: [x, y, z]", "parallel: 3", "on_error: done", guard,
				}}}},
				{Name: "l1", Keys: []string{memory}, States: []*State{{Name: "e0", Keys: []string{
					"action: do it", "on_error: done", "remember: '${captured}'",
				}}}},
			},
			nil,
			80007370,
		},
		{
			"the same of branches",
			[]*Loop{
				{Name: "l0", States: []*State{{Name: "s0", Keys: []string{
					"parallel: {a: {loop: l1}, b: {loop: l1}, c: {loop: l1}}", "on_error: done", "on_no: done", guard,
				}}}},
				{Name: "l1", Keys: []string{memory}, States: []*State{{Name: "e0", Keys: []string{
					"action: do it", "on_error: done", "remember: so",
				}}}},
			},
			nil,
			80007370,
		},
		{
			"a run ended twice, as its time was up while a judge that is asked what to remember was rate-limited",
			[]*Loop{{Name: "l0", Keys: []string{"timeout: 23", memory, "failover: {on: [suspended]}"}, States: []*State{
				{Name: "s0", Keys: []string{"action: do it", "on_error: done", "remember: {judge: what}"}},
			}}},
			nil,
			61000411,
		},
		{
			"a state that acted one last time at the timeout was judged and left, because the process died before " +
				"that was noted",
			[]*Loop{{Name: "l0", Keys: []string{"timeout: 3"}, States: []*State{
				{Name: "s0", Keys: []string{"action: do it", "on_no: s1"}},
				{Name: "s1", Keys: []string{"action: do it", "on_error: done", guard}},
			}}},
			[]Disturbance{{3, 0, CrashKept}},
			60001900,
		},
		{
			"the same of a state before the handler of max_steps",
			[]*Loop{
				{Name: "l0", Keys: []string{"max_steps: 1", "on_max_steps: done"}, States: []*State{
					{Name: "s0", Keys: []string{"loop: l1", "next: s1"}},
					{Name: "s1", Keys: []string{"action: do it", "on_no: s0", "on_error: done", guard}},
				}},
				{Name: "l1", States: []*State{{Name: "e0", Keys: []string{"wait: {for: 1s}", "next: done"}}}},
			},
			[]Disturbance{{5, 0, CrashKept}},
			0,
		},
		{
			"a run that was paused while a judge refused asked the judge of remember",
			[]*Loop{{Name: "l0", Keys: []string{memory, "failover: {on: [suspended]}"}, States: []*State{
				{Name: "s0", Keys: []string{
					"action_type: prompt", "action: do it", "on_error: done", "on_no: done",
					"on_yes: done", "remember: {judge: what}",
				}},
			}}},
			[]Disturbance{{4, time.Millisecond, Pause}},
			0,
		},
		{
			"a judge that refused in a paused run was followed by another one",
			[]*Loop{{Name: "l0", Keys: []string{"failover: {on: [suspended]}"}, States: []*State{
				{Name: "s0", Keys: []string{
					"action_type: prompt", "action: do it", "host: [one, two]",
					"on_error: done", "on_no: done", "on_yes: done",
				}},
			}}},
			[]Disturbance{{3, 0, Pause}},
			0,
		},
		{
			"a fact on record in a sub-loop was not written, because the time of the loop around it was up when the " +
				"run was resumed",
			[]*Loop{
				{
					Name: "l0", Keys: []string{"timeout: 1"},
					States: []*State{
						{Name: "s0", Keys: []string{"loop: l1", "on_error: done", "on_no: done", "on_yes: done"}},
					},
				},
				{
					Name: "l1", Keys: []string{memory},
					States: []*State{
						{Name: "e0", Keys: []string{
							"action: do it", "on_error: done", "on_no: done", "on_yes: done",
							"remember: so",
						}},
					},
				},
			},
			[]Disturbance{{4, 0, CrashKept}},
			0,
		},
	} {
		c.try(t, true)
	}
}
