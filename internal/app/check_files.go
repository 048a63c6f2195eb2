package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/internal/humanize"
)

// chosenFiles checks the loops that words on the command line mean, or all of the project if there are none. A
// word is a loop, or else a folder. Others are the files below folders that were passed over.
func chosenFiles(l *project.Library, words []string) (files []CheckedFile, others []string, err error) {
	if len(words) == 0 {
		files, err = projectLoops(l)
	}
	var folders []string
	for _, word := range words {
		root := wordFolder(l, word)
		if root == "" {
			files = append(files, CheckedFile{name: word})
			continue
		}
		folders = append(folders, l.Project.Short(root))
		found, passed, err := folderFiles(l.Project, root, mostEntries)
		if err != nil {
			return nil, nil, err
		}
		files, others = append(files, found...), append(others, passed...)
	}
	if err != nil {
		return nil, nil, err
	}
	checkLoops(l, files)
	files = slices.DeleteFunc(files, func(c CheckedFile) bool {
		if c.partOnly() {
			others = append(others, c.name)
			return true
		}
		return false
	})
	if len(files) == 0 {
		return nil, nil, noLoops(folders, others)
	}
	return files, others, nil
}

// noLoops says that there was nothing to check in folders.
func noLoops(folders, others []string) error {
	text := "there is no loop in " + humanize.And(folders)
	if len(others) > 0 {
		text += fmt.Sprintf(", only %s", humanize.List(others))
	}
	return engine.Refuse(engine.NotFound, "%s; %s writes one", text, engine.Do("new", ""))
}

// projectLoops returns the loops that list shows.
func projectLoops(l *project.Library) ([]CheckedFile, error) {
	p := l.Project
	entries, err := l.Files.List(p.Loops)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, p.CannotOpen(err)
	}
	if len(entries) == 0 {
		return nil, engine.Refuse(engine.NotFound, "there is no loop in %s; %s writes one", p.Short(p.Loops),
			engine.Do("new", ""))
	}
	files := make([]CheckedFile, len(entries))
	for i, e := range entries {
		files[i] = CheckedFile{name: e.Name, file: e.Path}
	}
	return files, nil
}

// wordFolder returns the folder that a word on the command line means, or "" if it means a loop.
func wordFolder(l *project.Library, word string) string {
	if word == "" {
		return "" // no loop either, which is reported later
	}
	path := word
	if !filepath.IsAbs(path) {
		path = filepath.Join(l.Project.Cwd, path)
	}
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return "" // what is wrong is reported where the loop is looked for
	}
	if last := word[len(word)-1]; last == '/' || word == "." || word == ".." {
		return path
	}
	if _, err := l.Find(word); err == nil {
		return "" // a folder never hides a loop
	}
	return path
}

// mostEntries is how many files and folders are looked at below a folder.
const mostEntries = 200_000

// folderFiles returns the YAML files below a folder that may be loops, and those that are not. The root of a
// disk is refused, and so is a folder with more than most files and folders below it.
func folderFiles(p *project.Project, root string, most int) (files []CheckedFile, others []string, err error) {
	const todo = "name the folder that the loops are in, such as "
	if filepath.Dir(root) == root {
		return nil, nil, engine.Refuse(engine.Usage, "%s is a whole disk; %s%s", root, todo, p.Short(p.Loops))
	}
	seen := 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		seen++
		switch {
		case seen > most:
			return engine.Refuse(engine.Usage, "more than %d files and folders are below %s; %s%s", most,
				p.Short(root), todo, p.Short(p.Loops))
		case err != nil:
			files = append(files,
				CheckedFile{name: p.Short(path), file: path, Failure: project.Unreadable(p, path, err)})
		case d.IsDir() && path != root && holdsNoLoops(p, path):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".yaml" && filepath.Ext(path) != ".yml":
		case !loopfile.IsLoop(path):
			others = append(others, p.Short(path))
		default:
			files = append(files,
				CheckedFile{name: p.Short(path), file: path, inLib: strings.Contains(filepath.ToSlash(path), "/lib/")})
		}
		return nil
	})
	return files, others, err
}

// partOnly reports whether a file that was found in a folder of libraries is there for others to inherit from: it is
// complete but for what makes a loop of its own.
func (c CheckedFile) partOnly() bool {
	if !c.inLib || project.CountErrors(c.Problems) == 0 {
		return false
	}
	for _, pr := range c.Problems {
		if pr.Severity == fsm.SeverityError && (pr.Rule != "missing-key" || strings.Contains(pr.Path, ".")) {
			return false
		}
	}
	return true
}

// holdsNoLoops reports whether a folder inside another is left out: the records of runs and what other programs hide.
func holdsNoLoops(p *project.Project, path string) bool {
	name := filepath.Base(path)
	if filepath.Dir(path) == p.Loops && (name == "runs" || name == "tmp" || name == "baselines") {
		return true
	}
	return strings.HasPrefix(name, ".") && !strings.HasPrefix(name, project.Folder)
}

// checkLoops fills in what there is to say about each file. It works on several at once.
func checkLoops(l *project.Library, files []CheckedFile) {
	var wait sync.WaitGroup
	next := make(chan *CheckedFile)
	for range min(len(files), runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			for c := range next {
				checkLoop(l, c)
			}
		})
	}
	for i := range files {
		next <- &files[i]
	}
	close(next)
	wait.Wait()
}

// checkLoop fills in what there is to say about a file.
func checkLoop(l *project.Library, c *CheckedFile) {
	if c.Failure != nil {
		return
	}
	if c.file == "" {
		if c.file, c.Failure = l.Find(c.name); c.Failure != nil {
			return
		}
	}
	f, err := l.Load(c.file)
	if err != nil {
		c.Failure = project.Unreadable(l.Project, c.file, err)
	}
	c.Loop, c.Problems = f.Loop, f.All()
}
