package fsm

import "context"

// Facts returns what the record says of the files that a run works on: as it begins or is resumed, and as it
// ends. It is called for the run itself, and not for its sub-loops.
type Facts func(ctx context.Context, ends bool) []Field

// facts adds to the fields of an event of the run itself what [Config.Facts] says.
func (e *Executor) facts(fields []Field, ends bool) []Field {
	if e.parent != nil || e.cfg.Facts == nil {
		return fields
	}
	e.do(func(ctx context.Context) { fields = append(fields, e.cfg.Facts(ctx, ends)...) })
	return fields
}
