package inspect

import (
	"encoding/binary"
	"math"
	"time"

	"loops/fsm"
)

// summaryFormat is the first byte of the text of a summary. Text of another version is not read.
const summaryFormat = 5

// Text returns the summary as text, which [ParseSummary] reads.
func (s *Summary) Text() string {
	w := summaryWriter{summaryFormat}
	w.number(int64(s.visits), int64(s.worked), int64(len(s.states)))
	for i := range s.states {
		st := &s.states[i]
		w.text(st.path, st.evaluator)
		w.number(int64(st.first), int64(st.failed), int64(len(st.verdicts)))
		for _, v := range st.verdicts {
			w.text(v.name)
			w.number(int64(v.n))
		}
		w.number(int64(len(st.times)))
		for _, t := range st.times {
			w.number(int64(t))
		}
	}
	w.number(int64(len(s.uses)))
	for _, u := range s.uses {
		var flags int64
		for i, set := range []bool{u.judge, u.known, u.abandoned, u.partial} {
			if set {
				flags |= 1 << i
			}
		}
		w.text(u.host, u.model)
		w.number(flags, u.tokens.Input, u.tokens.Output, u.tokens.CacheRead, u.tokens.CacheWrite, int64(u.took))
		w = binary.LittleEndian.AppendUint64(w, math.Float64bits(u.usd))
		w = binary.LittleEndian.AppendUint64(w, math.Float64bits(u.most))
	}
	w.number(int64(len(s.inside)))
	w.text(s.inside...)
	switch d := s.Damage; {
	case d == nil:
		w.number(damageNone)
	case d.Journal:
		w.number(damageJournal, d.Offset)
		w.text(d.What)
	default:
		w.number(damageState, d.Offset)
		w.text(d.What)
	}
	return string(w)
}

// ParseSummary reads the text of a summary. It reports false for one that another version of the program wrote.
func ParseSummary(text string) (s Summary, ok bool) {
	if text == "" || text[0] != summaryFormat {
		return s, false
	}
	r := summaryParser{rest: text[1:]}
	s.visits, s.worked = int(r.number()), time.Duration(r.number())
	s.states = make([]stateSummary, r.length())
	for i := range s.states {
		st := &s.states[i]
		st.path, st.evaluator = r.text(), r.text()
		st.first, st.failed = int(r.number()), int(r.number())
		st.verdicts = make([]verdictCount, r.length())
		for j := range st.verdicts {
			st.verdicts[j] = verdictCount{r.text(), int(r.number())}
		}
		st.times = make([]time.Duration, r.length())
		for j := range st.times {
			st.times[j] = time.Duration(r.number())
		}
	}
	s.uses = make([]use, r.length())
	for i := range s.uses {
		u := &s.uses[i]
		u.host, u.model = r.text(), r.text()
		flags := r.number()
		u.judge, u.known, u.abandoned, u.partial = flags&1 != 0, flags&2 != 0, flags&4 != 0, flags&8 != 0
		u.tokens = fsm.Usage{Input: r.number(), Output: r.number(), CacheRead: r.number(), CacheWrite: r.number()}
		u.took, u.usd, u.most = time.Duration(r.number()), r.float(), r.float()
	}
	s.inside = make([]string, r.length())
	for i := range s.inside {
		s.inside[i] = r.text()
	}
	if in := r.number(); in != damageNone {
		s.Damage = &Damage{in == damageJournal, r.number(), r.text()}
	}
	return s, !r.bad && r.rest == ""
}

// Which file of the records is damaged.
const (
	damageNone = iota
	damageState
	damageJournal
)

type summaryWriter []byte

func (w *summaryWriter) number(all ...int64) {
	for _, n := range all {
		*w = binary.AppendVarint(*w, n)
	}
}

func (w *summaryWriter) text(all ...string) {
	for _, s := range all {
		w.number(int64(len(s)))
		*w = append(*w, s...)
	}
}

// A summaryParser reads the text of a summary. The store checks its checksum, so the parser only has to
// survive mistakes.
type summaryParser struct {
	rest string
	bad  bool
}

func (r *summaryParser) take(n int) string {
	if n < 0 || n > len(r.rest) {
		r.bad, r.rest = true, ""
		return ""
	}
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}

func (r *summaryParser) number() (n int64) {
	var u uint64
	for shift := 0; shift < 64 && r.rest != ""; shift += 7 {
		c := r.rest[0]
		r.rest = r.rest[1:]
		if u |= uint64(c&0x7f) << shift; c < 0x80 {
			return int64(u>>1) ^ -int64(u&1) //nolint:gosec // as varints are
		}
	}
	r.bad, r.rest = true, ""
	return 0
}

// length returns a number of things, each of which takes at least one byte.
func (r *summaryParser) length() int {
	if n := r.number(); n >= 0 && n <= int64(len(r.rest)) {
		return int(n)
	}
	r.bad, r.rest = true, ""
	return 0
}

func (r *summaryParser) text() string { return r.take(r.length()) }

func (r *summaryParser) float() float64 {
	if b := r.take(8); b != "" {
		return math.Float64frombits(binary.LittleEndian.Uint64([]byte(b)))
	}
	return 0
}
