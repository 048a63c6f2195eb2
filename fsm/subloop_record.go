package fsm

import (
	"slices"
)

// pass has a batch of a sub-loop recorded together with the memory around it.
func (e *Executor) pass(b *Batch) {
	p := e.parent
	for _, ev := range b.Events {
		logged := ev
		if logged.Depth > 0 { // as little-loops has it: how deep below the run, but nothing for the sub-loop itself
			logged.Depth += p.depth + 1
		}
		e.log.add(logged)
		ev.Depth++
		if e.branch != "" {
			ev.Fields = inBranch(e.branch, gitBranch(ev))
		}
		p.batch.Events = append(p.batch.Events, ev)
	}
	if b.Snapshot == nil {
		p.batch.Checkpoint, p.batch.Written = b.Checkpoint, b.Written
		p.write(&p.batch)
	} else {
		p.record(b.Checkpoint)
	}
}

// gitBranch returns the fields of an event with the branch of git under its own key where branch names that, as it does
// in events about work trees: inside a branch of parallel, branch is the path of that in all events.
func gitBranch(ev Event) []Field {
	if ev.Kind != EventWorktreeAttached && ev.Kind != EventWorktreeDetached && ev.Kind != EventWorktreeError ||
		ev.Get(treeCommit) != nil {
		return ev.Fields
	}
	fields := slices.Clone(ev.Fields)
	for i := range fields {
		if fields[i].Key == "branch" {
			fields[i].Key = treeCommit
		}
	}
	return fields
}

// inBranch adds the name of a branch to the fields of an event from inside it. The branch that it is inside of comes
// first.
func inBranch(name string, fields []Field) []Field {
	for i, f := range fields {
		if inner, ok := f.Value.(string); ok && f.Key == "branch" {
			fields = slices.Clone(fields)
			fields[i].Value = name + "/" + inner
			return fields
		}
	}
	return append(slices.Clip(fields), Field{"branch", name})
}

// logTruncated stands for the events of a sub-loop that do not fit into its capture.
const logTruncated = `{"event": "` + EventLogTruncated + `"}`

// A childLog keeps the events of a sub-loop for the state that captures them.
type childLog struct {
	on    bool
	child *Child
	size  int
}

func (l *childLog) add(ev Event) {
	if !l.on || l.size > maxChildLog {
		return
	}
	line := string(ev.AppendJSON(nil))
	if l.size += len(line); l.size > maxChildLog {
		line = logTruncated
	}
	l.child.Log = append(l.child.Log, line)
}
