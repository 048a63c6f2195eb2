package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// largest is the size of the largest untracked file that travels: servers refuse larger ones, and then nothing
// would travel.
const largest = 100 << 20

// mostLeft bounds the names of files that do not travel.
const mostLeft = 5

// leftFiles are files of a tree that do not travel.
type leftFiles struct {
	all  int
	some []string // with the reason, mostLeft at most
}

func (l *leftFiles) add(name, why string) {
	if l.all++; len(l.some) < mostLeft {
		l.some = append(l.some, name+" ("+why+")")
	}
}

// Left returns what of the tree was not kept by the last Keep: a few names with the reason, and how many there
// are. A folder in which git ignores all counts as one.
func (t *RefTree) Left() (some []string, all int) { return t.left.some, t.left.all }

// untracked returns the files that travel although the index does not name them, and notes those that do not travel.
func (t *RefTree) untracked(ctx context.Context, env []string) (names []string, err error) {
	t.left = leftFiles{}
	loose, err := t.others(ctx, env, "--exclude-standard")
	if err != nil {
		return nil, err
	}
	if len(t.Include) > 0 {
		args := []string{"--"}
		for _, p := range t.Include {
			args = append(args, ":(top,glob)"+p)
		}
		included, err := t.others(ctx, env, args...)
		if err != nil {
			return nil, err
		}
		loose = append(loose, included...)
		slices.Sort(loose)
		loose = slices.Compact(loose)
	}
	for _, name := range loose {
		info, err := os.Lstat(filepath.Join(t.Dir, name))
		switch {
		case err != nil: // an action that is at work removed it
		case strings.HasSuffix(name, "/"):
			t.left.add(name, "a repository of its own")
		case info.Size() > largest && info.Mode().IsRegular():
			t.left.add(name, fmt.Sprintf("larger than %d MiB", largest>>20))
		default:
			names = append(names, name)
		}
	}
	return names, t.ignored(ctx, env, names)
}

// ignored notes what git ignores and no pattern includes.
func (t *RefTree) ignored(ctx context.Context, env, travel []string) error {
	found, err := t.others(ctx, env, "--ignored", "--exclude-standard", "--directory")
	if err != nil {
		return err
	}
	var stay []string
	for _, name := range found {
		within := func(path string) bool { return strings.HasSuffix(name, "/") && strings.HasPrefix(path, name) }
		if slices.ContainsFunc(travel, within) || slices.ContainsFunc(t.Apart, within) {
			single, err := t.others(ctx, env, "--ignored", "--exclude-standard", "--", ":(top,literal)"+name)
			if err != nil {
				return err
			}
			stay = append(stay, single...)
		} else {
			stay = append(stay, name)
		}
	}
	slices.Sort(stay)
	for _, name := range slices.Compact(stay) { // git may name a folder and what is in it
		if _, travels := slices.BinarySearch(travel, name); !travels {
			t.left.add(name, "ignored")
		}
	}
	return nil
}

// others returns files that the index does not name, sorted, but for those of Apart.
func (t *RefTree) others(ctx context.Context, env []string, args ...string) ([]string, error) {
	out, err := t.git(ctx, env, append([]string{"ls-files", "-z", "--others"}, args...)...)
	if err != nil || out == "" {
		return nil, err
	}
	names := split(out)
	slices.Sort(names)
	return slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(t.Apart, func(apart string) bool {
			return strings.TrimSuffix(name, "/") == apart || strings.HasPrefix(name, apart+"/")
		})
	}), nil
}
