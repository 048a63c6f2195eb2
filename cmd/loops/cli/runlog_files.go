package cli

import (
	"context"
	"os"

	"loops/persistence"
)

// Size is that of the store and of the logs that the run wrote in the background.
func (r records) Size(ctx context.Context, id persistence.ID) (int64, error) {
	n, err := r.Store.Size(ctx, id)
	if err != nil {
		return n, err
	}
	for _, path := range persistence.LogFiles(r.logs, id) {
		if info, err := os.Lstat(path); err == nil {
			n += info.Size()
		}
	}
	return n, nil
}
