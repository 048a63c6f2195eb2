package archive

import (
	"context"
	"strconv"

	"loops/fsm/value"
	"loops/persistence"
	"loops/persistence/snapshot"
)

// unknown names a key of an archive that this program would not write back; "" = there is none. A later version
// may write one without another format, because earlier ones can do without it, but what they read is not the
// whole then.
func (b *Bundle) unknown(ctx context.Context, run []byte, d persistence.Digest) string {
	if key := left(run, encodeRun(b.Run, d)); key != "" {
		return runFile + ": " + key
	}
	m, err := b.Snapshot(ctx, b.Run.ID)
	if err != nil {
		return ""
	}
	text, err := snapshot.NewEncoder(nil).Whole(m)
	if err != nil {
		return ""
	}
	if key := left(b.memory, text); key != "" {
		return memoryFile + ": " + key
	}
	return ""
}

// left returns the path of the first key of an object, as JSON, that another one lacks.
func left(of, in []byte) string {
	have, err := value.ParseJSON(of)
	if err != nil {
		return ""
	}
	known, err := value.ParseJSON(in)
	if err != nil {
		return ""
	}
	return leftOf(have, known)
}

func leftOf(have, known any) string {
	switch have := have.(type) {
	case *value.Map:
		known, ok := known.(*value.Map)
		if !ok {
			return ""
		}
		for _, key := range have.Keys() {
			v, ok := known.Get(key)
			if !ok {
				return key
			}
			if deeper := leftOf(have.Value(key), v); deeper != "" {
				return key + "." + deeper
			}
		}
	case []any:
		known, ok := known.([]any)
		if !ok || len(known) != len(have) {
			return ""
		}
		for i, v := range have {
			if deeper := leftOf(v, known[i]); deeper != "" {
				return strconv.Itoa(i) + "." + deeper
			}
		}
	}
	return ""
}
