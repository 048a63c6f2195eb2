package dirstore

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loops/fsm"
	"loops/fsm/value"
	"loops/persistence"
)

// What a loss of power leaves of definition.loop, and what people do to it: the journal has the text all the
// same, and a resume writes it again.
func TestDefinitionFileLost(t *testing.T) {
	t.Parallel()
	short := "name: fix\n# é \x00 \n"
	long := short + strings.Repeat("# long\n", 20000) // a text of its own in the folder blobs
	for what, spoil := range map[string]func(path string) error{
		"emptied": func(path string) error { return os.Truncate(path, 0) },
		"cut":     func(path string) error { return os.Truncate(path, 5) },
		"gone":    os.Remove,
		"edited":  func(path string) error { return os.WriteFile(path, []byte("name: other\n"), 0o644) },
	} {
		for _, text := range []string{short, long} {
			for _, where := range []string{"running", "in parts", "archived"} {
				t.Run(fmt.Sprintf("%s/%s/%d bytes", what, where, len(text)), func(t *testing.T) {
					d := open(t)
					if where == "in parts" {
						d.PartSize = 900
					}
					j, err := d.Create(t.Context(),
						persistence.Spec{Loop: "fix", StartedAt: at, Definition: []byte(text)})
					must(t, err)
					for i := 1; i <= 12; i++ {
						must(t, j.Record(t.Context(), step(i)))
					}
					if where == "archived" {
						must(t, j.Record(t.Context(), end(13, fsm.EndInterrupted)))
						must(t, j.Close(t.Context()))
					} else {
						j.(*journal).die()
					}
					file := filepath.Join(j.Dir(), "definition.loop")
					must(t, spoil(file)) // which is the one in the archive, too, or is gone there
					_ = os.Remove(filepath.Join(d.history, j.Run().RunID+"-fix", "definition.loop"))
					id := j.Run().ID
					wantDefinition(t, d, id, text)

					j, _, err = d.Resume(t.Context(), id, persistence.Spec{Loop: "fix"})
					must(t, err)
					wantDefinition(t, d, id, text)
					files, err := readDefinitions(j.Dir())
					must(t, err)
					if last := files[len(files)-1]; string(last) != text {
						t.Errorf("the last of %d files holds %.40q", len(files), last)
					}
					must(t, j.Record(t.Context(), step(14)))
					j.(*journal).die()
					for n := range files {
						must(t, os.Remove(definitionFile(j.Dir(), n+1, definitionSuffix)))
					}
					wantDefinition(t, d, id, text) // of the second segment
				})
			}
		}
	}
}

func wantDefinition(t *testing.T, d *Store, id persistence.ID, want string) {
	t.Helper()
	if got, err := d.Definition(t.Context(), id); err != nil || string(got) != want {
		t.Fatalf("the definition is %.40q, %v", got, err)
	}
}

// The text is durable with the first record: it costs no sync of its own, and no state file holds it.
func TestDefinitionTravels(t *testing.T) {
	t.Parallel()
	d := open(t)
	var synced []string
	d.synced = func(path string) error {
		synced = append(synced, filepath.Base(path))
		return nil
	}
	spec := persistence.Spec{Loop: "fix", StartedAt: at, Definition: []byte("name: fix\n")}
	record := func(spec persistence.Spec) []string {
		synced = nil
		j, err := d.Create(t.Context(), spec)
		must(t, err)
		defer j.(*journal).die()
		must(t, j.Record(t.Context(), step(1)))
		names := slices.Clone(synced)
		for i := range names {
			names[i] = strings.TrimPrefix(names[i], string(j.Run().ID))
		}
		state, err := os.ReadFile(j.(*journal).files.state)
		must(t, err)
		if bytes.Contains(state, []byte(definitionText)) {
			t.Errorf("the state file holds the text: %s", state)
		}
		if spec.Definition != nil {
			must(t, j.Redefine(t.Context(), []byte("name: fix\n# more\n")))
			must(t, j.Record(t.Context(), step(2)))
			must(t, os.Remove(definitionFile(j.Dir(), 2, definitionSuffix)))
			wantDefinition(t, d, j.Run().ID, "name: fix\n# more\n")
			for e, err := range d.Events(context.Background(), j.Run().ID, 0) {
				if must(t, err); bytes.Contains(e.AppendJSON(nil), []byte(definitionText)) {
					t.Errorf("an event shows it: %s", e.AppendJSON(nil))
				}
			}
		}
		return names
	}
	record(spec) // makes the folders
	with := record(spec)
	spec.Definition = nil
	if without := record(spec); !slices.Equal(with, without) {
		t.Errorf("made durable: %q, without a definition %q", with, without)
	}
}

// A run of an earlier version has its definition only in the file.
func TestDefinitionOfEarlierVersions(t *testing.T) {
	t.Parallel()
	d := open(t)
	j := begin(t, d, step(1))
	j.die()
	must(t, os.Remove(definitionFile(j.Dir(), 1, definitionSuffix)))
	must(t, os.WriteFile(definitionFile(j.Dir(), 1, oldDefinitionSuffix), []byte("name: fix\n# old\n"), 0o644))
	flat := value.NewMap("definition", value.NewMap("file", "fix.yaml", "sha256", "abc"))
	if text, inFile := d.livePlace(j.id).definition(flat); !inFile || string(text) != "name: fix\n# old\n" {
		t.Errorf("%q, %v", text, inFile)
	}
}
