package project

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/internal/config"
	"loops/internal/git"
	"loops/persistence"
)

// EnvTrust switches the question off whose a loop is, with the value 1: where a program runs what it was given,
// as in CI.
const EnvTrust = "LOOPS_TRUST"

// examples has the checksums of the loops that come with this program, each with its path.
//
//go:embed examples.sum
var examples string

// gitPatience is how long a look at who wrote a file may take.
const gitPatience = 20 * time.Second

// A ForeignFile is a file of a loop that this user did not write.
type ForeignFile struct {
	Path    string // absolute
	By      string // the author of its last change, as git says, or the owner of the file; "" = it is not known
	Date    string // of the last change, as 2026-11-30; "" = it is not known
	Changed bool   // an earlier text of it was trusted
}

// An UntrustedError means that a loop was not written by this user, who has not said either that it may run.
type UntrustedError struct {
	Project *Project
	Loop    *fsm.Loop
	Target  string // what loops trust takes for it
	Files   []ForeignFile
	Changes []string // how it differs from what was trusted, a line each
	Unknown string   // why nothing can be remembered; "" = it can

	made *made
}

func (e *UntrustedError) Error() string {
	text := fmt.Sprintf("loop %s is not yours", e.Loop.Name)
	if len(e.Changes) > 0 {
		text = fmt.Sprintf("loop %s was changed by others", e.Loop.Name)
	}
	var files []string
	for _, f := range e.Files {
		line := e.Project.Short(f.Path)
		if f.By != "" {
			line += " (" + f.By + ")"
		}
		files = append(files, line)
	}
	return text + ": " + strings.Join(files, ", ")
}

// Loops returns the loop and those that its states name.
func (e *UntrustedError) Loops() (all []*fsm.Loop) {
	for _, r := range e.made.def.Loops {
		if l, err := r.Load(); err == nil {
			all = append(all, l)
		}
	}
	return all
}

// made is what a loop is made of.
type made struct {
	loop  *fsm.Loop
	def   *Definition
	files map[string]string // SHA-256 by path: imports, libraries, loops that it runs, and the settings of the project
}

// madeOf reads a loop again, with each file that it is made of. Nothing else is among them.
func (p *Project) madeOf(file string) (*made, error) {
	lib := NewLibrary(p)
	f, err := lib.Read(file)
	if err != nil {
		return nil, err
	}
	m := &made{loop: f.Loop}
	if m.def, err = NewDefinition(lib.Files, f.Loop); err != nil {
		return nil, err
	}
	m.files = lib.Files.Read()
	if b, err := os.ReadFile(p.Layers.Project); err == nil { // it names commands, too
		sum := sha256.Sum256(b)
		m.files[p.Layers.Project] = hex.EncodeToString(sum[:])
	}
	return m, nil
}

// CheckTrust returns an [*UntrustedError] where a loop in a file must not run before its user has seen it. It may when
// LOOPS_TRUST is 1, when an accepted key signed it, and when each of its files is one that the user wrote, or trusted
// as it is, or that comes with the program.
func (p *Project) CheckTrust(ctx context.Context, file string) error {
	if all, _ := p.getenv(EnvTrust); all == "1" {
		return nil
	}
	p = p.Main()
	m, err := p.madeOf(file)
	if err != nil {
		return err
	}
	list, unknown := p.trustList()
	o := &owners{ctx: ctx, p: p}
	var foreign []ForeignFile
	look := func() (written map[string]string) {
		foreign, written = nil, map[string]string{}
		for _, path := range slices.Sorted(maps.Keys(m.files)) {
			if list.has(p.Relative(path), m.files[path]) || strings.Contains(examples, m.files[path]+"  ") {
				continue
			}
			f, byGit := o.foreign(path)
			switch {
			case f != nil:
				f.Changed = list.knows(p.Relative(path))
				foreign = append(foreign, *f)
			case byGit:
				written[p.Relative(path)] = m.files[path]
			}
		}
		return written
	}
	written := look()
	if len(written) == 0 && len(foreign) == 0 {
		return nil
	}
	if unknown == "" && !list.Begun {
		if err := p.changeTrust(ctx, nil); err != nil { // what ran here before
			unknown = err.Error()
		}
		if list, _ = p.trustList(); list.Begun {
			written = look()
		}
	}
	if len(foreign) == 0 || p.isSigned(m, o) {
		if unknown == "" && len(written) > 0 { // so that git is not asked again
			_ = p.changeTrust(ctx, func(l *trustList) { maps.Copy(l.Written, written) })
		}
		return nil
	}
	e := &UntrustedError{Project: p, Loop: m.loop, Target: m.loop.Name, Files: foreign, Unknown: unknown, made: m}
	if found, err := p.Resolve(m.loop.Name); err != nil || found != m.loop.File {
		e.Target = p.Short(m.loop.File)
	}
	if t := list.of(p.Relative(m.loop.File)); t != nil && t.Text != "" {
		if before, err := ParseDefinition([]byte(t.Text), p); err == nil {
			e.Changes = differences(before, m.def)
		}
	}
	return e
}

// ForeignSettings returns why the settings of the project must start no command on their own, such as one that takes
// alarms: others wrote them, and the user trusted no loop with them. "" = they may.
func (p *Project) ForeignSettings(ctx context.Context) string {
	if all, _ := p.getenv(EnvTrust); all == "1" {
		return ""
	}
	p = p.Main()
	b, err := os.ReadFile(p.Layers.Project)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	list, _ := p.trustList()
	if list.has(p.Relative(p.Layers.Project), hex.EncodeToString(sum[:])) {
		return ""
	}
	if f, _ := (&owners{ctx: ctx, p: p}).foreign(p.Layers.Project); f != nil {
		return fmt.Sprintf("the settings %s are not yours (%s)", p.Short(f.Path), f.By)
	}
	return ""
}

// differences are how the loops of a definition differ from those of an earlier one, a line each.
func differences(before, after *Definition) (lines []string) {
	for _, r := range after.Loops {
		now, err := r.Load()
		if err != nil {
			continue
		}
		old := before.Of(r.File)
		if old == nil {
			lines = append(lines, "runs "+after.Project.Relative(r.File)+" too")
			continue
		}
		if was, err := old.Load(); err == nil && old.Sha256 != r.Sha256 || string(old.text) != string(r.text) {
			lines = append(lines, loopfile.Differences(was, now)...)
		}
	}
	return lines
}

// isSigned reports whether a key signed what a loop is made of that the user accepts: in the settings for all projects,
// or in those of the project if the user wrote these.
func (p *Project) isSigned(m *made, o *owners) bool {
	s, err := config.ReadSignature(m.loop.File)
	if err != nil || s == nil {
		return false
	}
	layers := p.Layers
	if f, _ := o.foreign(layers.Project); f != nil {
		layers.Project = ""
	}
	c, _ := layers.Load()
	return c != nil && s.Verify(m.def.Encode(), c.Accept.Keys) == nil &&
		(layers.Project != "" || m.files[p.Layers.Project] == "")
}

// owners finds out who wrote files, and asks git once for each.
type owners struct {
	ctx    context.Context
	p      *Project
	run    git.RunEnv
	emails map[string][]string // by folder
}

// foreign returns a file that the user did not write, nil for others; byGit says that git knows so.
func (o *owners) foreign(path string) (f *ForeignFile, byGit bool) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, false // there is nothing that could run
	}
	if o.run == nil {
		o.run, o.emails = git.Command(append(slices.Clip(o.p.Env), "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1"),
			gitPatience), map[string][]string{}
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	author, err := git.LastAuthor(o.ctx, o.run, path)
	switch {
	case errors.Is(err, git.ErrNoGit):
	case err != nil:
		return &ForeignFile{Path: path, By: "git cannot tell: " + err.Error()}, false
	case author != nil:
		dir := filepath.Dir(path)
		if o.emails[dir] == nil {
			o.emails[dir] = git.Emails(o.ctx, o.run, dir, o.p.getenv)
		}
		if slices.Contains(o.emails[dir], author.Email) {
			return nil, true
		}
		return &ForeignFile{Path: path, By: author.Email, Date: author.Date}, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) == os.Geteuid() || st.Uid == 0 { // root can change the program as well
		return nil, false
	}
	return &ForeignFile{Path: path, By: fmt.Sprintf("user id %d", st.Uid)}, false
}

// ranBefore returns the files of loops that this user has completed in the project before loops asked whose they are. A
// run counts whose working folder is this user's and not in a repository, where others could have put it.
func (p *Project) ranBefore(ctx context.Context) (files []string) {
	r, err := p.Records(ctx, false)
	if err != nil {
		return nil
	}
	defer r.Close() //nolint:errcheck // it was only read
	runs, err := r.Runs(ctx, persistence.Query{})
	if err != nil {
		return nil
	}
	run := git.Command(p.Env, gitPatience)
	seen := map[string]bool{}
	for _, one := range Current(runs) {
		file := p.Absolute(one.File)
		if one.Status != persistence.Completed || file == "" || seen[file] {
			continue
		}
		info, err := os.Stat(p.RunDir(one.ID))
		if err != nil {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) == os.Geteuid() &&
			!git.HasFiles(ctx, run, p.RunDir(one.ID)) {
			seen[file] = true
			files = append(files, file)
		}
	}
	return files
}

// Trust remembers that a loop may run as it is.
func (p *Project) Trust(ctx context.Context, file string) (TrustedLoop, error) {
	p = p.Main()
	m, err := p.madeOf(file)
	if err != nil {
		return TrustedLoop{}, err
	}
	t := p.trusted(m, TrustSaid)
	if _, unknown := p.trustList(); unknown != "" {
		return t, errors.New(unknown)
	}
	return t, p.changeTrust(ctx, func(l *trustList) { l.put(t) })
}

// TrustSeen is Trust of what an [UntrustedError] showed, if it is that still.
func (e *UntrustedError) TrustSeen(ctx context.Context) error {
	m, err := e.Project.madeOf(e.Loop.File)
	if err != nil {
		return err
	}
	for path, sum := range m.files {
		if e.made.files[path] != sum {
			return fmt.Errorf("%s was changed meanwhile; look at it again", e.Project.Short(path))
		}
	}
	t := e.Project.trusted(m, TrustAsked)
	return e.Project.changeTrust(ctx, func(l *trustList) { l.put(t) })
}

func (p *Project) trusted(m *made, why string) TrustedLoop {
	t := TrustedLoop{
		Loop: m.loop.Name, File: p.Relative(m.loop.File), Why: why,
		At: time.Now().UTC().Truncate(time.Second), Files: map[string]string{}, Text: string(m.def.Encode()),
	}
	for path, sum := range m.files {
		t.Files[p.Relative(path)] = sum
	}
	return t
}

// Trusted returns the loops of the project that the user trusts, in the order of their files.
func (p *Project) Trusted() ([]TrustedLoop, error) {
	l, unknown := p.Main().trustList()
	if unknown != "" {
		return nil, errors.New(unknown)
	}
	return l.Loops, nil
}

// ForgetTrust forgets that a loop is trusted, and reports whether it was.
func (p *Project) ForgetTrust(ctx context.Context, name string) (known bool, err error) {
	p = p.Main()
	file, _ := p.Resolve(name)
	err = p.changeTrust(ctx, func(l *trustList) {
		n := len(l.Loops)
		l.Loops = slices.DeleteFunc(l.Loops, func(t TrustedLoop) bool {
			return t.Loop == name || t.File == name || file != "" && t.File == p.Relative(file)
		})
		known = len(l.Loops) < n
	})
	return known, err
}
