package engine

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"loops/internal/disk"
	"loops/internal/process"
)

// A Phase is what git does for a run beside its actions: making a work tree, merging a branch.
type Phase struct {
	Doing string           `json:"doing"`
	Since time.Time        `json:"since"`
	Owner process.Identity `json:"owner"` // the process that started git
}

// phaseFile is in the working folder of a run while git works for it. It is a note for people, so that an error
// of writing it is none of the run.
const phaseFile = "git.json"

// beginPhase notes in the working folder of a run ("" = there is none) what git does. done takes that back.
func beginPhase(dir, doing string) (done func()) {
	path := filepath.Join(dir, phaseFile)
	if _, err := os.Lstat(path); dir == "" || err == nil && PhaseIn(dir) != nil { // what is around it says more
		return func() {}
	}
	self, err := process.Self()
	if err != nil {
		return func() {}
	}
	b, err := json.Marshal(Phase{doing, time.Now(), self})
	if err != nil || disk.WriteFile(path, b, 0o644) != nil {
		return func() {}
	}
	return func() { _ = os.Remove(path) }
}

// PhaseIn returns what git does for the run with this working folder, nil if nothing: no process of this
// machine says so.
func PhaseIn(dir string) *Phase {
	b, err := os.ReadFile(filepath.Join(dir, phaseFile))
	var p Phase
	if err != nil || json.Unmarshal(b, &p) != nil {
		return nil
	}
	if alive, known := p.Owner.Alive(); !alive || !known {
		return nil
	}
	return &p
}
