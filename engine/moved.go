package engine

import (
	"os"
	"path/filepath"
	"strings"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/inspect"
	"loops/persistence"
)

// projectOption is the option of a run that says where its project was when it began or was last resumed. What
// it remembers names files there, because actions see it; all else that is recorded is relative to it.
const projectOption = "project"

// text is a value of an event or a memory as text; "" for none.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	return string(value.AppendJSON(nil, v))
}

// movedSince returns the folders of a run that have another path now than the run remembers: its project was
// renamed, or the run was imported into another one. A run_dir elsewhere is not one of them.
func movedSince(p *project.Project, run persistence.Run, memory *fsm.Snapshot) (folders []project.MovedFolder) {
	recorded, _ := run.Options.Get(projectOption)
	// also of runs that say nothing of it
	was := rootsIn(memory, filepath.Join("/", project.Folder, "runs", string(run.ID)), nil)
	for _, from := range append(was, inspect.Text(recorded)) {
		if from != "" && !sameFolder(from, p.Dir) {
			folders = append(folders, project.MovedFolder{From: from, To: p.Dir})
		}
	}
	return folders
}

// Copied reports whether a project whose records are files was copied after a run was begun or last resumed:
// the folder that it was in then still has a project.
func Copied(p *project.Project, run persistence.Run) bool {
	location, _, err := p.Location()
	recorded, _ := run.Options.Get(projectOption)
	was := inspect.Text(recorded)
	if err != nil || location != project.StoreFiles || was == "" || sameFolder(was, p.Dir) {
		return false
	}
	_, err = os.Stat(filepath.Join(was, project.Folder))
	return err == nil
}

// sameFolder reports whether two paths lead to one folder, as they do where one of them has symlinks.
func sameFolder(a, b string) bool {
	if a == b {
		return true
	}
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// rootsIn adds the projects in which the working folder of a run lies, by the paths that the run remembers: work is
// what follows them.
func rootsIn(m *fsm.Snapshot, work string, roots []string) []string {
	add := func(v any) {
		path := inspect.Text(v)
		if root, rest, found := strings.Cut(path, work); found && filepath.IsAbs(root) &&
			(rest == "" || rest[0] == '/') {
			roots = append(roots, root)
		}
	}
	dir, _ := m.Context.Get("run_dir")
	add(dir)
	for _, k := range m.Captured.Keys() {
		v, _ := m.Captured.Get(k)
		if record, ok := v.(*value.Map); ok {
			file, _ := record.Get("file")
			add(file)
		}
	}
	if m.Result != nil {
		add(m.Result.File)
	}
	for _, b := range m.Branches {
		if b.Child != nil {
			roots = rootsIn(b.Child.Memory, work, roots)
		}
	}
	if m.Child != nil {
		return rootsIn(m.Child.Memory, work, roots)
	}
	return roots
}
