package config

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// prefix begins the text of a public key.
const prefix = "ed25519:"

// What begins what is signed, so that a signature of one kind is none of another. header also begins the text of the
// signature of a definition.
const (
	header        = "loops definition v1"
	receiptHeader = "loops receipt v1"
)

// KeyFile is where the private key of a user is, unless a command says otherwise; "" = neither XDG_CONFIG_HOME nor HOME
// says so.
func KeyFile(getenv func(string) (string, bool)) string {
	user := UserFile(getenv)
	if user == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(user), "signing.key")
}

// SignatureExtension is what the name of the file of a signature has after that of its loop.
const SignatureExtension = ".sig"

// NewKey makes a private key in a file, which only its owner can read, and returns the public key as text. It
// replaces no file: the error is fs.ErrExist then. The file is PKCS #8 in PEM, as openssl genpkey -algorithm
// ed25519 writes it.
func NewKey(path string) (public string, err error) {
	key, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return "", err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	err = pem.Encode(f, &pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(path))
	}
	return signatureText(key), nil
}

// ReadKey reads the private key of a file. It refuses one that others than its owner may read or change.
func ReadKey(path string) (ed25519.PrivateKey, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode()&0o077 != 0 {
		return nil, fmt.Errorf("other users may read or change it (its mode is %04o): chmod 600 it", info.Mode().Perm())
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(b)
	if block == nil {
		return nil, errors.New("it is no private key in PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	private, ok := key.(ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, errors.New("it is no ed25519 key in PKCS #8, as loops sign --new-key and openssl genpkey " +
			"-algorithm ed25519 write it")
	}
	return private, nil
}

// PublicKey returns the public key of a private one as text.
func PublicKey(key ed25519.PrivateKey) string { return signatureText(key.Public().(ed25519.PublicKey)) }

func signatureText(key ed25519.PublicKey) string {
	return prefix + base64.StdEncoding.EncodeToString(key)
}

// CheckKey reports what is wrong with the text of a public key.
func CheckKey(key string) error {
	_, err := parseKey(key)
	return err
}

func parseKey(key string) (ed25519.PublicKey, error) {
	b, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(key, prefix))
	if !strings.HasPrefix(key, prefix) || err != nil || len(b) != ed25519.PublicKeySize {
		return nil, errors.New("a public key is " + prefix + " and 44 characters, as loops sign --new-key prints it")
	}
	return b, nil
}

// A Signature is what a key says about a definition.
type Signature struct {
	Key   string `json:"key"`   // the public key as text
	Value string `json:"value"` // of ed25519, in base64
}

// Sign signs the text of a definition.
func Sign(key ed25519.PrivateKey, definition []byte) Signature { return sign(key, header, definition) }

// SignReceipt signs the text of a receipt.
func SignReceipt(key ed25519.PrivateKey, receipt []byte) Signature {
	return sign(key, receiptHeader, receipt)
}

func sign(key ed25519.PrivateKey, header string, text []byte) Signature {
	return Signature{PublicKey(key), base64.StdEncoding.EncodeToString(ed25519.Sign(key, message(header, text)))}
}

// message is what is signed.
func message(header string, text []byte) []byte {
	sum := sha256.Sum256(text)
	return []byte(header + "\n" + hex.EncodeToString(sum[:]) + "\n")
}

// Errors of Verify.
var (
	ErrForged  = errors.New("the signature is not of this definition")
	ErrUnknown = errors.New("it is signed by a key that is not among those that are accepted")
)

// Verify returns nil if the signature is of a definition, by one of the keys.
func (s Signature) Verify(definition []byte, keys []string) error {
	return s.verify(header, definition, keys)
}

// VerifyReceipt is Verify of the signature of a receipt.
func (s Signature) VerifyReceipt(receipt []byte, keys []string) error {
	return s.verify(receiptHeader, receipt, keys)
}

func (s Signature) verify(header string, text []byte, keys []string) error {
	key, err := parseKey(s.Key)
	if err != nil {
		return ErrForged
	}
	if value, err := base64.StdEncoding.DecodeString(s.Value); err != nil ||
		!ed25519.Verify(key, message(header, text), value) {
		return ErrForged
	}
	if !slices.Contains(keys, s.Key) {
		return ErrUnknown
	}
	return nil
}

// SignatureFile is where the signature of a loop file is.
func SignatureFile(loop string) string { return loop + SignatureExtension }

// Text returns the signature as the text of a file.
func (s Signature) Text() string {
	return header + "\n" + s.Key + "\n" + s.Value + "\n"
}

// ReadSignature reads the signature beside a loop file, nil if there is none.
func ReadSignature(loop string) (*Signature, error) {
	b, err := os.ReadFile(SignatureFile(loop))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(b), "\r\n", "\n")), "\n")
	if len(lines) != 3 || lines[0] != header || CheckKey(lines[1]) != nil {
		return nil, errors.New("it is no signature that this version of loops reads")
	}
	return &Signature{lines[1], lines[2]}, nil
}
