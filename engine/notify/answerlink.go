package notify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
)

// A SignedLink is what a link says. Who has the link may answer for By.
type SignedLink struct {
	Run      string `json:"r"`
	Question string `json:"q"` // its address, which no other question of the run ever has
	Choice   string `json:"c"`
	By       string `json:"b"` // the name of the target that was notified

	Began   string `json:"t"` // when the run began, to the microsecond: another project can have a run with the same id
	Records string `json:"p"` // mark of the place of the records for who made the link; a database can have several
}

// AnswerPath is where a server answers for links, below its base path; the signed part follows.
const AnswerPath = "/answer/"

// purpose keeps a signature of a link from being one of something else.
const purpose = "loops answer link v1\n"

// Address returns the address of the link on a server: at is that of the server, with its base path.
func (l SignedLink) Address(at, key string) string {
	return strings.TrimRight(at, "/") + AnswerPath + l.Signed(key)
}

// Signed returns the link with its signature, as a part of a path: both in base64, with a dot between them.
func (l SignedLink) Signed(key string) string {
	text, err := json.Marshal(l)
	if err != nil {
		panic(err) // texts always can be
	}
	body := base64.RawURLEncoding.EncodeToString(text)
	return body + "." + base64.RawURLEncoding.EncodeToString(sum(key, body))
}

// ID returns a name of the link that is no secret: no one can make the link from it.
func (l SignedLink) ID(key string) string {
	return base64.RawURLEncoding.EncodeToString(sum(key, "id "+l.Signed(key))[:12])
}

// ReadLink returns the link that Signed returned for this key. It takes as long for each signature that is wrong.
func ReadLink(signed, key string) (l SignedLink, ok bool) {
	body, signature, _ := strings.Cut(signed, ".")
	given, err := base64.RawURLEncoding.Strict().DecodeString(signature)
	if err != nil || key == "" || !hmac.Equal(given, sum(key, body)) {
		return SignedLink{}, false
	}
	text, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil || json.Unmarshal(text, &l) != nil {
		return SignedLink{}, false
	}
	return l, true
}

func sum(key, body string) []byte {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(purpose + body))
	return mac.Sum(nil)
}
