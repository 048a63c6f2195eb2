package mask

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func token(n int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	r := rand.New(rand.NewPCG(uint64(n), 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return string(b)
}

func TestShapes(t *testing.T) {
	t.Parallel()
	if n := len(shapes); n > 50 {
		t.Errorf("there are %d shapes, and no more than 50 are wanted", n)
	}
	for _, c := range []struct{ text, want string }{
		{"key sk-ant-api03-" + token(40) + " is", "key ***(anthropic-key) is"},
		{"sk-proj-" + token(48), "***(openai-key)"},
		{"sk-" + token(48), "***(openai-key)"},
		{"GH=ghp_" + token(36) + ".", "GH=***(github-token)."},
		{"github_pat_" + token(60), "***(github-token)"},
		{"glpat-" + token(20), "***(gitlab-token)"},
		{"AKIA" + strings.ToUpper(token(16)), "***(aws-key)"},
		{"AIza" + token(35), "***(google-key)"},
		{`"xoxb-` + token(40) + `"`, `"***(slack-token)"`},
		{"sk_live_" + token(24), "***(stripe-key)"},
		{"npm_" + token(36), "***(npm-token)"},
		{"hf_" + token(34), "***(huggingface-token)"},
		{"Authorization: Bearer " + token(40), "Authorization: Bearer ***(bearer-token)"},
		{"eyJ" + token(30) + ".eyJ" + token(40) + "." + token(43), "***(jwt)"},
		{
			"git push https://ann:" + token(12) + "@example.org/a.git",
			"git push https://ann:***(password-in-url)@example.org/a.git",
		},
		{"postgres://ann:" + token(12) + "@db/x", "postgres://ann:***(password-in-url)@db/x"},
		{
			"-----BEGIN EC PRIVATE KEY-----\n" + token(64) + "\n-----END EC PRIVATE KEY-----\n",
			"-----BEGIN EC PRIVATE KEY-----\n***(private-key)\n-----END EC PRIVATE KEY-----\n",
		},

		// what is none
		{
			"risk-assessment-of-the-project-that-is-long-enough-for-it",
			"risk-assessment-of-the-project-that-is-long-enough-for-it",
		},
		{"ghp_short and sk-learn and AKIAnot", "ghp_short and sk-learn and AKIAnot"},
		{
			"https://ann@example.org:80/x and http://host:8080/a@b",
			"https://ann@example.org:80/x and http://host:8080/a@b",
		},
		{"postgres://ann:$PASSWORD@db/x", "postgres://ann:$PASSWORD@db/x"},
		{
			"http://localhost:3000?mail=joe@example.org and http://h:80#x@y",
			"http://localhost:3000?mail=joe@example.org and http://h:80#x@y",
		},
		{"postgres://ann:xxxxx@db/x, ann:*****@", "postgres://ann:xxxxx@db/x, ann:*****@"},
		{"xghp_" + token(36), "xghp_" + token(36)},
		{"-----BEGIN PUBLIC KEY-----\n" + token(20) + "\n", "-----BEGIN PUBLIC KEY-----\n" + token(20) + "\n"},
	} {
		m := New()
		got := m.Text(c.text)
		if got != c.want {
			t.Errorf("%q became %q, want %q", c.text, got, c.want)
		}
		if back := m.Reveal(got); back != c.text {
			t.Errorf("%q is revealed as %q", c.text, back)
		}
	}
}

// TestFamilies: two tokens of one kind have placeholders of their own, and each keeps its own.
func TestFamilies(t *testing.T) {
	t.Parallel()
	m := New()
	a, b := "ghp_"+token(36), "ghp_"+token(37)
	text := a + " " + b + " " + a
	got := m.Text(text)
	if want := "***(github-token) ***(github-token:2) ***(github-token)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if m.Reveal(got) != text {
		t.Errorf("revealed as %q", m.Reveal(got))
	}
	held, news := m.Taken()
	if _, again := m.Taken(); !news || again {
		t.Errorf("news = %v, and then %v", news, again)
	}
	next := New()
	next.Restore(held)
	if next.Reveal(got) != text || next.Text(b) != "***(github-token:2)" {
		t.Errorf("after Restore: %q, %q", next.Reveal(got), next.Text(b))
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"hunter22", `p"a\ss<w>&rd é/+`, "line one of it\nline two of it\n", token(200)} {
		m := New()
		if !m.Add("PASS", secret) {
			t.Fatalf("%q is too short", secret)
		}
		quoted, _ := json.Marshal(secret)
		texts := map[string]string{
			"plain": secret, "json": string(quoted), "query": url.QueryEscape(secret), "path": url.PathEscape(secret),
			"hex": hex.EncodeToString([]byte(secret)), "upper hex": strings.ToUpper(hex.EncodeToString([]byte(secret))),
			"python": strings.ReplaceAll(strings.ReplaceAll(url.QueryEscape(secret), "+", "%20"), "%2F", "/"),
		}
		for shift := range 3 {
			before := strings.Repeat("x", shift)
			whole := []byte(before + secret + "tail")
			texts[fmt.Sprint("base64 ", shift)] = base64.StdEncoding.EncodeToString(whole)
			texts[fmt.Sprint("base64url ", shift)] = base64.RawURLEncoding.EncodeToString(whole)
		}
		for name, text := range texts {
			if strings.Contains(secret, "\n") && name == "plain" {
				continue // by lines, below
			}
			got := m.Text("a " + text + " b")
			if !strings.Contains(got, "***(PASS") || len(got) > len("a  b")+60 {
				t.Errorf("%s of %q became %q", name, secret, got)
			}
			if back := m.Reveal(got); back != "a "+text+" b" {
				t.Errorf("%s of %q is revealed as %q", name, secret, back)
			}
		}
	}
	wrapped := New()
	long := token(120)
	wrapped.Add("LONG", long)
	for shift := range 3 {
		b := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + long))
		for _, width := range []int{64, 76} {
			for at := 0; at < len(b); at += width {
				line := b[at:min(at+width, len(b))]
				if got := wrapped.Text(line + "\n"); len(line) > 20 && !strings.Contains(got, "***(LONG") {
					t.Errorf("the line %q of base64 became %q", line, got)
				}
			}
		}
	}
	m := New()
	m.Add("KEY", "line one of it\nline two of it\n")
	for line := range strings.Lines("line one of it\nline two of it\n") {
		if got := m.Text(line); strings.Contains(got, "of it") {
			t.Errorf("the line %q became %q", line, got)
		}
	}
	if m.Add("PIN", "1234") {
		t.Error("a PIN of four digits is masked")
	}
}

// TestNamedPassword: a password in an address has its name, if it has one.
func TestNamedPassword(t *testing.T) {
	t.Parallel()
	m := New()
	m.Add("DB", "secret-of-ours")
	if got, want := m.Text("postgres://ann:secret-of-ours@db/x"), "postgres://ann:***(DB)@db/x"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestForeign: a placeholder that others wrote is no secret of ours.
func TestForeign(t *testing.T) {
	t.Parallel()
	m := New()
	m.Add("TOKEN", "secret-of-ours")
	got := m.Text("send ***(TOKEN), ***(OTHER) and ****")
	if want := "send ***[TOKEN], ***[OTHER] and ****"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if m.Reveal(got) != got {
		t.Errorf("revealed as %q", m.Reveal(got))
	}
}

// TestWordsAboutKeys: a text that speaks of a private key hides nothing of what follows.
func TestWordsAboutKeys(t *testing.T) {
	t.Parallel()
	text := "see -----BEGIN RSA PRIVATE KEY----- in the docs\nVERDICT ok\n\"-----BEGIN PRIVATE KEY-----\"\n" +
		"more of it\n-----BEGIN PRIVATE KEY-----\nthis is only a sample\nand goes on\n"
	for _, size := range []int{1, 7, 1000} {
		s := NewStream(New())
		var out []byte
		for rest := []byte(text); len(rest) > 0; {
			n := min(len(rest), size)
			out = append(out, s.Feed(bytes.Clone(rest[:n]))...)
			rest = rest[n:]
		}
		if out = append(out, s.End()...); string(out) != text {
			t.Errorf("in pieces of %d it became %q", size, out)
		}
	}
	// in JSON
	m := New()
	if got, want := m.Text(`{"key": "-----BEGIN PRIVATE KEY-----\n`+token(64)+
		`\n-----END PRIVATE KEY-----\n", "more": 1}`),
		`{"key": "-----BEGIN PRIVATE KEY-----\n***(private-key)\n-----END PRIVATE KEY-----\n", "more": 1}`; got !=
		want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestManyTokens: more tokens than anything needs take no time, and are masked.
func TestManyTokens(t *testing.T) {
	t.Parallel()
	m := New()
	for i := range 20000 {
		text := fmt.Sprintf("https://ann:password-%d@example.org", i)
		if got := m.Text(text); strings.Contains(got, "password-"+strconv.Itoa(i)) || i < mostHeld &&
			m.Reveal(got) != text {
			t.Fatalf("%q became %q", text, got)
		}
	}
	held, _ := m.Taken()
	if len(held) != mostHeld {
		t.Errorf("%d are held", len(held))
	}
}

// TestStream: however the output is cut into pieces, no secret passes.
func TestStream(t *testing.T) {
	t.Parallel()
	secrets := []string{"ghp_" + token(36), "hunter22-of-mine", "sk-ant-" + token(90)}
	key := "-----BEGIN PRIVATE KEY-----\n" + token(64) + "\n" + token(63) + "\n" + token(20) +
		"\n-----END PRIVATE KEY-----\n"
	text := "first\n" + secrets[0] + "\nand " + secrets[1] + secrets[1] + " in a line\r\n" + key +
		strings.Repeat("long ", 70000) + secrets[2] + " " + strings.Repeat("y", 9000) + "\nlast " + secrets[1]
	r := rand.New(rand.NewPCG(7, 7))
	for _, size := range []int{1, 2, 3, 7, 64, 4096, 65536, 1 << 20} {
		m := New()
		m.Add("MINE", secrets[1])
		s := NewStream(m)
		var out []byte
		for rest := []byte(text); len(rest) > 0; {
			n := min(len(rest), 1+r.IntN(size))
			room := r.IntN(2) * r.IntN(100) // before it, for the end of a line
			out = append(out, s.FeedAfter(append(make([]byte, room), rest[:n]...), room)...)
			rest = rest[n:]
		}
		out = append(out, s.End()...)
		for _, secret := range append(secrets, token(64), token(63), token(20)) {
			if bytes.Contains(out, []byte(secret)) {
				t.Errorf("in pieces of %d: %q passed", size, secret)
			}
		}
		if back := m.Reveal(string(out)); back != text {
			i := 0
			for i < min(len(back), len(text)) && back[i] == text[i] {
				i++
			}
			t.Errorf("in pieces of %d: differs at %d: %q", size, i, text[i:min(len(text), i+40)])
		}
	}
	var s Stream
	if got := s.Feed([]byte("x")); string(got) != "x" {
		t.Errorf("without a masker: %q", got)
	}
}

func BenchmarkMask(b *testing.B) {
	few, some, many := New(), New(), New()
	for i := range 3 {
		some.Add(fmt.Sprint("SECRET_", i), token(30+i))
	}
	for i := range 10 {
		many.Add(fmt.Sprint("SECRET_", i), token(30+i))
	}
	line := "2026-11-27T10:00:00 INFO server: request 17 of 200 took 12 ms; status=200 path=/a/b/c " +
		"user-agent=\"some text\"\n"
	for name, text := range map[string]string{
		"log": line, "words": "the quick brown fox jumps over the lazy dog and so on and so forth\n",
		"urls":  "GET https://example.org/some/path_of_it?x=1 200 -\n",
		"snake": "some_function_name(other_name, third_name_of_it) = max_value_of_all\n", "base64": token(76) + "\n",
		"seq": "1234567\n", "mails": "Author: Ann Example <ann@example.org> and bob@example.org\n",
	} {
		for m, secrets := range map[*Masker]string{few: "shapes alone", some: "3 secrets", many: "10 secrets"} {
			b.Run(name+", "+secrets, func(b *testing.B) {
				piece := []byte(strings.Repeat(text, 64<<10/len(text)+1))[:64<<10]
				buf := append(make([]byte, 4<<10), piece...)
				b.SetBytes(int64(len(piece)))
				s := NewStream(m)
				var begun, ended syscall.Rusage
				_ = syscall.Getrusage(syscall.RUSAGE_SELF, &begun)
				for b.Loop() {
					s.FeedAfter(buf, 4<<10)
				}
				_ = syscall.Getrusage(syscall.RUSAGE_SELF, &ended)
				used := ended.Utime.Nano() + ended.Stime.Nano() - begun.Utime.Nano() - begun.Stime.Nano()
				b.ReportMetric(float64(used)/float64(b.N)/float64(len(piece))*60e6/1e6, "cpu-ms/60MB")
			})
		}
	}
}

// TestEscapedLineEnds: a token after a line end is found in JSON as well.
func TestEscapedLineEnds(t *testing.T) {
	t.Parallel()
	key := "ghp_" + token(36)
	if got, want := New().Text(`{"said": "one\n`+key+`\ttwo"}`),
		`{"said": "one\n***(github-token)\ttwo"}`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	found := map[string]int{}
	New().Count([]byte(key+" "+key+" not_"+key), found)
	if found["github-token"] != 2 || len(found) != 1 {
		t.Errorf("counted %v", found)
	}
}

// each returns a masker for each method that this processor has.
func each() (all []*Masker) {
	for by := range fastest + 1 {
		all = append(all, newMasker(newShaped(by)))
	}
	return all
}

// TestFinders: by each method that this processor has, the same is found as by looking at each place for each text.
func TestFinders(t *testing.T) {
	t.Parallel()
	testFinders(t, each(), 0, 600)
	testFinders(t, each(), 20, 20) // they are not looked for by tables
}

func testFinders(t *testing.T, maskers []*Masker, long, texts int) {
	r := rand.New(rand.NewPCG(3, 9))
	secrets := []string{
		"hunter22", "short-one", token(16), token(17), token(40), token(41), "two words and, more",
		"aaaaaaaaaaaaaaaaaaaaaaaa", "пароль длиннее",
	}
	for i := range long {
		secrets = append(secrets, token(60+i))
	}
	for i, s := range secrets {
		for _, m := range maskers {
			if !m.Add(fmt.Sprint("S", i), s) {
				t.Fatal(s)
			}
		}
	}
	m := maskers[0]
	var parts []string
	for i := range shapes {
		parts = append(parts, shapes[i].Prefix, shapes[i].Prefix+token(64),
			" "+shapes[i].Prefix+strings.ToLower(token(90)))
	}
	for _, text := range slices.Sorted(maps.Keys(m.needles)) {
		parts = append(parts, text, text[1:], text[:len(text)-1])
	}
	parts = append(parts, "***(S1)", "\n", " ", "x", "_", "-----BEGIN PRIVATE KEY-----\n"+token(64)+"\n",
		"some words of a log 12:00:01 id=7 ", strings.Repeat("a", 70), "\xff\xfe")
	bare := map[bool]int{}
	for range texts {
		var text []byte
		for range 1 + r.IntN(12) {
			text = append(text, parts[r.IntN(len(parts))]...)
			text = text[:len(text)-r.IntN(2)*min(len(text), r.IntN(3))]
		}
		want, header := m.findSlowly(text)
		for _, m := range maskers {
			got, gotHeader := m.find(text)
			if fmt.Sprint(got) != fmt.Sprint(want) || header != gotHeader {
				t.Fatalf("method %v: in %q\nfound %v, %v\nwant  %v, %v", m.by, text, got, gotHeader, want, header)
			}
		}
		bare[len(want) == 0]++
	}
	if texts == 600 && (bare[true] < 4 || bare[false] < 200) {
		t.Errorf("texts with nothing to find: %d of %d", bare[true], texts)
	}
}

// TestPasswords: what is found from the sign that ends a password is what is found from the beginning of its address.
func TestPasswords(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 2))
	parts := []string{
		"://", ":", "/", "@", "@", "x", "user", "secret-of-ours", "$PASS", "***", "xxxxxxx", " ", "\"",
		"https://", "https://ann:pass-word@", strings.Repeat("y", 290), strings.Repeat("z", 270),
	}
	found, maskers := 0, each()
	for range 20_000 {
		text := ""
		for range 1 + r.IntN(9) {
			text += parts[r.IntN(len(parts))]
		}
		var want []hit
		for at := range text {
			if !strings.HasPrefix(text[at:], "://") {
				continue
			}
			if from, to, ok := passwordAfter([]byte(text[at:])); ok {
				want = append(want, hit{from: at + from, to: at + to, shape: addressShape})
			}
		}
		found += len(want)
		for _, m := range maskers {
			got, _ := m.find([]byte(text))
			if fmt.Sprint(got) != fmt.Sprint(chosen(want)) {
				t.Fatalf("method %v: in %q\nfound %v\nwant  %v", m.by, text, got, want)
			}
		}
	}
	if found < 1000 {
		t.Errorf("%d passwords were there", found)
	}
}

// passwordAfter is passwordBefore from the other end: of a text that begins with :// .
func passwordAfter(b []byte) (from, to int, ok bool) {
	b = b[:min(len(b), mostAddress)]
	for i := 3; i < len(b); i++ {
		switch kind := addressLetters[b[i]]; {
		case kind == inAddress:
		case kind == afterHost:
			return 0, 0, false
		case kind == atSign:
			return from, i, from > 0 && i-from >= leastValue && b[from] != '$' &&
				!bytes.HasPrefix(b[from:], []byte("***")) && len(bytes.Trim(b[from:i], "x")) > 0
		case from == 0:
			from = i + 1
		}
	}
	return 0, 0, false
}

// findSlowly is find.
func (f *finder) findSlowly(b []byte) (hits []hit, header bool) {
	found := finding{b: b}
	seen := map[*needle]bool{}
	each := func(n *needle) {
		for at := range b {
			if !seen[n] {
				(mark{n, 0}).look(&found, at)
			}
		}
		seen[n] = true
	}
	for _, list := range f.marks {
		for _, m := range list {
			each(m.needle)
		}
	}
	for _, e := range f.long.ends[1:] {
		each(e.needle)
	}
	return chosen(found.hits), found.header
}

// TestBlocks: a secret is found wherever it stands about the end of a block.
func TestBlocks(t *testing.T) {
	t.Parallel()
	maskers := each()
	for i, s := range []string{
		"hunter22", token(16), "e e e e e e e e e e QXZJ" + token(40), "ghp_" + token(36),
		"пароль", "пароль длиннее", "äöüß12",
	} {
		if i > 3 {
			maskers = each()
		}
		for _, m := range maskers {
			if i != 3 {
				m.Add(s, s)
			}
			for before := range 200 {
				for _, after := range []int{0, 1, 30, 31, 100} {
					text := strings.Repeat(".", block-before) + s + strings.Repeat(".", after)
					if hits, _ := m.find([]byte(text)); len(hits) != 1 || hits[0].from != block-before ||
						hits[0].to != block-before+len(s) {
						t.Fatalf("method %v: %s at %d before the end of a block, with %d after it: %v", m.by, s,
							before, after, hits)
					}
				}
			}
		}
	}
}

// TestSeeming: what seems to be a long text at each place hides none.
func TestSeeming(t *testing.T) {
	t.Parallel()
	for _, m := range each() {
		secret := token(30)
		m.Add("KEY", secret)
		part := secret[:20]
		text := strings.Repeat(part+" ", 3000) + secret + strings.Repeat(" "+secret[5:25], 100)
		if got := m.Text(text); strings.Contains(got, secret) || !strings.Contains(got, "***(KEY)") {
			t.Errorf("method %v: it is not masked", m.by)
		}
	}
}

// TestLineEnds: what is whole of a piece ends after its last line end, however far before its end that is.
func TestLineEnds(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 4095, 4096, 4097, 9000} {
		for _, end := range []string{"\n", "\r", "\r\n", "\n\r", "a\rb\n"} {
			text := "x" + end + strings.Repeat("y", size)
			if got := linesEnd([]byte(text)); got != 1+len(end) {
				t.Errorf("%q and %d letters: %d", end, size, got)
			}
		}
		if got := linesEnd(bytes.Repeat([]byte("y"), size)); got != 0 {
			t.Errorf("%d letters: %d", size, got)
		}
	}
}
