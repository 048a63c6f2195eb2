package config

import (
	"strings"
	"testing"
)

func TestAccept(t *testing.T) {
	t.Parallel()
	const key = "ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
	c := &Config{}
	for _, text := range []string{"dispatch: {accept: signed, keys: [" + key + "]}", "dispatch: {keys: " + key + "}"} {
		if wrong := (layer{file: "f"}).parse([]byte(text), c); wrong != nil {
			t.Fatal(wrong)
		}
	}
	if c.Accept.Mode != AcceptSigned || len(c.Accept.Keys) != 1 || c.Accept.Keys[0] != key {
		t.Errorf("%+v", c.Accept)
	}
	for text, want := range map[string]string{
		"dispatch: {accept: any}":              `accept`,
		"dispatch: {keys: [ssh-ed25519 AAAA]}": `"ssh-ed25519 AAAA" in keys: a public key is ed25519: and 44 characters, as loops sign --new-key prints it`,
		"dispatch: {keys: {a: b}}":             "keys",
	} {
		if wrong := (layer{file: "f"}).parse([]byte(text), &Config{}); len(wrong) != 1 ||
			!strings.Contains(wrong[0].String(), want) {
			t.Errorf("%s: %v, want %q", text, wrong, want)
		}
	}
}
