package config

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"gopkg.in/yaml.v3"
)

// Layers are the files that are read for a project, from the lowest to the one that wins: what a higher one sets holds,
// key by key. Hosts do by their names, and the lists of Notify add up.
type Layers struct {
	Reference string // the configuration of little-loops; "" = none
	User      string // the person's own, for all projects; "" = none
	Project   string // the project's own

	ActionTypes string // what the environment says of action types, as EnvActionTypes; "" = nothing

	Dir  string // of the project: relative paths in its file are relative to it
	Home string // of the person, for paths that begin with ~; "" = not known
}

// UserFile returns where the file of a person is: in $XDG_CONFIG_HOME, else in .config at home. "" where
// neither is known.
func UserFile(getenv func(string) (string, bool)) string {
	// What is not absolute is to be ignored, as the specification has it.
	if dir, _ := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "loops", Name)
	}
	if home, _ := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config", "loops", Name)
	}
	return ""
}

// StateDir returns the folder where this machine has what is of a user and of no project, of one kind: in
// $XDG_STATE_HOME, else in .local/state at home. "" where neither is known.
func StateDir(getenv func(string) (string, bool), kind string) string {
	if dir, _ := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "loops", kind)
	}
	if home, _ := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "loops", kind)
	}
	return ""
}

// A layer is one of the files, while it is read.
type layer struct {
	file string
	user bool   // it is a person's own
	dir  string // what relative paths in it are relative to
	home string
}

// Load reads the files; one that does not exist says nothing. The error is Problems; the Config is then what
// can be made out all the same.
func (l Layers) Load() (*Config, error) {
	c := &Config{}
	var all Problems
	l.reference(c)
	for _, one := range []layer{
		{file: l.User, user: true, dir: filepath.Dir(l.User), home: l.Home},
		{file: l.Project, dir: l.Dir, home: l.Home},
	} {
		if one.file == "" {
			continue
		}
		data, err := read(one.file)
		if err != nil {
			all = append(all, Problem{File: one.file, Text: "it cannot be read: " + cause(err).Error()})
			continue
		}
		all = append(all, one.parse(data, c)...)
	}
	all = append(all, l.variable(c)...)
	if all != nil {
		return c, all
	}
	return c, nil
}

// most is the longest file that is read.
const most = 1 << 20

// read returns the text of a file, or a little more than may be. A file that does not exist is empty.
func read(file string) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)         // opening a pipe would block
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // reported elsewhere: .loops is no folder
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0 {
		return nil, cmp.Or(err, errors.New("it is no file"))
	}
	return io.ReadAll(io.LimitReader(f, most+1))
}

// cause is an error of a file without the operation and the path.
func cause(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// parse reads the text of the file into c.
func (l layer) parse(data []byte, c *Config) Problems {
	d := &decoder{layer: l}
	doc := d.document(data)
	if doc != nil && !isLoop(doc) {
		d.config(doc, c)
	}
	for i := range d.problems {
		if d.problems[i].Key == "" {
			d.problems[i].text = data
		}
	}
	slices.SortStableFunc(d.problems, func(a, b Problem) int { return cmp.Or(a.Line-b.Line, a.Col-b.Col) })
	return d.problems
}

// store reads where runs are recorded. A database holds the runs of one project, so the file of a person may
// only name one that is another in each of them.
func (d *decoder) store(n *yaml.Node, c *Config) {
	before := len(d.problems)
	v := d.text(n, "store")
	if len(d.problems) > before {
		return
	}
	scheme, path, _ := strings.Cut(v, ":")
	switch {
	case v == "dir":
	case scheme == "sqlite" && path != "" && !strings.HasPrefix(path, "?"):
		if d.layer.user && filepath.IsAbs(path) {
			d.say(n, "store: all projects would record their runs in this one file: write a path that is not "+
				"absolute, which is relative to the project, or put the key into a project's .loops/%s", Name)
			return
		}
	case scheme == "postgres", scheme == "postgresql":
		if d.layer.user {
			d.say(n, "store: all projects would record their runs in this one database: put the key into a "+
				"project's .loops/%s", Name)
			return
		}
	default:
		// not what it is: there can be a password in it
		d.say(n, "store is dir, sqlite:PATH or postgres://USER@HOST/NAME")
		return
	}
	c.Store = v
}

// catalog reads the path of a folder.
func (d *decoder) catalog(n *yaml.Node, c *Config) { d.path(n, "catalog", &c.Catalog) }

// releases reads a folder or a URL.
func (d *decoder) releases(n *yaml.Node, c *Config) {
	if strings.HasPrefix(n.Value, "http://") || strings.HasPrefix(n.Value, "https://") {
		d.words(n, "from", nil, &c.Releases)
		return
	}
	d.path(n, "from", &c.Releases)
}

// path reads a path, which is relative to the folder of its file, or to the home of the user behind ~/.
func (d *decoder) path(n *yaml.Node, key string, to *string) {
	before := len(d.problems)
	path := d.text(n, key)
	if len(d.problems) > before {
		return
	}
	rest, atHome := strings.CutPrefix(path, "~")
	switch {
	case path == "":
		d.say(n, "%s is empty: leave the key out", key)
		return
	case atHome && rest != "" && rest[0] != '/':
		d.say(n, "%s: only ~/ is known, for your own home; write the path in full", key)
		return
	case atHome && d.layer.home == "":
		d.say(n, "%s: ~ is not known: HOME is not set", key)
		return
	case atHome:
		path = filepath.Join(d.layer.home, rest)
	case !filepath.IsAbs(path):
		path = filepath.Join(d.layer.dir, path)
	}
	*to = filepath.Clean(path)
}
