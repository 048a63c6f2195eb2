package persistence

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"loops/fsm"
	"loops/internal/disk"
)

// A LessonFolder has the memories of the loops of a project, a file of JSON lines each. Lines are only added, but by
// Forget and when a file has more than it may have, so that git can merge two versions as the union of their lines. It
// implements [fsm.Lessons], and may be used at once by any number of processes.
type LessonFolder struct {
	Dir string
	// hide secrets in facts that are read, whose placeholders are of other runs, and in those of this run; nil
	// = nothing is hidden
	Mask, MaskOwn func(text string) string
}

// ProjectLessons returns the memories of the project whose .loops folder that is.
func ProjectLessons(loops string) *LessonFolder {
	return &LessonFolder{Dir: filepath.Join(loops, "memory")}
}

// A Memory is what a file of a memory says.
type Memory struct {
	Facts     []fsm.Lesson    // the oldest first
	Uses      []fsm.LessonUse // of the runs that began with it, the oldest first; the last note of each
	Forgotten []string        // ids of facts that were removed
	Damaged   int             // lines that cannot be read
}

const (
	lessonSuffix = ".jsonl"
	// mostLessons is how many facts a memory has, and mostUses how many runs it knows: older ones are dropped.
	mostLessons, mostUses = 1000, 2000
	// longestLessons is how large a file may be that is read, in bytes.
	longestLessons = 64 << 20
	// lessonPatience is how long a run waits for its turn to write.
	lessonPatience = 10 * time.Second
)

// A lessonLine is one line: a fact, a run that ended, or a fact that was forgotten.
type lessonLine struct {
	fsm.Lesson
	Saw    *[]string `json:"saw,omitempty"`
	Ended  string    `json:"ended,omitempty"`
	Good   bool      `json:"good,omitempty"`
	Forgot string    `json:"forgot,omitempty"`
}

// LessonName returns why a name cannot be that of a memory; nil = it can.
func LessonName(name string) error {
	if name == "" || len(name) > 200 || name[0] == '.' || strings.ContainsAny(name, "/\\\x00\n") {
		return fmt.Errorf("%q is no name of a memory: expected a name without / that does not begin with a dot", name)
	}
	return nil
}

// Path returns the file of a memory.
func (f *LessonFolder) Path(name string) string { return filepath.Join(f.Dir, name+lessonSuffix) }

// Names returns the memories that there are, sorted.
func (f *LessonFolder) Names() ([]string, error) {
	all, err := disk.Names(f.Dir)
	var names []string
	for _, file := range all {
		if name, ok := strings.CutSuffix(file, lessonSuffix); ok && LessonName(name) == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, err
}

// Load reads a memory. One that is not there is empty.
func (f *LessonFolder) Load(name string) (Memory, error) {
	text, err := f.read(name)
	return ParseMemory(text), err
}

func (f *LessonFolder) read(name string) ([]byte, error) {
	if err := LessonName(name); err != nil {
		return nil, err
	}
	info, err := os.Stat(f.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && info.Size() > longestLessons {
		return nil, fmt.Errorf("%s has more than %d MiB", f.Path(name), longestLessons>>20)
	}
	text, err := disk.Read(f.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// ParseMemory reads the lines of a memory. Lines that are none are counted.
func ParseMemory(text []byte) Memory {
	var m Memory
	facts, uses, forgotten := map[string]bool{}, map[string]int{}, map[string]bool{}
	for raw := range bytes.Lines(text) {
		if raw = bytes.TrimSpace(raw); len(raw) == 0 {
			continue
		}
		var l lessonLine
		switch err := json.Unmarshal(raw, &l); {
		case err != nil:
			m.Damaged++
		case l.Forgot != "":
			if !forgotten[l.Forgot] {
				forgotten[l.Forgot], m.Forgotten = true, append(m.Forgotten, l.Forgot)
			}
		case l.Saw != nil && l.Run != "":
			u := fsm.LessonUse{Run: l.Run, At: l.At, Saw: *l.Saw, Ended: l.Ended, Good: l.Good}
			if i, known := uses[l.Run]; known {
				m.Uses[i] = u
				continue
			}
			uses[l.Run], m.Uses = len(m.Uses), append(m.Uses, u)
		case l.ID == "" || l.Text == "":
			m.Damaged++
		case !facts[l.ID]:
			facts[l.ID], m.Facts = true, append(m.Facts, l.Lesson)
		}
	}
	m.Facts = slices.DeleteFunc(m.Facts, func(l fsm.Lesson) bool { return forgotten[l.ID] })
	return m
}

// lines returns a memory as its file has it.
func (m Memory) lines() []byte {
	var b bytes.Buffer
	for _, id := range m.Forgotten {
		b.Write(encodeLesson(lessonLine{Forgot: id}))
	}
	for _, l := range m.Facts {
		b.Write(encodeLesson(lessonLine{Lesson: l}))
	}
	for _, u := range m.Uses {
		b.Write(encodeLesson(useLine(u)))
	}
	return b.Bytes()
}

func useLine(u fsm.LessonUse) lessonLine {
	saw := append([]string{}, u.Saw...)
	return lessonLine{Lesson: fsm.Lesson{Run: u.Run, At: u.At}, Saw: &saw, Ended: u.Ended, Good: u.Good}
}

// encodeLesson writes the fields of a line that it has.
func encodeLesson(l lessonLine) []byte {
	var v any
	switch {
	case l.Forgot != "":
		v = struct {
			Forgot string `json:"forgot"`
		}{l.Forgot}
	case l.Saw != nil:
		v = fsm.LessonUse{Run: l.Run, At: l.At, Saw: *l.Saw, Ended: l.Ended, Good: l.Good}
	default:
		v = l.Lesson
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil // texts cannot fail
	}
	return append(text, '\n')
}

// Read implements [fsm.Lessons].
func (f *LessonFolder) Read(_ context.Context, name string) ([]fsm.Lesson, error) {
	m, err := f.Load(name)
	for i := range m.Facts {
		m.Facts[i].Text = masked(m.Facts[i].Text, f.Mask)
	}
	return m.Facts, err
}

func masked(text string, hide func(string) string) string {
	if hide == nil {
		return text
	}
	return hide(text)
}

// Write implements [fsm.Lessons].
func (f *LessonFolder) Write(ctx context.Context, name string, l fsm.Lesson) error {
	l.Text = masked(l.Text, f.MaskOwn)
	return f.append(ctx, name, encodeLesson(lessonLine{Lesson: l}), func(m Memory) bool {
		return slices.Contains(m.Forgotten, l.ID) || slices.ContainsFunc(m.Facts, func(known fsm.Lesson) bool {
			return known.ID == l.ID
		})
	})
}

// Ended implements [fsm.Lessons].
func (f *LessonFolder) Ended(ctx context.Context, name string, u fsm.LessonUse) error {
	return f.append(ctx, name, encodeLesson(useLine(u)), func(m Memory) bool {
		return slices.ContainsFunc(m.Uses, func(known fsm.LessonUse) bool {
			return known.Run == u.Run && known.Ended == u.Ended && known.Good == u.Good &&
				slices.Equal(known.Saw, u.Saw)
		})
	})
}

// append adds a line, durable when it returns, unless known reports that the memory has it. That ctx ends,
// because the run is to stop, does not keep it from that.
func (f *LessonFolder) append(ctx context.Context, name string, line []byte, known func(Memory) bool) error {
	return f.locked(context.WithoutCancel(ctx), name, func() error {
		text, err := f.read(name)
		if err != nil {
			return err
		}
		m := ParseMemory(text)
		if known(m) {
			return nil
		}
		if len(m.Facts) > mostLessons+mostLessons/10 || len(m.Uses) > mostUses+mostUses/10 {
			m = ParseMemory(append(m.lines(), line...))
			m.Facts = m.Facts[max(0, len(m.Facts)-mostLessons):]
			m.Uses = m.Uses[max(0, len(m.Uses)-mostUses):]
			m.Forgotten = m.Forgotten[max(0, len(m.Forgotten)-mostLessons):]
			return f.replace(name, m)
		}
		if len(text) > 0 && text[len(text)-1] != '\n' { // a process died while it wrote
			line = append([]byte{'\n'}, line...)
		}
		file, err := disk.OpenFile(f.Path(name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
		if err != nil {
			return err
		}
		_, err = file.Write(line)
		if err = errors.Join(err, file.Sync(), file.Close()); err == nil && len(text) == 0 {
			err = disk.SyncFolder(f.Dir)
		}
		return err
	})
}

// locked runs something while no other process changes the memory.
func (f *LessonFolder) locked(ctx context.Context, name string, change func() error) error {
	if err := LessonName(name); err != nil {
		return err
	}
	if err := disk.MkdirAll(f.Dir, 0o755); err != nil {
		return err
	}
	lock := filepath.Join(filepath.Dir(f.Dir), "tmp")
	if err := disk.MkdirAll(lock, 0o755); err != nil {
		return err
	}
	return disk.WhileLocked(ctx, filepath.Join(lock, "memory-"+name+".lock"), lessonPatience, change)
}

// replace puts another content instead of a file, durably.
func (f *LessonFolder) replace(name string, m Memory) error {
	tmp := filepath.Join(f.Dir, "."+name+".tmp")
	file, err := disk.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(m.lines())
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(tmp, f.Path(name))
	}
	if err != nil {
		return errors.Join(err, disk.Remove(tmp))
	}
	return disk.SyncFolder(f.Dir)
}

// Forget removes facts from a memory, durably, and notes their ids, so that no run that continues and no merge of git
// brings them back. It returns those that it removed.
func (f *LessonFolder) Forget(ctx context.Context, name string, which func(fsm.Lesson) bool) (removed []fsm.Lesson,
	err error,
) {
	err = f.locked(ctx, name, func() error {
		m, err := f.Load(name)
		if err != nil {
			return err
		}
		m.Facts = slices.DeleteFunc(m.Facts, func(l fsm.Lesson) bool {
			if !which(l) {
				return false
			}
			removed, m.Forgotten = append(removed, l), append(m.Forgotten, l.ID)
			return true
		})
		if len(removed) == 0 {
			return nil
		}
		return f.replace(name, m)
	})
	return removed, err
}

// Rewrite gives facts of a memory other texts, durably: edit returns that of a fact, the same where it stays.
func (f *LessonFolder) Rewrite(ctx context.Context, name string, edit func(fsm.Lesson) string) error {
	return f.locked(ctx, name, func() error {
		m, err := f.Load(name)
		if err != nil {
			return err
		}
		changed := false
		for i, l := range m.Facts {
			m.Facts[i].Text = edit(l)
			changed = changed || m.Facts[i].Text != l.Text
		}
		if !changed {
			return nil
		}
		return f.replace(name, m)
	})
}

// Join adds what another version of a memory has, as the import of a run does.
func (f *LessonFolder) Join(ctx context.Context, name string, other []byte) error {
	return f.locked(ctx, name, func() error {
		text, err := f.read(name)
		if err != nil {
			return err
		}
		if len(text) > 0 && text[len(text)-1] != '\n' {
			text = append(text, '\n')
		}
		return f.replace(name, ParseMemory(append(text, other...)))
	})
}
