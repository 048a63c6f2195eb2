package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"loops/fsm/loopfile"
	"loops/internal/phrase"
)

// checkAll checks the loops that words on the command line mean, or all of the project if there are none. A word is a
// loop, or else a folder. Notes tell of files that were passed over.
func (l *library) checkAll(words []string) (files []checked, notes []string, err error) {
	p := l.project
	if len(words) == 0 {
		files, err = projectLoops(p)
	}
	for _, word := range words {
		root := l.wordFolder(word)
		if root == "" {
			files = append(files, checked{name: word})
			continue
		}
		found, note, err := folderLoops(p, root)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, found...)
		if note != "" {
			notes = append(notes, note)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	l.check(files)
	return files, notes, nil
}

// projectLoops returns the loops that list shows.
func projectLoops(p project) ([]checked, error) {
	entries, err := loopfile.List(p.Loops)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, cannotOpen(p, err)
	}
	if len(entries) == 0 {
		return nil, failure(exitNotFound, "there is no loop in %s; loops new writes one", p.short(p.Loops))
	}
	files := make([]checked, len(entries))
	for i, e := range entries {
		files[i] = checked{name: e.Name, file: e.Path}
	}
	return files, nil
}

// wordFolder returns the folder that a word on the command line means, or "" if it means a loop.
func (l *library) wordFolder(word string) string {
	if word == "" {
		return "" // no loop either, which is said later
	}
	path := word
	if !filepath.IsAbs(path) {
		path = filepath.Join(l.project.Cwd, path)
	}
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return "" // what is wrong is said where the loop is looked for
	}
	if last := word[len(word)-1]; last == '/' || word == "." || word == ".." {
		return path
	}
	if _, err := l.find(word); err == nil {
		return "" // a folder never hides a loop
	}
	return path
}

// folderLoops returns the loops below a folder, and a note about the YAML files that are none.
func folderLoops(p project, root string) (files []checked, note string, err error) {
	var others []string
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			files = append(files, checked{name: p.short(path), file: path, failure: unreadable(p, path, err)})
			return nil
		case d.IsDir() && path != root && holdsNoLoops(p, path):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".yaml" && filepath.Ext(path) != ".yml":
			return nil
		case !loopfile.IsLoop(path):
			others = append(others, p.short(path))
			return nil
		}
		files = append(files, checked{name: p.short(path), file: path})
		return nil
	})
	if err != nil {
		return nil, "", unreadable(p, root, err)
	}
	if len(files) == 0 {
		text := "there is no loop in " + p.short(root)
		if len(others) > 0 {
			text += fmt.Sprintf(", only %s", phrase.List(others))
		}
		return nil, "", failure(exitNotFound, "%s; loops new writes one", text)
	}
	if len(others) > 0 {
		note = "passed over, as they define no loop: "
		if len(others) == 1 {
			note = "passed over, as it defines no loop: "
		}
		note += phrase.List(others)
	}
	return files, note, nil
}

// holdsNoLoops says whether a folder inside another is left out: the records of runs and what other programs hide.
func holdsNoLoops(p project, path string) bool {
	name := filepath.Base(path)
	if filepath.Dir(path) == p.Loops && (name == "runs" || name == "tmp" || name == "baselines") {
		return true
	}
	return strings.HasPrefix(name, ".") && !strings.HasPrefix(name, folder)
}

// check fills in what there is to say about each file. It works on several at once.
func (l *library) check(files []checked) {
	var wait sync.WaitGroup
	next := make(chan *checked)
	for range min(len(files), runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			for c := range next {
				l.checkOne(c)
			}
		})
	}
	for i := range files {
		next <- &files[i]
	}
	close(next)
	wait.Wait()
}

// checkOne fills in what there is to say about a file.
func (l *library) checkOne(c *checked) {
	if c.failure != nil {
		return
	}
	if c.file == "" {
		if c.file, c.failure = l.find(c.name); c.failure != nil {
			return
		}
	}
	f, err := l.load(c.file)
	if err != nil {
		c.failure = unreadable(l.project, c.file, err)
	}
	c.loop, c.problems = f.loop, f.all()
}
