package config

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The page of settings has an example that sets every key, a table of all with their defaults, and all that is
// known of.
func TestPage(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(page, -1)
	if len(blocks) != 1 {
		t.Fatalf("%d examples", len(blocks))
	}
	c := &Config{}
	if wrong := (layer{file: "example", dir: "/p", home: "/h"}).parse([]byte(blocks[0][1]), c); wrong != nil {
		t.Error(wrong)
	}
	if len(c.Notify) != 3 || len(c.Hosts) != 1 {
		t.Errorf("the example has %d notify and %d hosts", len(c.Notify), len(c.Hosts))
	}
	if len(c.Secrets) != 3 {
		t.Errorf("the example has the secrets %v", c.Secrets)
	}
	rows := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_.]+)` \\| .* \\| ([^|]*) \\|$").FindAllStringSubmatch(page,
		-1) {
		rows[m[1]] = strings.Trim(m[2], "`")
	}
	for _, k := range Keys() {
		if k.Form != FormNotify && k.Form != FormEvents && k.Form != FormHosts && k.Form != FormTypes &&
			k.Form != FormWebhooks && k.Form != FormSecrets && c.At[k.Name].Line == 0 {
			t.Errorf("the example lacks %s", k.Name)
		}
		want := k.Default
		if want == "" {
			want = none
		}
		if got, ok := rows[k.Name]; !ok || got != want {
			t.Errorf("the table says of %s: %q, want %q", k.Name, got, want)
		}
	}
	for _, n := range NotifyNames() {
		if !strings.Contains(page, "`"+n+"`") {
			t.Errorf("the page lacks the event %s", n)
		}
	}
	for _, key := range []string{"on", "loops", "secret_env", "timeout", "retries"} {
		if _, ok := rows[key]; !ok {
			t.Errorf("the page lacks %s of notify", key)
		}
	}
}
