package dirstore

import (
	"os"
	"path/filepath"
	"strings"

	"loops/internal/disk"
	"loops/persistence"
)

// livePaths are the files of one run among the running ones.
type livePaths struct{ state, events, parts, aside, pid, lock, torn, meta, removed, commands string }

func (d *Store) live(id persistence.ID) livePaths {
	p := filepath.Join(d.running, filepath.FromSlash(string(id)))
	return livePaths{
		p + ".state.json", p + ".events.jsonl", p + ".events", p + ".damaged", p + ".pid", p + ".lock", p + ".torn",
		p + ".meta-eval.jsonl", p + removedSuffix, p + commandsSuffix,
	}
}

// work is the working folder of a run.
func (d *Store) work(id persistence.ID) string {
	return filepath.Join(d.runs, filepath.FromSlash(string(id)))
}

// folderName is the name of a run's folder in the archive.
func folderName(runID, loop string) string { return runID + "-" + persistence.EncodeLoop(loop) }

// splitFolder takes the name of an archive folder apart: 2026-11-21T103405-fix.
func splitFolder(name string) (runID, loop string, ok bool) {
	if !isFolder(name) {
		return "", "", false
	}
	n := len(persistence.RunIDLayout)
	return name[:n], persistence.DecodeLoop(name[n+1:]), true
}

// EventsSize returns the bytes of the events of a run, whose file is known as [persistence.Run] has it: of the
// file, and of the parts before it. What cannot be looked at counts as nothing.
func EventsSize(events string) (n int64) {
	n, _ = disk.IsRegular(events)
	parts, _ := os.ReadDir(strings.TrimSuffix(events, ".jsonl"))
	for _, part := range parts {
		if info, err := part.Info(); err == nil {
			n += info.Size()
		}
	}
	return n
}
