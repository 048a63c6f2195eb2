package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"loops/internal/disk"
	"loops/internal/humanize"
)

// A Token is the word that lets one user in. It is in a file of mode 0600 while its server runs, so that another
// process can read and replace it. It may be used by several goroutines at once.
type Token struct {
	path string   // "" = it is in no file
	lock *os.File // held while the server runs

	mu    sync.Mutex
	word  string     // guarded by mu
	stamp disk.Stamp // guarded by mu: of the file that word was read from
}

// A Running server, as its file describes it.
type Running struct {
	Address string `json:"address"` // with the base path, without the token
	Token   string `json:"token"`
	PID     int    `json:"pid"`

	path string
}

// URL is the address with the token.
func (r Running) URL() string { return r.Address + "?token=" + url.QueryEscape(r.Token) }

// KeepToken returns the token of a server at an address and keeps it in a file of a folder. An error explains why
// it is in no file; the token holds all the same. The caller ends it with [Token.Close].
func KeepToken(dir, address, word string) (*Token, error) {
	t := &Token{word: word}
	if dir == "" {
		return t, errors.New("the home folder is not known")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return t, err
	}
	u, err := url.Parse(address)
	if err != nil {
		return t, err
	}
	path := filepath.Join(dir, url.QueryEscape(u.Host)+".json")
	lock, err := disk.Open(path+".lock", os.O_RDWR|os.O_CREATE)
	if err != nil {
		return t, err
	}
	if err := disk.Flock(lock, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return t, errors.Join(fmt.Errorf("%s: another server has it", path), lock.Close())
	}
	text, err := json.Marshal(Running{Address: address, Token: word, PID: os.Getpid()})
	if err == nil {
		err = writePrivate(path, text)
	}
	if err != nil {
		return t, errors.Join(err, lock.Close())
	}
	t.path, t.lock = path, lock
	return t, nil
}

// Word returns the token as it is now. A file that is gone or cannot be read changes nothing.
func (t *Token) Word() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.path == "" {
		return t.word
	}
	if stamp, _, ok := disk.StampOf(t.path); !ok || stamp != t.stamp {
		if r, err := readRunning(t.path); err == nil {
			t.word, t.stamp = r.Token, stamp
		}
	}
	return t.word
}

// Close removes the file.
func (t *Token) Close() {
	if t.path != "" {
		_ = os.Remove(t.path)
		_ = os.Remove(t.path + ".lock")
		_ = disk.Release(t.lock)
	}
}

func readRunning(path string) (r Running, err error) {
	text, err := disk.Read(path)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err == nil && r.Token == "" {
		err = errors.New("it has no token")
	}
	r.path = path
	return r, err
}

// RunningServers returns the servers of this user that are running, by their addresses. What servers that were
// killed left is removed.
func RunningServers(dir string) ([]Running, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var all []Running
	for _, path := range paths {
		if !disk.Held(path + ".lock") {
			_ = os.Remove(path)
			_ = os.Remove(path + ".lock")
			continue
		}
		if r, err := readRunning(path); err == nil {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b Running) int { return strings.Compare(a.Address, b.Address) })
	return all, nil
}

// Rotate gives a running server another token, and returns it. Who had the one before is let in no more, from
// the next request on.
func (r Running) Rotate() (Running, error) {
	r.Token = NewWord()
	text, err := json.Marshal(r)
	if err == nil {
		err = writePrivate(r.path, text)
	}
	return r, err
}

// Tokens returns the running servers, or the one at an address, which "" does not name. With rotate it replaces
// the token of that one.
func Tokens(dir, address string, rotate bool) ([]Running, error) {
	all, err := RunningServers(dir)
	if err != nil {
		return nil, err
	}
	if address != "" {
		all = slices.DeleteFunc(all, func(r Running) bool {
			u, err := url.Parse(r.Address)
			return err != nil || u.Host != address && r.Address != address
		})
	}
	switch {
	case len(all) == 0 && address != "":
		return nil, fmt.Errorf("no server with a token is running at %s; see those that are: loops serve token",
			humanize.Quote(address))
	case len(all) == 0:
		return nil, errors.New("no server with a token is running; start one: loops serve")
	case rotate && len(all) > 1:
		return nil, fmt.Errorf("%s are running; name one: loops serve token --rotate ADDRESS",
			humanize.Count(len(all), "server"))
	case rotate:
		all[0], err = all[0].Rotate()
	}
	return all, err
}
