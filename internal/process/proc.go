package process

import (
	"cmp"
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

// An Identity is one process. What is not known of it is empty or zero.
type Identity struct {
	Host string // name of the machine
	Boot string // one start of one kernel
	// PID namespace that PID counts in; 0 = unknown, as in what earlier versions recorded, or the system has
	// none
	PIDNS int64
	PID   int
	// of the process: milliseconds since the machine started, or since the epoch where that is not known; 0 =
	// unknown
	StartMS int64
}

const (
	// tolerance is how far two readings of one start time may lie apart where it is derived from the wall
	// clock, which is adjusted while processes run.
	tolerance = 2 * time.Second
	bootLen   = 8 // of the name that Boot returns
	// epochMS separates both kinds of start: no machine runs for 30 years, and no process began before 2001.
	epochMS = 1e12
)

// errGone means that there is no process with that pid.
var errGone = errors.New("no such process")

// here returns the machine, its current start and our PID namespace. It is asked once.
var here = sync.OnceValues(func() (Identity, error) {
	host, err := os.Hostname()
	return Identity{Host: host, Boot: bootID(), PIDNS: pidNamespace()}, err
})

// Boot returns a short name of the start of the system that this process runs on, "" where the system has none.
func Boot() string {
	id, err := here()
	if err != nil || len(id.Boot) < bootLen {
		return ""
	}
	return id.Boot[:bootLen]
}

// Self returns the identity of this process.
func Self() (Identity, error) {
	id, err := here()
	if err != nil {
		return id, err
	}
	id.PID = os.Getpid()
	st, err := look(id.PID)
	id.StartMS = st.start()
	return id, err
}

// Exact reports whether StartMS is known and does not move when the clock of the machine is set.
func (id Identity) Exact() bool { return id.StartMS > 0 && id.StartMS < epochMS }

// Near reports whether the process was recorded under the kernel that runs now, which then knows it, be it visible from
// here or not. The id of a boot distinguishes kernels better than the id of a machine, which images and containers
// copy. Where the system has no such id, the name of the machine counts. An Identity of only a pid is near.
func (id Identity) Near() bool {
	this, err := here()
	switch {
	case id.Host == "" && id.Boot == "":
		return true
	case id.Boot != "" || this.Boot != "":
		return id.Boot == this.Boot
	}
	return err == nil && id.Host == this.Host
}

// Visible reports whether this process can see the process, if it lives: it is near, on a machine of our name,
// and in our PID namespace. Only of such a process can a look at the pid prove that it is dead. The name is
// compared too because the copies of a machine that was saved while it ran have one boot id. An Identity
// without a namespace was recorded by an earlier version, which took all processes of a machine for visible.
func (id Identity) Visible() bool {
	this, err := here()
	if id.Host != "" && (err != nil || id.Host != this.Host) {
		return false
	}
	return id.Near() && (id.PIDNS == 0 || id.PIDNS == this.PIDNS)
}

// Elsewhere reports whether the process is one of another machine, by its name and its kernel.
func (id Identity) Elsewhere() bool {
	this, err := here()
	return id.Host != "" && !id.Near() && (err != nil || id.Host != this.Host)
}

// Alive reports whether the process runs. A zombie does not, nor does one whose pid was given to another since.
// known is false where this process cannot find out: the process is not visible (then alive is false too), or
// it exists but may not be looked at.
func (id Identity) Alive() (alive, known bool) {
	if id.PID <= 0 {
		return false, true
	}
	if !id.Visible() {
		return false, false
	}
	st, err := look(id.PID)
	switch {
	case errors.Is(err, errGone):
		return false, true
	case err != nil:
		return true, false
	case st.zombie:
		return false, true
	case !st.startedAt(id.StartMS):
		return false, true
	}
	return true, true
}

// Signal sends sig if the process is alive, looked at right before. One that is gone is no error.
func (id Identity) Signal(sig syscall.Signal) error {
	if id.PID <= 0 || id.PID == os.Getpid() {
		return nil
	}
	// The handle is taken before the look, so that the signal cannot reach a later process with this pid
	// where the system has such handles.
	p, err := os.FindProcess(id.PID)
	if err != nil {
		return nil
	}
	defer func() { _ = p.Release() }()
	if alive, _ := id.Alive(); !alive {
		return nil
	}
	err = p.Signal(sig)
	if errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// StartedAfter reports whether the process that has this pid now is known to have started after t, and so cannot
// be the one that was recorded then without its start time.
func StartedAfter(pid int, t time.Time) bool {
	if pid <= 0 {
		return false
	}
	st, err := look(pid)
	return err == nil && st.startMS != 0 && st.startMS > t.Add(tolerance).UnixMilli()
}

// Marked returns the live processes of this user whose environment variable has element among its values, which
// are separated by semicolons, and all that are in a [Cgroup] with that mark. This process and its ancestors
// are never among them. A process that changed its environment after it began is judged by the one it began
// with.
func Marked(variable, element string) ([]Identity, error) {
	if element == "" {
		return nil, nil
	}
	spared := ancestors()
	groups := cgroupMarks{}
	return scan(func(p info) bool {
		return !spared[p.pid] && !p.zombie &&
			(groups.has(p.entry(), element) || has(environ(p.entry()), variable, element))
	})
}

// Marks returns all elements that Marked would find a process for now.
func Marks(variable string) (map[string]bool, error) {
	spared, found, groups := ancestors(), make(map[string]bool), cgroupMarks{}
	_, err := scan(func(p info) bool {
		if !spared[p.pid] && !p.zombie {
			add := func(e string) bool {
				found[e] = true
				return true
			}
			groups.of(p.entry(), add)
			elements(environ(p.entry()), variable, add)
		}
		return false
	})
	return found, err
}

// Group returns the live members of a process group, other than this process.
func Group(pgid int) ([]Identity, error) {
	self := os.Getpid()
	return scan(func(p info) bool { return p.pgid == pgid && !p.zombie && p.pid != self })
}

// TreeRSS returns the resident memory, in bytes, that the process group pid, its leader and all their
// descendants hold now; 0 where it is not known.
func TreeRSS(pid int) int64 {
	all, err := list()
	if err != nil {
		return 0
	}
	var sum int64
	in := map[int]bool{}
	for range all { // at most one generation a round
		grown := false
		for _, p := range all {
			if !in[p.pid] && (p.pid == pid || p.pgid == pid || in[p.ppid]) {
				in[p.pid], grown = true, true
				sum += rss(p)
			}
		}
		if !grown {
			break
		}
	}
	return sum
}

// info is what one look at a process yields.
type info struct {
	pid, ppid, pgid int
	sid             int // session; 0 where it does not matter
	// in /proc, where that is another PID namespace's and knows the process by another number; 0 = pid
	name    int
	zombie  bool
	startMS int64 // by the wall clock of now, since the epoch; 0 = unknown
	upMS    int64 // when it started, since the machine did, which no setting of clocks changes; 0 = unknown
	pages   int64 // resident, where the system reports it at no cost
}

// start is the process's StartMS. Without a boot id, a time since the machine started could be one of an earlier boot.
func (i info) start() int64 {
	if this, err := here(); err == nil && this.Boot != "" && i.upMS != 0 {
		return i.upMS
	}
	return i.startMS
}

// has reports whether a process is in a group with that mark.
func (m cgroupMarks) has(pid int, element string) (found bool) {
	m.of(pid, func(e string) bool {
		found = found || e == element
		return !found
	})
	return found
}

// entry is the process's number in /proc.
func (i info) entry() int { return cmp.Or(i.name, i.pid) }

// startedAt reports whether the process may be one of this boot that was recorded with this StartMS.
func (i info) startedAt(ms int64) bool {
	switch {
	case ms == 0:
		return true
	case ms < epochMS:
		return i.upMS == 0 || i.upMS == ms
	}
	d := time.Duration(ms-i.startMS) * time.Millisecond
	return i.startMS == 0 || d.Abs() <= tolerance
}

// scan returns the identities of the processes that match.
func scan(match func(info) bool) ([]Identity, error) {
	this, err := here()
	if err != nil {
		return nil, err
	}
	all, err := list()
	if err != nil {
		return nil, err
	}
	var found []Identity
	for _, p := range all {
		if match(p) {
			this.PID, this.StartMS = p.pid, p.start()
			found = append(found, this)
		}
	}
	return found, nil
}

// ancestors returns this process and those it descends from.
func ancestors() map[int]bool {
	up := map[int]bool{os.Getpid(): true}
	for pid := os.Getppid(); pid > 0 && !up[pid]; {
		up[pid] = true
		st, err := look(pid)
		if err != nil {
			break
		}
		pid = st.ppid
	}
	return up
}

// has reports whether the environment block (NAME=value, each ended by a zero byte) sets variable to a list that
// holds element. Of several settings the first counts, as for getenv. While bash starts it takes the block apart, one
// variable after the other, and puts it together again: then a zero byte may be instead of the equals sign.
func has(block, variable, element string) (found bool) {
	elements(block, variable, func(e string) bool {
		found = found || e == element
		return !found
	})
	return found
}

// elements yields what has looks at.
func elements(block, variable string, yield func(element string) bool) {
	named := false
	for entry := range strings.SplitSeq(block, "\x00") {
		value, ok := strings.CutPrefix(entry, variable+"=")
		if !ok && !named {
			named = entry == variable
			continue
		}
		if named {
			value = entry
		}
		for e := range strings.SplitSeq(value, ";") {
			if !yield(e) {
				return
			}
		}
		return
	}
}
