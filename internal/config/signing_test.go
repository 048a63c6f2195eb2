package config

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"loops/internal/testenv"
)

func TestSignature(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "new", "sign.key")
	public, err := NewKey(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewKey(file); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second key in the same file: %v", err)
	}
	key, err := ReadKey(file)
	if err != nil {
		t.Fatal(err)
	}
	if PublicKey(key) != public || CheckKey(public) != nil {
		t.Errorf("the key of %s is %s", public, PublicKey(key))
	}
	other, err := NewKey(filepath.Join(dir, "other.key"))
	if err != nil {
		t.Fatal(err)
	}
	signed := Sign(key, []byte("a definition"))
	loop := filepath.Join(dir, "fix.yaml")
	if s, err := ReadSignature(loop); s != nil || err != nil {
		t.Errorf("no signature is read as %v, %v", s, err)
	}
	if err := os.WriteFile(SignatureFile(loop), []byte(signed.Text()), 0o644); err != nil {
		t.Fatal(err)
	}
	read, err := ReadSignature(loop)
	if err != nil {
		t.Fatal(err)
	}
	stranger := *read
	stranger.Key = other
	cut := *read
	cut.Value = cut.Value[:10]
	for _, c := range []struct {
		s          Signature
		definition string
		keys       []string
		want       error
	}{
		{*read, "a definition", []string{other, public}, nil},
		{*read, "another definition", []string{public}, ErrForged},
		{*read, "a definition", []string{other}, ErrUnknown},
		{*read, "a definition", nil, ErrUnknown},
		{stranger, "a definition", []string{public, other}, ErrForged},
		{cut, "a definition", []string{public}, ErrForged},
		{Signature{}, "a definition", []string{public}, ErrForged},
	} {
		if err := c.s.Verify([]byte(c.definition), c.keys); !errors.Is(err, c.want) {
			t.Errorf("%q by %q with %q: %v, want %v", c.definition, c.s.Key, c.keys, err, c.want)
		}
	}
}

func TestReadKeyRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := filepath.Join(dir, "good")
	public, err := NewKey(good)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		write("open", string(b), 0o644):       "other users may read or change it (its mode is 0644): chmod 600 it",
		write("text", "ssh-ed25519 x", 0o600): "it is no private key in PEM",
		write("cert", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", 0o600): "it is no ed25519 " +
			"key in PKCS #8",
	} {
		if _, err := ReadKey(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", filepath.Base(path), err, want)
		}
	}
	for _, text := range []string{
		"", "loops definition v1\n", "loops definition v2\n" + strings.Repeat("x\n", 2),
		"loops definition v1\ned25519:AAAA\nAAAA\n", "loops definition v1\n" + public + "\n",
	} {
		if s, err := ReadSignature(strings.TrimSuffix(write("bad.sig", text, 0o644), SignatureExtension)); err == nil {
			t.Errorf("%q is read as the signature %v", text, s)
		}
	}
	for _, key := range []string{"", "ed25519:", "ed25519:AAAA", "rsa:AAAA", "ed25519:!!"} {
		if CheckKey(key) == nil {
			t.Errorf("%q is taken for a key", key)
		}
	}
}

// A key that openssl made is one.
func TestKeyOfOpenSSL(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key.pem")
	openssl := testenv.Command(t, "openssl")
	if out, err := exec.Command(openssl, "genpkey", "-algorithm", "ed25519", "-out", path).CombinedOutput(); err !=
		nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadKey(path); err != nil {
		t.Error(err)
	}
}
