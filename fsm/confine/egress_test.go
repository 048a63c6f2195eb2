package confine

import "testing"

func TestWrite(t *testing.T) {
	t.Parallel()
	list := []Egress{
		NewEgress("KEY", "real", []string{"api.example.com", "*.example.org:8443"}),
		NewEgress("TOKEN", "other", []string{"git.example.com"}),
	}
	for _, c := range []struct{ target, header, text, want string }{
		{"api.example.com:443", "Authorization", "Bearer loops-stand-in-for-KEY", "Bearer real"},
		{"API.example.com:443", "x-api-key", "loops-stand-in-for-KEY", "real"},
		{"a.example.org:8443", "X-Goog-Api-Key", "loops-stand-in-for-KEY", "real"},
		{"api.example.com:443", "Authorization", "Bearer loops-stand-in-for-TOKEN", "Bearer loops-stand-in-for-TOKEN"},
		{"api.example.com:80", "Authorization", "loops-stand-in-for-KEY", "loops-stand-in-for-KEY"},
		{"example.org:8443", "Authorization", "loops-stand-in-for-KEY", "loops-stand-in-for-KEY"},
		{"evil.com:443", "Authorization", "loops-stand-in-for-KEY", "loops-stand-in-for-KEY"},
		{"api.example.com:443", "Cookie", "loops-stand-in-for-KEY", "loops-stand-in-for-KEY"},
		// x:other
		{"git.example.com:443", "authorization", "Basic eDpsb29wcy1zdGFuZC1pbi1mb3ItVE9LRU4=", "Basic eDpvdGhlcg=="},
		{"git.example.com:443", "authorization", "Basic !", "Basic !"},
		{"git.example.com:443", "authorization", "Basic eDp5", "Basic eDp5"},
	} {
		if got := Write(list, c.target, c.header, c.text); got != c.want {
			t.Errorf("%s %s: %q becomes %q, want %q", c.target, c.header, c.text, got, c.want)
		}
	}
}

func TestIsHost(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"api.example.com": true, "*.example.com": true, "localhost:8443": true, "": false, "https://x": false,
		"a b": false, "x:0": false, "u@x": false,
	} {
		if IsHost(text) != want {
			t.Errorf("IsHost(%q) is %v", text, !want)
		}
	}
}
