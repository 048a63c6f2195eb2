//go:build !linux || !(amd64 || arm64)

package sandbox

import "syscall"

// A Box starts commands that the rules would limit; this system can enforce none of them.
type Box struct{ rules *Rules }

// New returns a box for these rules.
func New(r *Rules) *Box { return &Box{r} }

// Rules returns what the box would allow.
func (b *Box) Rules() *Rules { return b.rules }

// Close does nothing.
func (*Box) Close() {}

// Missing returns what of the rules cannot be enforced on this machine, in words.
func (*Box) Missing() []string {
	return []string{"nothing of it is enforced, apart from variables of the environment: that needs Linux"}
}

// A Spawn is a process to start, by Fork.
type Spawn struct {
	Path string
	Argv []string
	Attr syscall.ProcAttr
}

// Fork starts it and returns its number.
func (s Spawn) Fork() (pid int, err error) { return syscall.ForkExec(s.Path, s.Argv, &s.Attr) }

// Enter does nothing.
func Enter() {}

// Start calls fork with it.
func (*Box) Start(s Spawn, fork func(Spawn) error) (end func(), err error) {
	if err := fork(s); err != nil {
		return nil, err
	}
	return func() {}, nil
}

// Proxy returns nothing.
func (*Box) Proxy() (vars []string, refused func() []string, err error) {
	return nil, func() []string { return nil }, nil
}

// Told returns nothing.
func (*Box) Told(string) []string { return nil }

// Limited does nothing.
func (*Box) Limited(int) {}

// Keep remembers protected files, which are checked after an action.
func (b *Box) Keep() *Kept { return b.rules.keep(false, &known{}) }
