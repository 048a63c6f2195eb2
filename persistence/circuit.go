package persistence

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"loops/fsm"
	"loops/internal/disk"
)

// A Circuit is the file in which the runs of a project, those of little-loops too, tell each other that an agent
// host is rate-limited. It implements fsm.Circuit, and may be used at once by any number of processes.
type Circuit struct {
	Path string // of the file; a lock file lies beside it
}

// ProjectCircuit is the circuit of the project whose .loops folder that is.
func ProjectCircuit(loops string) *Circuit {
	return &Circuit{Path: filepath.Join(loops, "tmp", "rate-limit-circuit.json")}
}

// A refusal is what is noted of one host: seconds since 1970, in the names of little-loops, which does not
// distinguish hosts.
type refusal struct {
	FirstSeen float64 `json:"first_seen"`
	LastSeen  float64 `json:"last_seen"`
	Attempts  int64   `json:"attempts"`
	Recovery  float64 `json:"estimated_recovery_at"`
	Host      string  `json:"host,omitempty"` // "" = not known: every host may be meant

	// of an agent that no run can use until a person does something: what is wrong, and what the agent said of it
	Cause    fsm.Failure `json:"cause,omitempty"`
	Why      string      `json:"why,omitempty"`
	Reported bool        `json:"reported,omitempty"` // people were notified
}

// blocks reports whether it is noted of an agent that no run can use, and not of a rate limit.
func (r refusal) blocks() bool { return r.Cause != "" }

// A circuitFile is the content of the file. What little-loops reads is the refusal that lasts longest.
type circuitFile struct {
	refusal
	Others []refusal `json:"others,omitempty"` // of other hosts
}

// circuitStale is how long after its last record a refusal means nothing any more.
const circuitStale = time.Hour

// blockStale is the same of an agent that no run can use, and blockTry how often a run may ask it all the same.
const (
	blockStale = 7 * 24 * time.Hour
	blockTry   = time.Minute
)

// circuitPatience is how long a run waits for its turn to write. Others have the lock for a moment, unless they were
// stopped just then; then the run continues without.
const circuitPatience = 2 * time.Second

// Refused implements fsm.Circuit. A file that is missing, damaged or stale says nothing.
func (c *Circuit) Refused(host string) (by string, until time.Time) {
	for _, r := range c.read() { // the longest first
		if !r.blocks() && (r.Host == host || r.Host == "" || host == "") {
			return r.Host, time.UnixMicro(int64(r.Recovery * 1e6)).UTC()
		}
	}
	return "", time.Time{}
}

// read returns what the file says and holds now, the refusal that lasts longest first.
func (c *Circuit) read() []refusal {
	var f circuitFile
	b, err := disk.Read(c.Path)
	if err != nil || json.Unmarshal(b, &f) != nil {
		return nil
	}
	now := secondsNow()
	all := slices.DeleteFunc(append(f.Others, f.refusal), func(r refusal) bool {
		stale := circuitStale
		if r.blocks() {
			stale = blockStale
		}
		return r.LastSeen <= 0 || now-r.LastSeen > stale.Seconds() || !(r.Recovery >= 0 && r.Recovery < 1e11)
	})
	slices.SortStableFunc(all, func(a, b refusal) int { return cmp.Compare(b.Recovery, a.Recovery) })
	return all
}

func secondsNow() float64 { return inSeconds(time.Now()) }

func inSeconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// Limited implements fsm.Circuit. A recovery that was recorded before is never made earlier.
func (c *Circuit) Limited(host string, until time.Time) error {
	return c.change(func(all []refusal) []refusal {
		now := secondsNow()
		i := slices.IndexFunc(all, func(r refusal) bool { return r.Host == host && !r.blocks() })
		if i < 0 {
			i, all = len(all), append(all, refusal{FirstSeen: now, Host: host})
		}
		r := &all[i]
		r.Attempts++
		r.LastSeen, r.Recovery = now, max(r.Recovery, inSeconds(until))
		return all
	})
}

// Answered implements fsm.Circuit. What is noted without a host stays: another one may be meant.
func (c *Circuit) Answered(host string, asked time.Time) error {
	over := func(r refusal) bool { return r.Host == host && r.LastSeen <= inSeconds(asked) }
	if !slices.ContainsFunc(c.read(), over) {
		return nil // nearly always
	}
	return c.change(func(all []refusal) []refusal { return slices.DeleteFunc(all, over) })
}

// Block implements fsm.Circuit.
func (c *Circuit) Block(s fsm.Suspension) error {
	return c.change(func(all []refusal) []refusal {
		i := slices.IndexFunc(all, blocked(s.By))
		if i < 0 {
			i, all = len(all), append(all, refusal{FirstSeen: secondsNow(), Host: s.By})
		}
		r := &all[i]
		r.Attempts++
		r.LastSeen, r.Cause, r.Why = secondsNow(), s.Cause, s.Why // Recovery is 0: little-loops does not wait for it
		return all
	})
}

// blocked finds what is noted of an agent, or a model of one, that no run can use.
func blocked(by string) func(refusal) bool {
	return func(r refusal) bool { return r.blocks() && r.Host == by }
}

// Blocked implements fsm.Circuit. Of the processes that ask at once, one is to try.
func (c *Circuit) Blocked(by string) (s *fsm.Suspension, try bool) {
	all := c.read()
	i := slices.IndexFunc(all, blocked(by))
	if i < 0 {
		return nil, false
	}
	s = &fsm.Suspension{By: by, Cause: all[i].Cause, Why: all[i].Why}
	return s, c.try(by, blockTry)
}

// try reports whether an agent that no run can use was not asked for so long, and notes that it is asked now.
func (c *Circuit) try(by string, every time.Duration) (mine bool) {
	due := func(r refusal) bool { return blocked(by)(r) && secondsNow()-r.LastSeen >= every.Seconds() }
	if !slices.ContainsFunc(c.read(), due) {
		return false
	}
	err := c.change(func(all []refusal) []refusal {
		if i := slices.IndexFunc(all, due); i >= 0 {
			all[i].LastSeen, mine = secondsNow(), true
		}
		return all
	})
	return mine && err == nil
}

// Alarm reports whether what is noted of an agent, or a model of one, was not reported to people before, and notes that
// it is now. What is not noted is reported.
func (c *Circuit) Alarm(by string) (first bool) {
	_ = c.change(func(all []refusal) []refusal { // one alarm more is better than none
		i := slices.IndexFunc(all, blocked(by))
		if first = i < 0 || !all[i].Reported; i >= 0 {
			all[i].Reported = true
		}
		return all
	})
	return first
}

// A Block is what is noted of an agent, or a model of one, that no run can use until a person does something.
type Block struct {
	By    string
	Cause fsm.Failure
	Why   string
	Since time.Time
}

// Blocks returns what is noted of agents that no run can use, by name.
func (c *Circuit) Blocks() (list []Block) {
	for _, r := range c.read() {
		if r.blocks() {
			list = append(list,
				Block{By: r.Host, Cause: r.Cause, Why: r.Why, Since: time.UnixMicro(int64(r.FirstSeen * 1e6)).UTC()})
		}
	}
	slices.SortFunc(list, func(a, b Block) int { return cmp.Compare(a.By, b.By) })
	return list
}

// Unblock forgets that no run can use an agent or a model of one, and returns what was forgotten.
func (c *Circuit) Unblock(choose func(by string) bool) (gone []Block, err error) {
	over := func(r refusal) bool { return r.blocks() && choose(r.Host) }
	for _, b := range c.Blocks() {
		if choose(b.By) {
			gone = append(gone, b)
		}
	}
	if len(gone) == 0 {
		return nil, nil
	}
	return gone, c.change(func(all []refusal) []refusal { return slices.DeleteFunc(all, over) })
}

// Probe reports whether an agent that no run can use is to be asked now: it was not for so long, and no other process
// does it.
func (c *Circuit) Probe(by string, every time.Duration) bool { return c.try(by, every) }

// alone does something while no other process does, which is about the files beside each other.
func (c *Circuit) alone(do func() error) error {
	if err := disk.MakeFolder(filepath.Dir(filepath.Dir(c.Path)), filepath.Dir(c.Path)); err != nil {
		return err
	}
	lock, err := disk.Open(c.Path+".lock", os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	defer disk.Release(lock) //nolint:errcheck // nothing was written
	giveUp := time.Now().Add(circuitPatience)
	for {
		err := disk.Flock(lock, syscall.LOCK_EX|syscall.LOCK_NB)
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
	return do()
}

// change writes what is made of the refusals that hold, while no one else does.
func (c *Circuit) change(edit func([]refusal) []refusal) error {
	return c.alone(func() error {
		all := edit(c.read())
		if len(all) == 0 {
			if err := os.Remove(c.Path); !errors.Is(err, os.ErrNotExist) {
				return err
			}
			return nil
		}
		slices.SortStableFunc(all, func(a, b refusal) int { return cmp.Compare(b.Recovery, a.Recovery) })
		b, err := json.Marshal(circuitFile{all[0], all[1:]})
		if err != nil {
			return err
		}
		return replaceFile(c.Path, b)
	})
}

// replaceFile puts another file instead of one, so that a reader sees the one or the other. It need not
// survive a loss of power.
func replaceFile(path string, data []byte) error {
	f, err := disk.CreateTemp(filepath.Dir(path), ".rate-limit-*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
