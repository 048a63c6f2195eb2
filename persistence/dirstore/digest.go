package dirstore

import (
	"encoding/binary"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"loops/fsm/value"
	"loops/internal/disk"
	"loops/persistence"
	"loops/persistence/dirstore/index"
)

// A digested run is one as its digest says.
type digested struct {
	run     persistence.Run // what filters ask of it, or all that a listing returns of it
	listed  bool            // all
	journal int64           // length of its journal, of one part; where listed
	// of a damaged run, what is wrong: after the first letter of the file, without its path, which may change
	damage []string
	stamp  disk.Stamp // of its journal; where it is damaged
	folder disk.Stamp // where listed: it changes with the names in it
	others int64      // where listed: bytes of the other files in it
	state  disk.Stamp // of its state file, which is as it was; not in the digest
}

// Flags of a digest, beside those of the run.
const (
	flagListed  = 1 << 3
	flagDamaged = 1 << 4 // an earlier version does not read these
)

// digestOf writes what filters ask of a run in the archive, and what else a listing returns of it, if that can be said.
func digestOf(p place, r *persistence.Run, folder disk.Stamp, journal, others int64, part int) []byte {
	b := appendDigest(nil, r)
	if part != 0 {
		return b
	}
	whole := appendListed(b[:len(b):len(b)], r, folder, journal, others)
	whole[0] |= flagListed // the flags are one byte
	f := makeFolder(p.folder, p.folder)
	if g, ok := f.ofDigest(string(whole)); ok && len(whole) <= mostDigest {
		if again := g.in(p); reflect.DeepEqual(&again, r) {
			return whole
		}
	}
	return b
}

// digestOfDamaged writes what a listing returns of a damaged run whose journal has that stamp, if that can be said.
func digestOfDamaged(p place, r *persistence.Run, folder, journal disk.Stamp) ([]byte, bool) {
	b := appendListed(appendDigest(nil, r), r, folder, journal.Size, 0)
	b[0] |= flagListed | flagDamaged
	b = index.AppendStamp(b, journal)
	b = binary.AppendUvarint(b, uint64(len(r.Damage)))
	for _, d := range r.Damage {
		what, file := "", ""
		if what, file = strings.TrimPrefix(d, p.state), "s"; len(what) == len(d) {
			if what, file = strings.TrimPrefix(d, p.events), "e"; len(what) == len(d) {
				return nil, false // of another file
			}
		}
		b = append(append(binary.AppendUvarint(b, uint64(len(what)+1)), file...), what...)
	}
	f := makeFolder(p.folder, p.folder)
	g, ok := f.ofDigest(string(b))
	if !ok || len(b) > mostDigest {
		return nil, false
	}
	again := g.in(p)
	return b, reflect.DeepEqual(&again, r)
}

// in returns the run of a listed digest, whose files are in a place.
func (g *digested) in(p place) persistence.Run {
	r := g.run
	r.Events, r.Log = p.events, p.state
	r.Damage = nil
	for _, d := range g.damage {
		r.Damage = append(r.Damage, map[byte]string{'s': p.state, 'e': p.events}[d[0]]+d[1:])
	}
	return r
}

// digestedRun returns a run of the archive from its digest, if that says all that is returned of it. The state
// file is known to be the one that the digest was made of. The rest is as it was if the journal has its length,
// and the folder has the same names.
func (d *Store) digestedRun(f folder) (persistence.Run, bool) {
	if f.digest == nil || !f.digest.listed {
		return persistence.Run{}, false
	}
	p := d.archivedPlace(f.digest.run.ID, f.path)
	folder, _, there := disk.StampOf(filepath.Dir(p.state))
	journal, regular, ok := disk.StampOf(p.events)
	if !there || folder != f.digest.folder || !ok || !regular || journal.Size != f.digest.journal {
		return persistence.Run{}, false
	}
	r := f.digest.in(p)
	if len(r.Damage) == 0 {
		r.Version = versionOf(f.digest.state, journal)
		r.Bytes = f.digest.state.Size + journal.Size + f.digest.others
		return r, true
	}
	return r, journal == f.digest.stamp
}

// appendDigest writes what filters ask of a run.
func appendDigest(b []byte, r *persistence.Run) []byte {
	flags := uint64(0)
	for i, set := range []bool{r.Limited, r.Refused, r.Resumable} {
		if set {
			flags |= 1 << i
		}
	}
	b = binary.AppendUvarint(b, flags)
	for _, n := range []int64{
		int64(r.Step), int64(r.Passes), int64(r.MaxSteps), r.StartedAt.UnixNano(),
		r.UpdatedAt.UnixNano(), int64(r.Elapsed), int64(r.Owner.PID), int64(r.FailedItems),
	} {
		b = binary.AppendVarint(b, n)
	}
	for _, s := range []string{
		string(r.ID), r.RunID, r.Loop, string(r.Status), r.State, r.Ended, r.Error, r.Message,
		r.Reason, r.Why, r.Ignored, r.Merge,
	} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return b
}

// mostDigest is how long a digest may be: of a run that has more to say its state file is read.
const mostDigest = 4 << 10

// appendListed writes what else a listing returns of it.
func appendListed(b []byte, r *persistence.Run, folder disk.Stamp, journal, others int64) []byte {
	b = index.AppendStamp(b, folder)
	for _, n := range []int64{
		journal, others, int64(r.Segment), r.Reconciled.UnixNano(), r.Owner.PIDNS,
		r.Owner.Start,
	} {
		b = binary.AppendVarint(b, n)
	}
	options := ""
	if r.Options != nil {
		options = string(value.AppendJSON(nil, r.Options))
	}
	for _, s := range []string{
		string(r.Earlier), r.Continuation, r.File, r.SHA256, r.Marker, r.Owner.Host,
		r.Owner.Boot, options,
	} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return b
}

// ofDigest is the run of a folder as its digest says.
func (f *folder) ofDigest(body string) (g digested, ok bool) {
	p := digestReader{text: body}
	r := &g.run
	flags := p.number()
	r.Limited, r.Refused, r.Resumable, r.Archived = flags&1 != 0, flags&2 != 0, flags&4 != 0, true
	g.listed = flags&flagListed != 0
	r.Step, r.Passes, r.MaxSteps = int(p.signed()), int(p.signed()), int(p.signed())
	r.StartedAt, r.UpdatedAt = p.time(), p.time()
	r.Elapsed, r.Owner.PID, r.FailedItems = time.Duration(p.signed()), int(p.signed()), int(p.signed())
	r.ID, r.RunID, r.Loop, r.Status = persistence.ID(p.string()), p.string(), p.string(), persistence.Status(p.string())
	r.State, r.Ended, r.Error, r.Message, r.Reason, r.Why = p.string(), p.string(), p.string(), p.string(),
		p.string(), p.string()
	r.Ignored, r.Merge = p.string(), p.string()
	if g.listed {
		g.folder = p.stamp()
		g.journal, g.others, r.Segment, r.Reconciled, r.Owner.PIDNS, r.Owner.Start = p.signed(), p.signed(),
			int(p.signed()), p.time(), p.signed(), p.signed()
		r.Earlier, r.Continuation, r.File, r.SHA256, r.Marker = persistence.ID(p.string()), p.string(), p.string(),
			p.string(), p.string()
		r.Owner.Host, r.Owner.Boot = p.string(), p.string()
		if options := p.string(); options != "" {
			v, err := value.ParseJSON([]byte(options))
			m, is := v.(*value.Map)
			r.Options, p.bad = m, p.bad || err != nil || !is
		}
	}
	if flags&flagDamaged != 0 {
		g.stamp = p.stamp()
		for range min(p.number(), mostDigest) {
			d := p.string()
			if p.bad = p.bad || d == "" || d[0] != 's' && d[0] != 'e'; p.bad {
				break
			}
			g.damage = append(g.damage, d)
		}
		r.Damage, p.bad = g.damage, p.bad || len(g.damage) == 0 // as many as filters see
	}
	return g, !p.bad && p.text == "" && strings.HasPrefix(f.key, r.RunID)
}

// A digestReader takes a digest apart. Its checksum holds, so all it has to do about mistakes is not to fail.
type digestReader struct {
	text string
	bad  bool
}

func (p *digestReader) number() (n uint64) {
	for shift := 0; shift < 64 && p.text != ""; shift += 7 {
		c := p.text[0]
		p.text = p.text[1:]
		if n |= uint64(c&0x7f) << shift; c < 0x80 {
			return n
		}
	}
	p.bad = true
	return 0
}

func (p *digestReader) stamp() disk.Stamp {
	s, rest, ok := index.CutStamp(p.text)
	p.text, p.bad = rest, p.bad || !ok
	return s
}

func (p *digestReader) signed() int64 {
	n := p.number()
	return int64(n>>1) ^ -int64(n&1) //nolint:gosec // as varints are
}

func (p *digestReader) time() time.Time {
	if n := p.signed(); n != zeroTime {
		return time.Unix(0, n).UTC()
	}
	return time.Time{}
}

var zeroTime = time.Time{}.UnixNano()

func (p *digestReader) string() string {
	n := p.number()
	if p.bad || n > uint64(len(p.text)) || n > math.MaxInt32 {
		p.bad = true
		return ""
	}
	s := p.text[:n]
	p.text = p.text[n:]
	return s
}
