package auth

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode"

	"loops/internal/disk"
	"loops/internal/humanize"
)

// longestName is how many bytes the name of a user has at most.
const longestName = 64

// An entry is a line of a file of users: NAME:ROLE:HASH.
type entry struct {
	User
	hash string
}

// Users are those of a file, which is read again when it has changed. They may be used by several goroutines at once.
type Users struct {
	path string
	say  func(string) // gets what is wrong in the file, a text for each line of it; nil = not called

	mu    sync.Mutex
	stamp disk.Stamp // guarded by mu: of what all was read from
	all   []entry    // guarded by mu
	err   error      // guarded by mu: why there are none
	said  string     // guarded by mu: what say got last
}

// OpenUsers reads a file of users. It is refused where others may change it, and where no user is in it. say
// gets what is wrong in it, now and after each change, and that nothing is wrong any more; nil = it is not
// called.
func OpenUsers(path string, say func(string)) (*Users, error) {
	u := &Users{path: path}
	all, bad, err := readUsers(path)
	switch {
	case err == nil && len(all) == 0 && len(bad) > 0:
		err = errors.Join(bad...)
	case err == nil && len(all) == 0:
		err = fmt.Errorf("%s: no user is in it; add one: loops serve passwd %s NAME --role author", path, path)
	}
	if err == nil {
		u.say = say
		_, err = u.now()
	}
	return u, err
}

// now returns the users as they are. A file that cannot be read has none: what it said before does not hold any more.
func (u *Users) now() ([]entry, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	path := u.path
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	stamp, _, ok := disk.StampOf(path)
	if ok && stamp == u.stamp {
		return u.all, u.err
	}
	var bad []error
	u.all, bad, u.err = readUsers(u.path)
	u.stamp = stamp
	u.tell(bad)
	return u.all, u.err
}

// tell says what is wrong in the file, unless that was said already. The caller holds mu.
func (u *Users) tell(bad []error) {
	var texts []string
	if u.err != nil {
		texts = append(texts, u.err.Error()+"; no user of the file is let in")
	}
	for _, err := range bad {
		texts = append(texts, err.Error()+"; the other users are let in")
	}
	now := strings.Join(texts, "\n")
	if u.say == nil || now == u.said {
		return
	}
	if u.said = now; now == "" {
		texts = []string{u.path + ": every line is right again"}
	}
	for _, text := range texts {
		u.say(text)
	}
}

// readUsers returns the users of a file, and for each line that is wrong an error with its number. Who is in
// two lines is left out: it is not known which of them holds. err is why nothing of the file counts.
func readUsers(path string) (all []entry, bad []error, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if info.Mode().Perm()&0o022 != 0 {
		return nil, nil, fmt.Errorf("%s: others may change it (mode %04o); forbid that: chmod 600 %s", path,
			info.Mode().Perm(), path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	lines := map[string]int{}
	var twice []string
	for i, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		e, err := parseEntry(line)
		if err == nil && lines[e.Name] > 0 {
			twice = append(twice, e.Name)
			err = fmt.Errorf("%s is in line %d, too, and is let in by neither; delete one of them",
				humanize.Quote(e.Name), lines[e.Name])
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("%s:%d: %w", path, i+1, err))
			continue
		}
		lines[e.Name] = i + 1
		all = append(all, e)
	}
	return slices.DeleteFunc(all, func(e entry) bool { return slices.Contains(twice, e.Name) }), bad, nil
}

func parseEntry(line string) (entry, error) {
	parts := strings.SplitN(line, ":", 3)
	if len(parts) != 3 {
		return entry{}, errors.New("expected NAME:ROLE:HASH")
	}
	if err := CheckName(parts[0]); err != nil {
		return entry{}, err
	}
	role, err := ParseRole(parts[1])
	if err == nil && parts[2] != noPassword {
		_, err = parseHash(parts[2])
	}
	return entry{User{parts[0], role}, parts[2]}, err
}

// noPassword replaces the hash of a user who cannot sign in with a password: a proxy vouches for them.
const noPassword = "*"

// CheckName says what is wrong with a text as the name of a user.
func CheckName(name string) error {
	if name == "" || len(name) > longestName ||
		strings.ContainsFunc(name, func(r rune) bool {
			return !unicode.IsGraphic(r) || unicode.IsSpace(r) || r == ':'
		}) || strings.HasPrefix(name, "#") {
		return fmt.Errorf("%s is no name of a user; expected up to %d characters without spaces and colons",
			humanize.Quote(name), longestName)
	}
	return nil
}

// Find returns a user by name, and what changes when their password or role does.
func (u *Users) Find(name string) (user User, version string, ok bool) {
	all, _ := u.now()
	for _, e := range all {
		if e.Name == name {
			return e.User, e.Role.String() + e.hash, true
		}
	}
	return User{}, "", false
}

// Check returns the user with a name and a password. It takes as long for a name that is not there.
func (u *Users) Check(name, password string) (user User, version string, ok bool) {
	user, version, ok = u.Find(name)
	hash := strings.TrimPrefix(version, user.Role.String())
	if !ok || hash == noPassword {
		hash, ok = absentHash(), false
	}
	h, err := parseHash(hash)
	if err != nil || len(password) > 1024 {
		return User{}, "", false
	}
	if !h.holds(password) || !ok {
		return User{}, "", false
	}
	return user, version, true
}

// absentHash is compared with where there is no user.
var absentHash = sync.OnceValue(func() string {
	h, _ := HashPassword(NewWord()) //nolint:errcheck // it is long enough
	return h
})

// Listed returns the users of a file, in its order, and what is wrong in it: of a line that is wrong the user
// is left out.
func Listed(path string) ([]User, error) {
	all, bad, err := readUsers(path)
	var users []User
	for _, e := range all {
		users = append(users, e.User)
	}
	return users, errors.Join(append(bad, err)...)
}

// SetUser adds a user to a file, or changes them; an empty password leaves theirs, and a role of [NoRole] their
// role. The file is made with mode 0600 if need be, and is there whole at each moment; other lines stay as they
// are.
func SetUser(path, name, password string, role Role) error {
	if err := CheckName(name); err != nil {
		return err
	}
	return editUser(path, name, func(was *entry) (string, error) {
		var e entry
		if was != nil {
			e = *was
		} else if password == "" || role < Viewer {
			return "", fmt.Errorf("%s is not in %s yet; a new user has a role and a password", humanize.Quote(name),
				path)
		}
		if e.Name = name; role >= Viewer {
			e.Role = role
		}
		if password != "" {
			hash, err := HashPassword(password)
			if err != nil {
				return "", err
			}
			e.hash = hash
		}
		return fmt.Sprintf("%s:%s:%s", e.Name, e.Role, e.hash), nil
	})
}

// RemoveUser takes a user out of a file. Their sessions end with it.
func RemoveUser(path, name string) error {
	return editUser(path, name, func(was *entry) (string, error) {
		if was == nil {
			return "", fmt.Errorf("%s is not in %s", humanize.Quote(name), path)
		}
		return "", nil
	})
}

// editUser replaces the line of a user by what edit returns; "" removes it.
func editUser(path, name string, edit func(was *entry) (string, error)) error {
	all, bad, err := readUsers(path)
	if err = errors.Join(append(bad, err)...); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = []byte("# NAME:ROLE:HASH, a line for each user of loops serve; change it with loops "+
			"serve passwd\n"), nil
	}
	if err != nil {
		return err
	}
	var was *entry
	if i := slices.IndexFunc(all, func(e entry) bool { return e.Name == name }); i >= 0 {
		was = &all[i]
	}
	line, err := edit(was)
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(strings.TrimSpace(l), name+":") })
	switch {
	case at < 0:
		lines = append(lines, line)
	case line == "":
		lines = slices.Delete(lines, at, at+1)
	default:
		lines[at] = line
	}
	return writePrivate(path, []byte(strings.Join(lines, "\n")+"\n"))
}

// writePrivate writes a file of mode 0600, whole or not at all. One that a link leads to is written in its place.
func writePrivate(path string, text []byte) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	tmp, err := disk.CreateBeside(path)
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) //nolint:errcheck // it was renamed, or is of no use
	_, err = tmp.Write(text)
	if err == nil {
		err = tmp.Chmod(disk.FileMode)
	}
	if err == nil {
		err = tmp.Sync()
	}
	if shut := tmp.Close(); err == nil {
		err = shut
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	return err
}
