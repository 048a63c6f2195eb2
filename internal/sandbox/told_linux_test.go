package sandbox

import (
	"os/exec"
	"slices"
	"testing"

	"loops/fsm/confine"
	"loops/internal/testenv"
)

// What the filter of system calls refuses is named, however the command got its namespaces.
func TestRefusedCalls(t *testing.T) {
	t.Parallel()
	if landlockABI() == 0 || !mayAsk() {
		testenv.Skip(t, "a filter that asks")
	}
	for spaces, kind := range kinds() {
		v := newVictim(t)
		b := v.box(t, &confine.Policy{Preset: confine.Offline}, spaces)
		for name, want := range map[string]string{
			"bind mount": "mount()", "trace the runner": "ptrace()", "raw socket": "socket(raw)",
			"packet socket": "socket(packet)", "connect": "network",
			"use keys": "add_key()", "limit the runner": "prlimit()",
		} {
			if said := v.try(t, b, name); said == "" {
				t.Errorf("%s: was not refused", name+kind)
			}
			if got := b.Told(""); !slices.Contains(got, want) {
				t.Errorf("%s: %q are named, want %s", name+kind, got, want)
			}
		}
		end, err := begin(b, exec.Command("true"))
		testenv.Must(t, err)
		end()
		if got := b.Told(""); len(got) > 0 {
			t.Errorf("%s: %q are named of a program that tries nothing", kind, got)
		}
	}
}
