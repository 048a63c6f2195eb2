package sandbox

import (
	"slices"
	"testing"

	"loops/fsm/confine"
)

// What deny names comes to the secret places of a preset.
func TestDenyAdds(t *testing.T) {
	t.Parallel()
	r := Resolve([]*confine.Policy{{Preset: confine.Workspace, Deny: []string{"private"}}},
		Place{Dir: "/tree", Env: []string{"HOME=/home/a"}})
	for _, path := range []string{"/tree/private", "/home/a/.ssh", "/etc/shadow"} {
		if !slices.Contains(r.Deny, path) {
			t.Errorf("%s is not denied: %q", path, r.Deny)
		}
	}
}

// A project that has the home of its user, or a denied folder, gets no new files at its top, and the rules say so.
func TestDeniedPlacesInTheTree(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ home, deny, want string }{
		{"/home/a", "/elsewhere", ""},
		{"/tree", "/elsewhere", "no new file can be made in /tree itself, which has the denied /tree/.ssh"},
		{"/tree/a", "/elsewhere", "no new file can be made in /tree itself, which has the denied /tree/a/.ssh"},
		{"/home/a", "private", "no new file can be made in /tree itself, which has the denied /tree/private"},
		{"/home/a", ".", ""},
	} {
		r := Resolve([]*confine.Policy{{Preset: confine.Workspace, Deny: []string{c.deny}}},
			Place{Dir: "/tree", Env: []string{"HOME=" + c.home}})
		if r.Narrow != c.want {
			t.Errorf("%+v: %q", c, r.Narrow)
		}
	}
}

// Of the variables of loops a command gets those that the run sets.
func TestVariablesOfRuns(t *testing.T) {
	t.Parallel()
	env := []string{
		"PATH=/bin", "LOOPS_RUN_ID=a", "LOOPS_CONTEXT_X=b", "LOOPS_SERVE_TOKEN=secret",
		"LOOPS_STORE=postgres://u:p@h/d", "SECRET=1", "TMUX=/tmp/x",
	}
	for preset, want := range map[string][]string{
		confine.Strict: {"PATH=/bin", "LOOPS_RUN_ID=a", "LOOPS_CONTEXT_X=b", "LOOPS_SANDBOX=strict"},
		confine.Workspace: {
			"PATH=/bin", "LOOPS_RUN_ID=a", "LOOPS_CONTEXT_X=b", "LOOPS_STORE=postgres://u:p@h/d",
			"SECRET=1", "LOOPS_SANDBOX=workspace",
		},
	} {
		r := Resolve([]*confine.Policy{{Preset: preset}}, Place{Dir: "/tree", Env: env})
		if got := r.Environment(env); !slices.Equal(got, want) {
			t.Errorf("%s: %q", preset, got)
		}
	}
}
