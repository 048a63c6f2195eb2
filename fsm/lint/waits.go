package lint

import (
	"time"

	"loops/fsm"
	"loops/internal/humanize"
)

// longWait is the shortest wait that is reported.
const longWait = 10 * time.Minute

// waitsWithoutScope reports the states of a loop without scope that wait long, with one warning for all: each
// run locks the whole project meanwhile.
func (c *checker) waitsWithoutScope() {
	if len(c.l.Scope) > 0 {
		return
	}
	var first *fsm.State
	var names []string
	for _, s := range c.states {
		if !waitsLong(s) {
			continue
		}
		if first == nil {
			first = s
		}
		names = append(names, s.Name)
	}
	if first != nil {
		c.warnf("wait-without-scope", ofState(first), "while a run waits in %s, it locks the whole project, and "+
			"other loops are refused (exit code 9); list the paths it works on in scope; scope: [.] says "+
			"that it is meant", humanize.List(names))
	}
}

// waitsLong reports whether a state or one of its branches can wait for longWait or more. A wait that looks
// again (until, file, url, run) does so if its timeout is as long; one for a person, an event or a time of day
// also without a timeout.
func waitsLong(s *fsm.State) bool {
	if s.Timeout > 0 && s.Timeout < longWait {
		return false
	}
	if s.Branches != nil {
		for _, b := range s.Branches.List {
			if b.State != nil && waitsLong(b.State) {
				return true
			}
		}
	}
	w := s.Await
	return w != nil &&
		(w.Ask != nil || w.Event != "" || w.At != "" || w.For >= longWait || w.For == 0 && s.Timeout >= longWait)
}
