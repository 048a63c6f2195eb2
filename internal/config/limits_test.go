package config

import "testing"

// TestLimits: names of files are laid over each other, and what is no number is a mistake with its place.
func TestLimits(t *testing.T) {
	t.Parallel()
	c := &Config{}
	for _, text := range []string{"dispatch: {limits: {api: 2, queue:nightly: 5}}", "dispatch: {limits: {api: 3}}"} {
		if wrong := (layer{file: "f"}).parse([]byte(text), c); wrong != nil {
			t.Fatal(wrong)
		}
	}
	if got, want := limitsText(c.Limits), "api: 3, queue:nightly: 5"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, bad := range []string{"0", "-1", "many", "1.5", "[1]"} {
		if wrong := (layer{file: "f"}).parse([]byte("dispatch: {limits: {api: "+bad+"}}"), &Config{}); len(wrong) !=
			1 || wrong[0].Line != 1 || wrong[0].Col == 0 {
			t.Errorf("%s: %v", bad, wrong)
		}
	}
}
