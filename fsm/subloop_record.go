package fsm

import (
	"context"
	"slices"
)

// nested records the batches of a sub-loop together with the memory around it.
type nested struct {
	parent *Executor
	own    *Executor
	log    *childLog
}

// Record implements [Recorder]. It is called by the goroutine that runs the parent, which waits for the sub-loop.
func (n nested) Record(ctx context.Context, b *Batch) error {
	p := n.parent
	for _, ev := range b.Events {
		logged := ev
		if logged.Depth > 0 { // as little-loops has it: how deep below the run, but nothing for the sub-loop itself
			logged.Depth += p.depth + 1
		}
		n.log.add(logged)
		ev.Depth++
		if n.own.branch != "" {
			ev.Fields = inBranch(n.own.branch, ev.Fields)
		}
		p.batch.Events = append(p.batch.Events, ev)
	}
	if b.Snapshot == nil {
		p.batch.Checkpoint = b.Checkpoint
		p.write(ctx, &p.batch)
	} else {
		p.record(ctx, b.Checkpoint)
	}
	return p.broken
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
