package config

import (
	"strings"
	"testing"
)

// TestWebhooksThatAreWrong: each mistake is named with its place, and so is what to write.
func TestWebhooksThatAreWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"webhooks: [a]", "webhooks"},
		{"webhooks: {a: 1}", `webhook "a" must be a map`},
		{"webhooks: {a: {run: fix}}", `webhook "a": secret_env is missing`},
		{"webhooks: {a: {secret_env: 'my key', run: fix}}", "secret_env is the name of an environment variable"},
		{"webhooks: {a: {secret_env: S, secret_file: s, run: fix}}", "secret_env and secret_file: give one of them"},
		{"webhooks: {a: {secret_file: '', run: fix}}", "secret_file is empty"},
		{"webhooks: {a: {secret_file: ~x/key, run: fix}}", "secret_file: only ~/ is known"},
		{"webhooks: {a: {secret_env: S}}", "it does one of these: run: LOOP, signal: EVENT, answer: JQ"},
		{"webhooks: {a: {secret_env: S, run: fix, signal: x, to: fix}}", "it does one of these"},
		{"webhooks: {a: {secret_env: S, signal: x}}", "to is missing"},
		{"webhooks: {a: {secret_env: S, run: fix, to: fix}}", "to is for signal and answer"},
		{"webhooks: {a: {secret_env: S, signal: x, to: fix, context: {k: .v}}}", "input and context are for run"},
		{"webhooks: {a: {secret_env: S, answer: .c, to: fix, data: .v}}", "data is for signal"},
		{"webhooks: {a: {secret_env: S, run: fix, form: gitlab}}", "gitlab"},
		{"webhooks: {a/b: {secret_env: S, run: fix}}", "is not a name"},
		{"webhooks: {a: {secret_env: S, run: fix, secret: x}}", "secret"},
		{"webhooks: {a: {secret_env: S, run: ''}}", "run is empty"},
		{"webhooks: {a: {secret_env: S, run: fix, context: {k: .v}, events: [push]}}", ""},
	} {
		got := ""
		conf := &Config{}
		if wrong := (layer{file: "f"}).parse([]byte(c.text), conf); wrong != nil {
			got = wrong.Error()
		}
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) ||
			got != "" && !strings.Contains(got, "f:1:") {
			t.Errorf("%s: %q, want %q", c.text, got, c.want)
		}
		if c.want == "" &&
			(len(conf.Webhooks) != 1 || conf.Webhooks[0].Form != WebhookGitHub ||
				conf.Webhooks[0].Context[0] != [2]string{"k", ".v"}) {
			t.Errorf("%s: %+v", c.text, conf.Webhooks)
		}
	}
	if wrong := (layer{file: "f", user: true}).parse([]byte("webhooks: {a: {secret_env: S, run: fix}}"),
		&Config{}); wrong == nil || !strings.Contains(wrong.Error(), "write them into .loops/config.yaml") {
		t.Errorf("of a user: %v", wrong)
	}
}
