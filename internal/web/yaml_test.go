package web

import (
	"html"
	"regexp"
	"testing"
)

// TestHighlighted: keys, texts, numbers and comments of a loop have classes, blocks of text have none, and no
// text is lost or becomes HTML.
func TestHighlighted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"name: fix # a loop\n", `<K>name</K>: fix<C> # a loop</C>`},
		{"max_steps: 40\n", `<K>max_steps</K>:<N> 40</N>`},
		{
			"  check: {action: \"a # b\", next: done}\n",
			`  <K>check</K>: {<K>action: </K><S>"a # b"</S>, <K>next: </K>done}`,
		},
		{
			"action: |\n  echo a: b # c\n\n  true\nnext: x\n",
			"<K>action</K>: |\n  echo a: b # c\n\n  true\n<K>next</K>: x",
		},
		{"- 'it''s'\n", `- <S>'it''s'</S>`},
		{"  - when: a > 1\n", `  - <K>when</K>: a > 1`},
		{"action: echo http://x:80 <b>\n", `<K>action</K>: echo http://x:80 <b>`},
	} {
		got := string(highlighted(c.text))
		got = regexp.MustCompile(`<span class="y-(.)">([^<]*)</span>`).ReplaceAllStringFunc(got, func(s string) string {
			m := regexp.MustCompile(`<span class="y-(.)">([^<]*)</span>`).FindStringSubmatch(s)
			class := map[string]string{"k": "K", "s": "S", "n": "N", "c": "C"}[m[1]]
			return "<" + class + ">" + m[2] + "</" + class + ">"
		})
		if got = html.UnescapeString(got); got != c.want {
			t.Errorf("%q is %q, want %q", c.text, got, c.want)
		}
	}
	if got := string(highlighted("a: <script>\n")); got != `<span class="y-k">a</span>: &lt;script&gt;` {
		t.Errorf("HTML in a loop is %s", got)
	}
}
