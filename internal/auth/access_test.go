package auth

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/bcrypt"
	"loops/internal/testenv"
)

// TestUsers adds, changes and removes users, beside lines that are not theirs.
func TestUsers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "users")
	for _, bad := range []struct {
		name, password string
		role           Role
		want           string
	}{
		{"ada", "", Author, "has a role and a password"},
		{"ada", "long enough", NoRole, "has a role and a password"},
		{"ada", "short", Author, "expected 10 or more"},
		{"a:b", "long enough", Author, "is no name of a user"},
		{"", "long enough", Author, "is no name of a user"},
		{"a b", "long enough", Author, "is no name of a user"},
	} {
		if err := SetUser(path, bad.name, bad.password, bad.role); err == nil ||
			!strings.Contains(err.Error(), bad.want) {
			t.Errorf("SetUser %q %q: %v", bad.name, bad.password, err)
		}
	}
	if err := SetUser(path, "ada", "long enough", Author); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v %v", info, err)
	}
	old, err := bcrypt.GenerateFromPassword([]byte("of htpasswd"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("# those of the night\nbob:viewer:" + string(old) + "\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	u, err := OpenUsers(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	check := func(name, password string, want bool) {
		t.Helper()
		user, _, ok := u.Check(name, password)
		if ok != want || ok && user.Name != name {
			t.Errorf("Check %s %s: %v %v", name, password, user, ok)
		}
	}
	check("ada", "long enough", true)
	check("bob", "of htpasswd", true)
	check("bob", "long enough", false)
	check("eve", "long enough", false)
	check("ada", "", false)
	if err := SetUser(path, "ada", "another one", NoRole); err != nil {
		t.Fatal(err)
	}
	check("ada", "long enough", false)
	check("ada", "another one", true)
	if err := SetUser(path, "bob", "", Operator); err != nil {
		t.Fatal(err)
	}
	check("bob", "of htpasswd", true)
	if err := RemoveUser(path, "ada"); err != nil {
		t.Fatal(err)
	}
	check("ada", "another one", false)
	if err := RemoveUser(path, "ada"); err == nil {
		t.Error("a user is removed twice")
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), "# those of the night\nbob:operator:$2") {
		t.Errorf("the file: %v\n%s", err, text)
	}
	listed, err := Listed(path)
	if err != nil || len(listed) != 1 || listed[0] != (User{"bob", Operator}) {
		t.Errorf("Listed: %v %v", listed, err)
	}
	if err := os.WriteFile(path, []byte("broken\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	check("bob", "of htpasswd", false) // what cannot be read lets no user in
}

// TestUsersRefused reads files that must not let users in.
func TestUsersRefused(t *testing.T) {
	t.Parallel()
	good, err := HashPassword("long enough")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"":                                 "no user is in it",
		"ada:author":                       ":1: expected NAME:ROLE:HASH",
		"ada:boss:" + good:                 "is no role; expected viewer, operator, author",
		"ada:author:secret":                "no hash of argon2id or bcrypt",
		"ada:author:" + good[:40]:          "no hash of argon2id",
		"ada:author:$2a$31$" + good:        "its cost is 31",
		"ada:author:*\nada:viewer:" + good: ":2: ",
		"ada:author:" + strings.Replace(good, "m=19456", "m=99999999", 1): "too much time or memory",
		"ada:author:" + strings.Replace(good, "t=2", "t=0", 1):            "too much time or memory",
	} {
		path := filepath.Join(t.TempDir(), "users")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenUsers(path, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	path := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(path, []byte("ada:author:"+good+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenUsers(path, nil); err == nil || !strings.Contains(err.Error(), "others may change it") {
		t.Errorf("a file that others may change: %v", err)
	}
}

// TestSessionsEnd: a session ends when it is not used, and when it is old.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s Sessions
		idle, used := s.Begin(User{"ada", Author}, "v"), s.Begin(User{"bob", Viewer}, "v")
		begun := time.Now()
		for time.Since(begun) < sessionAge {
			if _, _, ok := s.Find(used); !ok {
				t.Fatalf("after %s a session that is used is over", time.Since(begun))
			}
			testenv.Pass(sessionIdle - time.Minute)
		}
		if _, _, ok := s.Find(idle); ok {
			t.Error("a session that was not used holds")
		}
		testenv.Pass(sessionIdle)
		if _, _, ok := s.Find(used); ok {
			t.Error("an old session holds")
		}
		first := s.Begin(User{"ada", Author}, "v")
		for range mostOpen {
			testenv.Pass(time.Millisecond)
			s.Begin(User{"eve", Viewer}, "v")
		}
		if _, _, ok := s.Find(first); ok || len(s.open) > mostOpen {
			t.Errorf("%d sessions are open", len(s.open))
		}
	})
}

// TestAllowance: so many at once, then one in a time; what is given back does not count, and memory is bounded.
func TestAllowance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := Allowance{Burst: 2, Every: time.Second}
		take := func(key string, want bool) {
			t.Helper()
			if wait, ok := a.Take(key); ok != want || !ok && (wait <= 0 || wait > time.Second) {
				t.Errorf("take %s: %v %v", key, wait, ok)
			}
		}
		take("a", true)
		take("a", true)
		take("a", false)
		take("b", true)
		a.Return("a")
		take("a", true)
		take("a", false)
		testenv.Pass(time.Second)
		take("a", true)
		take("a", false)
		for i := range 3 * mostKept {
			a.Take(string(rune(i)))
		}
		if len(a.used) > mostKept {
			t.Errorf("%d keys are kept", len(a.used))
		}
	})
}

// TestTokensOfServersThatAreGone: what a killed server left names no server.
func TestTokensOfServersThatAreGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k, err := KeepToken(dir, "http://127.0.0.1:1/", NewWord())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := KeepToken(dir, "http://127.0.0.1:1/", NewWord()); err == nil {
		t.Error("two servers have one address")
	}
	if all, err := Tokens(dir, "", false); err != nil || len(all) != 1 ||
		all[0].URL() != "http://127.0.0.1:1/?token="+k.Word() {
		t.Errorf("one is running: %v %v", all, err)
	}
	if err := k.lock.Close(); err != nil { // as the system does when a process is killed
		t.Fatal(err)
	}
	if all, err := Tokens(dir, "", false); err == nil {
		t.Errorf("none is running: %v", all)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}

// TestOneBadLineLocksAllOut_35_2_6: a file with one bad line had no users, and nothing said why.
func TestOneBadLineLocksAllOut_35_2_6(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "users")
	for _, name := range []string{"ada", "bob"} {
		if err := SetUser(path, name, "long enough", Operator); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	u, err := OpenUsers(path, func(text string) { said = append(said, text) })
	if err != nil || len(said) > 0 {
		t.Fatalf("%v, %q", err, said)
	}
	check := func(what, more string, in map[string]bool, want ...string) {
		t.Helper()
		said = nil
		if err := os.WriteFile(path, append(whole, more...), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 { // what is wrong is said once
			for name, want := range in {
				if _, _, ok := u.Check(name, "long enough"); ok != want {
					t.Errorf("%s: %s is let in: %v", what, name, ok)
				}
			}
		}
		if len(said) != len(want) {
			t.Fatalf("%s: said %q", what, said)
		}
		for i := range want {
			if !strings.Contains(said[i], want[i]) {
				t.Errorf("%s: said %q, want %q", what, said[i], want[i])
			}
		}
	}
	check("a role that is none", "eve:operater:*\n", map[string]bool{"ada": true, "bob": true, "eve": false},
		path+":4: ")
	check("one more", "eve:operater:*\nmallory\n", map[string]bool{"ada": true}, path+":4: ",
		path+":5: expected NAME:ROLE:HASH; the other users are let in")
	check("a user twice", "bob:author:*\n", map[string]bool{"ada": true, "bob": false},
		path+`:4: "bob" is in line 3, too`)
	check("right again", "", map[string]bool{"ada": true, "bob": true}, "every line is right again")
	if users, err := Listed(path); err != nil || len(users) != 2 {
		t.Errorf("Listed: %v %v", users, err)
	}
	if err := os.WriteFile(path, append(whole, "mallory\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	said = nil
	if _, err := OpenUsers(path, func(text string) { said = append(said, text) }); err != nil || len(said) != 1 {
		t.Errorf("at the start: %v, said %q", err, said)
	}
	if err := SetUser(path, "ada", "another one", NoRole); err == nil || !strings.Contains(err.Error(), path+":4: ") {
		t.Errorf("a file with a bad line is changed: %v", err)
	}
}
