package mask

import "bytes"

// A Shape is what the tokens of one service look like: a prefix that only they have, and then so many letters of a
// kind. Their services publish the prefixes so that scanners find leaked tokens.
type Shape struct {
	Name   string // as placeholders have it
	Prefix string
	Source string // who says so

	letters     *[256]bool
	least, most int // letters after the prefix
}

var (
	alnum = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
	word  = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
	dash  = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
	dots  = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.")
	upper = set("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
	hexa  = set("ABCDEFabcdef0123456789")
	b64   = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-.~")
)

func set(letters string) *[256]bool {
	var s [256]bool
	for i := range len(letters) {
		s[letters[i]] = true
	}
	return &s
}

// shapes are the tokens that are found although no name was declared for them.
var shapes = []Shape{
	{"anthropic-key", "sk-ant-", "docs.anthropic.com", dash, 20, 200},
	{"openai-key", "sk-proj-", "platform.openai.com", dash, 20, 200},
	{"openai-key", "sk-svcacct-", "platform.openai.com", dash, 20, 200},
	{"openai-key", "sk-admin-", "platform.openai.com", dash, 20, 200},
	{"openai-key", "sk-", "platform.openai.com", alnum, 40, 64},
	{"github-token", "ghp_", "docs.github.com", alnum, 36, 255},
	{"github-token", "gho_", "docs.github.com", alnum, 36, 255},
	{"github-token", "ghu_", "docs.github.com", alnum, 36, 255},
	{"github-token", "ghs_", "docs.github.com", alnum, 36, 255},
	{"github-token", "ghr_", "docs.github.com", alnum, 36, 255},
	{"github-token", "github_pat_", "docs.github.com", word, 40, 255},
	{"gitlab-token", "glpat-", "docs.gitlab.com", dots, 20, 255},
	{"gitlab-token", "gldt-", "docs.gitlab.com", dash, 20, 255},
	{"gitlab-token", "glrt-", "docs.gitlab.com", dash, 20, 255},
	{"aws-key", "AKIA", "docs.aws.amazon.com", upper, 16, 16},
	{"aws-key", "ASIA", "docs.aws.amazon.com", upper, 16, 16},
	{"google-key", "AIza", "cloud.google.com", dash, 35, 35},
	{"google-token", "ya29.", "cloud.google.com", dash, 20, 2048},
	{"google-secret", "GOCSPX-", "cloud.google.com", dash, 28, 28},
	{"slack-token", "xoxb-", "api.slack.com", dash, 20, 255},
	{"slack-token", "xoxp-", "api.slack.com", dash, 20, 255},
	{"slack-token", "xapp-", "api.slack.com", dash, 20, 255},
	{"slack-token", "xoxe.", "api.slack.com", dots, 20, 400},
	{
		"slack-webhook", "hooks.slack.com/services/", "api.slack.com",
		set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/"), 30, 80,
	},
	{"stripe-key", "sk_live_", "docs.stripe.com", alnum, 16, 255},
	{"stripe-key", "rk_live_", "docs.stripe.com", alnum, 16, 255},
	{"stripe-key", "sk_test_", "docs.stripe.com", alnum, 16, 255},
	{"webhook-secret", "whsec_", "standardwebhooks.com", b64, 24, 255},
	{"npm-token", "npm_", "docs.npmjs.com", alnum, 36, 36},
	{"pypi-token", "pypi-", "pypi.org/help", dash, 85, 255},
	{"huggingface-token", "hf_", "huggingface.co/docs", alnum, 34, 37},
	{"digitalocean-token", "dop_v1_", "docs.digitalocean.com", hexa, 64, 64},
	{"sendgrid-key", "SG.", "docs.sendgrid.com", dots, 60, 70},
	{"shopify-token", "shpat_", "shopify.dev", hexa, 32, 32},
	{"vault-token", "hvs.", "developer.hashicorp.com", dash, 24, 255},
	{"grafana-token", "glsa_", "grafana.com/docs", word, 32, 64},
	{"databricks-token", "dapi", "docs.databricks.com", hexa, 32, 36},
	{"groq-key", "gsk_", "console.groq.com", alnum, 48, 64},
	{"xai-key", "xai-", "docs.x.ai", alnum, 70, 100},
	{"replicate-token", "r8_", "replicate.com/docs", alnum, 37, 40},
	{"tailscale-key", "tskey-", "tailscale.com/kb", dash, 20, 100},
	{"linear-key", "lin_api_", "linear.app/developers", alnum, 32, 64},
	{"age-key", "AGE-SECRET-KEY-1", "age-encryption.org", upper, 58, 58},
	{"jwt", "eyJ", "RFC 7519", dots, 60, 8192},
	{"bearer-token", "Bearer ", "RFC 6750", b64, 20, 8192},
	{"password-in-url", "://", "RFC 3986", nil, 0, 0},
	{"private-key", "-----BEGIN ", "RFC 7468", nil, 0, 0},
}

// match returns where in b, which begins with the prefix, the token begins and ends; false if it is none.
func (s *Shape) match(b []byte) (from, to int, ok bool) {
	if s == keyShape {
		return keyIn(b)
	}
	n := len(s.Prefix)
	for n < len(b) && n < len(s.Prefix)+s.most+1 && s.letters[b[n]] {
		n++
	}
	letters := n - len(s.Prefix)
	if letters > s.most && s.least == s.most || letters < s.least {
		return 0, 0, false
	}
	switch s.Name {
	case "jwt":
		if bytes.Count(b[:n], []byte(".")) < 2 || !bytes.Contains(b[:n], []byte(".eyJ")) {
			return 0, 0, false
		}
	case "bearer-token":
		return len(s.Prefix), n, true
	}
	for n > 0 && (b[n-1] == '.' || b[n-1] == '-') { // the end of a sentence, or a dash after it
		n--
	}
	return 0, n, true
}

// What a letter of an address is to passwordBefore.
const (
	inAddress = iota // of a name or a password
	atColon
	atSign
	afterHost // neither a name nor a password is here
)

var addressLetters = func() (kinds [256]byte) {
	for c := range kinds {
		switch {
		case c == ':':
			kinds[c] = atColon
		case c == '@':
			kinds[c] = atSign
		case c <= ' ' || c == '/' || c == '?' || c == '#' || c == '"' || c == '\'' || c == '<':
			kinds[c] = afterHost
		}
	}
	return kinds
}()

// mostAddress is how far after the beginning of :// the sign may be that ends a password.
const mostAddress = 300

// passwordBefore finds the password of ://user:password@ with its last sign at a place. Addresses without a
// password are much more frequent than that sign, so it is what is looked for.
func passwordBefore(b []byte, at int) (from, to int, ok bool) {
	for i := at - 1; i >= 2 && at-i < mostAddress-2; i-- {
		switch addressLetters[b[i]] {
		case atSign: // the first one ends it
			return 0, 0, false
		case atColon:
			from = i + 1
		case afterHost:
			return from, at, string(b[i-2:i+1]) == addressShape.Prefix && from > 0 && at-from >= leastValue &&
				b[from] != '$' && !bytes.HasPrefix(b[from:], []byte("***")) && len(bytes.Trim(b[from:at], "x")) > 0
		}
	}
	return 0, 0, false
}

// keyIn finds the lines of a private key in PEM form. One whose end has not come is a key up to there.
func keyIn(b []byte) (from, to int, ok bool) {
	from, ok = keyHead(b)
	if !ok {
		return 0, 0, false
	}
	// the line ends may be written as \n, in JSON
	text := b[from:]
	if end := bytes.Index(text[:min(len(text), mostKey)], []byte("-----END ")); end >= 0 {
		text = text[:end]
	} else {
		n := 0
		for n < len(text) && keyText[text[n]] {
			n++
		}
		text = text[:n]
	}
	for again := true; again; {
		again = false
		for _, end := range []string{"\n", "\r", `\n`, `\r`} {
			if bytes.HasPrefix(text, []byte(end)) {
				text, from, again = text[len(end):], from+len(end), true
			}
			if bytes.HasSuffix(text, []byte(end)) {
				text, again = text[:len(text)-len(end)], true
			}
		}
	}
	if len(text) < leastValue {
		return 0, 0, false
	}
	for _, c := range text[:min(len(text), 40)] { // words after the header are no key
		if c == ' ' && !bytes.Contains(text, []byte("Proc-Type")) {
			return 0, 0, false
		}
	}
	return from, from + len(text), true
}

// mostKey is how many bytes the text of a private key has at most.
const mostKey = 16 << 10

// keyText are the letters of the lines of a key, and of their ends.
var keyText = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\\\n\r")

// keyHead returns where the header of a private key ends, with which b begins. The end of its line follows.
func keyHead(b []byte) (end int, ok bool) {
	head := b[:min(len(b), 64)]
	i := bytes.Index(head, []byte("PRIVATE KEY-----"))
	if i < 0 || bytes.IndexByte(head[:i], '\n') >= 0 {
		return 0, false
	}
	end = i + len("PRIVATE KEY-----")
	return end, end < len(b) && (b[end] == '\n' || b[end] == '\r' || b[end] == '\\')
}
