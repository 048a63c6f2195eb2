package auth

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/bcrypt"
)

// ShortestPassword is how many bytes a new password has at least.
const ShortestPassword = 10

// What a new hash costs: 19 MiB and about 20 ms.
const (
	newTime   = 2
	newMemory = 19 << 10 // KiB
	keyLength = 32
)

// What a hash in a file may cost at most, so that a slip in the file does not end the server.
const (
	mostTime   = 16
	mostMemory = 256 << 10 // KiB
	mostCost   = 14        // of bcrypt: a second
)

// hashes has a place for each password that is being checked: each takes memory and a core.
var hashes = make(chan struct{}, 2)

// HashPassword returns a hash of argon2id, in the notation that other programs read, too.
func HashPassword(password string) (string, error) {
	if len(password) < ShortestPassword {
		return "", fmt.Errorf("the password has %d characters; expected %d or more", len(password), ShortestPassword)
	}
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // it never fails
	key := argon2.IDKey([]byte(password), salt, newTime, newMemory, 1, keyLength)
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=1$%s$%s", argon2.Version, newMemory, newTime,
		b64.EncodeToString(salt), b64.EncodeToString(key)), nil
}

// A hashed password is one of argon2id, or one of bcrypt, unchanged.
type hashed struct {
	bcrypt       string
	time, memory uint32
	threads      uint8
	salt, key    []byte
}

// parseHash reads a hash of argon2id or bcrypt.
func parseHash(text string) (hashed, error) {
	if strings.HasPrefix(text, "$2") {
		cost, err := bcrypt.Cost([]byte(text))
		if err == nil && cost > mostCost {
			err = fmt.Errorf("its cost is %d; expected %d or less", cost, mostCost)
		}
		return hashed{bcrypt: text}, err
	}
	var h hashed
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return h, errors.New("it is no hash of argon2id or bcrypt")
	}
	var version int
	if _, err := fmt.Sscanf(parts[2], "v=%d", &version); err != nil || version != argon2.Version {
		return h, errors.New("its version of argon2id is another one")
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &h.memory, &h.time, &h.threads); err != nil {
		return h, errors.New("its m, t and p cannot be read")
	}
	if h.time < 1 || h.time > mostTime || h.memory < 8 || h.memory > mostMemory || h.threads < 1 {
		return h, fmt.Errorf("it would take too much time or memory; expected t up to %d and m up to %d", mostTime,
			mostMemory)
	}
	var errs [2]error
	h.salt, errs[0] = base64.RawStdEncoding.DecodeString(parts[4])
	h.key, errs[1] = base64.RawStdEncoding.DecodeString(parts[5])
	if errors.Join(errs[:]...) != nil || len(h.salt) < 8 || len(h.key) < 16 {
		return h, errors.New("its salt or key cannot be read")
	}
	return h, nil
}

// holds reports whether a password is the one that was hashed. Of many at once two are checked, and the others wait.
func (h hashed) holds(password string) bool {
	hashes <- struct{}{}
	defer func() { <-hashes }()
	if h.bcrypt != "" {
		return bcrypt.CompareHashAndPassword([]byte(h.bcrypt), []byte(password)) == nil
	}
	key := argon2.IDKey([]byte(password), h.salt, h.time, h.memory, h.threads, uint32(len(h.key))) //nolint:gosec // it was read from a line
	return subtle.ConstantTimeCompare(key, h.key) == 1
}
