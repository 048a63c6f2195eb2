package persistence

import (
	"context"
	"sync/atomic"
)

type readsKey struct{}

// WithReads returns a context with which what reads records of runs, or their histories, adds to n how many it
// has read.
func WithReads(ctx context.Context, n *atomic.Int64) context.Context {
	return context.WithValue(ctx, readsKey{}, n)
}

// CountReads adds to the number of [WithReads], if the context has one.
func CountReads(ctx context.Context, more int) {
	if n, ok := ctx.Value(readsKey{}).(*atomic.Int64); ok {
		n.Add(int64(more))
	}
}
