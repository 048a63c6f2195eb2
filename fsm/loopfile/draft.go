package loopfile

import "loops/fsm"

// Draft returns what could be read of the loop file at path, whether it has errors or not: for advice about the parts
// that are right, so that an author sees everything at once. Nothing in it is certain to be there or to fit the
// rest, and it is never to be run. It is nil where there is nothing to look at.
func (l *Loader) Draft(path string) *fsm.Loop {
	u := l.unit(path)
	if u.check(); u.err != nil {
		return nil
	}
	return u.made
}
