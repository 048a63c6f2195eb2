package notify_test

import (
	"net/url"
	"strings"
	"testing"

	"loops/engine/notify"
)

// A link is read with its key alone, and no change of it is.
func TestReadLink(t *testing.T) {
	t.Parallel()
	l := notify.SignedLink{
		Run: "ship-20261129T014410", Question: "/1+one/1:1", Choice: "approve", By: "ada",
		Began: "2026-11-29T01:44:10.000001+00:00", Records: "6f1a/",
	}
	signed := l.Signed("key")
	if got, ok := notify.ReadLink(signed, "key"); !ok || got != l {
		t.Errorf("%+v, %v", got, ok)
	}
	for i := range signed {
		other := byte('A')
		if signed[i] == other {
			other = 'B'
		}
		if got, ok := notify.ReadLink(signed[:i]+string(other)+signed[i+1:], "key"); ok {
			t.Errorf("with another character at %d it is %+v", i, got)
		}
	}
	reject := l
	reject.Choice = "reject"
	other, _, _ := strings.Cut(reject.Signed("key"), ".")
	_, signature, _ := strings.Cut(signed, ".")
	for _, wrong := range []string{"", ".", signed + "A", signed[:len(signed)-1], other + "." + signature} {
		if _, ok := notify.ReadLink(wrong, "key"); ok {
			t.Errorf("%q is read", wrong)
		}
	}
	for _, key := range []string{"", "other"} {
		if _, ok := notify.ReadLink(l.Signed(key), key); ok != (key != "") {
			t.Errorf("key %q", key)
		}
		if _, ok := notify.ReadLink(signed, key); ok {
			t.Errorf("it is read with the key %q", key)
		}
	}
	if address := l.Address("https://loops.example.org/base/", "key"); address !=
		"https://loops.example.org/base/answer/"+signed {
		t.Error(address)
	} else if u, err := url.Parse(address); err != nil || u.EscapedPath() != "/base/answer/"+signed {
		t.Errorf("%v, %v", u, err)
	}
	if strings.Contains(signed, l.ID("key")) || l.ID("key") == reject.ID("key") {
		t.Error("the id of a link says what it is, or which others have")
	}
}
