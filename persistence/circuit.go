package persistence

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A Circuit is the file in which the runs of a project, those of the reference tool too, tell each other that an agent
// host refused for its rate. It implements fsm.Circuit, and may be used at once by any number of processes.
type Circuit struct {
	Path string // of the file; a lock file lies beside it
}

// ProjectCircuit is the circuit of the project whose .loops folder that is.
func ProjectCircuit(loops string) *Circuit {
	return &Circuit{Path: filepath.Join(loops, "tmp", "rate-limit-circuit.json")}
}

// A refusal is the content of the file: seconds since 1970, in the names of the reference tool.
type refusal struct {
	FirstSeen float64 `json:"first_seen"`
	LastSeen  float64 `json:"last_seen"`
	Attempts  int64   `json:"attempts"`
	Recovery  float64 `json:"estimated_recovery_at"`
}

// circuitStale is how long after its last record a circuit means nothing any more.
const circuitStale = time.Hour

// circuitPatience is how long a run waits for its turn to write. Others have the lock for a moment, unless they were
// stopped just then; then the run goes on without.
const circuitPatience = 2 * time.Second

// Recovery implements fsm.Circuit. A file that is missing, damaged or stale says nothing.
func (c *Circuit) Recovery() time.Time {
	r, ok := c.read()
	if !ok {
		return time.Time{}
	}
	return time.UnixMicro(int64(r.Recovery * 1e6)).UTC()
}

// read returns what the file says, and whether that holds now.
func (c *Circuit) read() (r refusal, ok bool) {
	b, err := readFile(c.Path)
	if err != nil || json.Unmarshal(b, &r) != nil {
		return refusal{}, false
	}
	age := secondsNow() - r.LastSeen
	if r.LastSeen <= 0 || age > circuitStale.Seconds() || !(r.Recovery >= 0 && r.Recovery < 1e11) {
		return refusal{}, false
	}
	return r, true
}

func secondsNow() float64 { return float64(time.Now().UnixMicro()) / 1e6 }

// Limited implements fsm.Circuit. A recovery that was told before is never made earlier.
func (c *Circuit) Limited(until time.Time) error {
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o755); err != nil {
		return err
	}
	lock, err := openFile(c.Path+".lock", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer lock.Close() // lets go of the lock
	giveUp := time.Now().Add(circuitPatience)
	for {
		err := flock(lock, syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return &os.PathError{Op: "flock", Path: lock.Name(), Err: err}
		}
		if time.Now().After(giveUp) {
			return fmt.Errorf("%s: %w", lock.Name(), ErrBusy)
		}
		time.Sleep(5 * time.Millisecond)
	}
	now := secondsNow()
	r, ok := c.read()
	if !ok {
		r = refusal{FirstSeen: now}
	}
	r.Attempts++
	r.LastSeen, r.Recovery = now, max(r.Recovery, float64(until.UnixMicro())/1e6)
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return replaceFile(c.Path, b)
}

// replaceFile puts another file in the place of one, so that whoever reads sees the one or the other. It need not
// outlast the power.
func replaceFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".rate-limit-*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
