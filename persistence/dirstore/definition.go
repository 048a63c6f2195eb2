package dirstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"loops/fsm/value"
	"loops/internal/disk"
	"loops/persistence"
	"loops/persistence/dirstore/segment"
	"loops/persistence/snapshot"
)

// The definition of a run travels in its journal: every whole memory there has the text, so that it is durable with the
// first record, without a sync of its own. The files definition.loop, definition.2.loop … are views of it for people.
// They are not synced, and are believed only where they hold what was recorded. Their suffix is not .yaml, because
// little-loops takes every *.yaml below .loops for a loop of the project; earlier versions wrote definition.yaml.

// definitionText is the key of the text in a whole memory of the journal. No state file has it.
const definitionText = "definition_text"

// A definition is what a run is made of.
type definition struct {
	text string // "" = only the checksum is known
	sha  string // SHA-256 of the text in hexadecimal digits; "" = no text was recorded
}

func newDefinition(text []byte) definition { return definition{string(text), sumText(text)} }

func sumText(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// define sets the text that the run is made of from now on. The next memory in the journal is a whole one if
// that is another.
func (j *journal) define(text []byte) {
	if text == nil {
		return
	}
	def := newDefinition(text)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.anew = j.anew || def != j.rec.def
	j.rec.def = def
}

// The suffixes of the files of definitions.
const (
	definitionSuffix    = ".loop"
	oldDefinitionSuffix = ".yaml" // of earlier versions
)

// definitionFile is the path of the nth file of a definition in a folder; they are counted from 1.
func definitionFile(dir string, n int, suffix string) string {
	if n == 1 {
		return filepath.Join(dir, "definition"+suffix)
	}
	return filepath.Join(dir, fmt.Sprintf("definition.%d", n)+suffix)
}

// readDefinition reads the nth file of a definition in a folder, whichever version wrote it.
func readDefinition(dir string, n int) ([]byte, error) {
	text, err := disk.Read(definitionFile(dir, n, definitionSuffix))
	if errors.Is(err, fs.ErrNotExist) {
		return disk.Read(definitionFile(dir, n, oldDefinitionSuffix))
	}
	return text, err
}

// readDefinitions returns the files of a definition in a folder, the first one first.
func readDefinitions(dir string) (texts [][]byte, err error) {
	for n := 1; ; n++ {
		text, err := readDefinition(dir, n)
		if errors.Is(err, fs.ErrNotExist) {
			return texts, nil
		}
		if err != nil {
			return texts, err
		}
		texts = append(texts, text)
	}
}

// keepDefinition keeps the text a run continues with, behind those it had before. An empty file is one that a
// loss of power left, and is written again.
func keepDefinition(work string, text []byte) error {
	if text == nil {
		return nil
	}
	texts, err := readDefinitions(work)
	if err != nil {
		return err
	}
	n := len(texts)
	if n > 0 && slices.Equal(texts[n-1], text) {
		return nil
	}
	if n > 0 && len(texts[n-1]) == 0 {
		n--
	}
	return disk.Write(definitionFile(work, n+1, definitionSuffix), text)
}

// restoreDefinition writes what was recorded of a definition to the working folder again, where a loss of power
// took it.
func (p place) restoreDefinition(l *loaded) error {
	work := p.workOf(l.flat)
	text, inFile := p.definition(l.flat)
	if inFile || text == nil || !disk.Exists(work) {
		return nil
	}
	return keepDefinition(work, text)
}

// Definition implements [Definer]: it is the last text that was recorded of what the run is made of. Of runs of earlier
// versions, which recorded only a file, it is the last file.
func (d *Store) Definition(_ context.Context, id persistence.ID) (text []byte, err error) {
	p, err := d.findListed(id)
	if err != nil {
		return nil, err
	}
	l, err := p.glance(true, nil)
	if l == nil || l.flat == nil {
		return nil, err
	}
	text, _ = p.definition(l.flat)
	return text, nil
}

// definition returns the text that a run is made of, nil where it is not known, and whether a file holds it.
func (p place) definition(flat *value.Map) (text []byte, inFile bool) {
	want := recordedSum(flat)
	work := p.workOf(flat)
	for _, dir := range []string{work, filepath.Dir(p.state)} { // the second is the archive, if it is there
		texts, _ := readDefinitions(dir)
		if want == "" && len(texts) > 0 {
			return texts[len(texts)-1], true
		}
		for _, text := range slices.Backward(texts) {
			if want != "" && sumText(text) == want {
				return text, true
			}
		}
	}
	if want == "" {
		return nil, false
	}
	return p.definitionInJournal(filepath.Join(work, "blobs"), want), false
}

// recordedSum is the checksum of the definition's text in a flat object, "" where none was recorded.
func recordedSum(flat *value.Map) string {
	v, _ := flat.Get("definition")
	r := &record{}
	if v == nil || takeDefinition(r, v) != nil {
		return ""
	}
	return r.def.sha
}

// definitionInJournal looks for a text in the newest part of the journal, which begins with a whole memory, and then in
// those before it. What cannot be read is as if it were not there: nil.
func (p place) definitionInJournal(blobDir, sha string) []byte {
	log, err := segment.OpenLog(p.events, p.parts)
	if err != nil {
		return nil
	}
	defer log.Close()
	b := &blobs{dir: blobDir}
	if text := findDefinition(log.Newest, b, sha); text != nil {
		return text
	}
	for _, part := range slices.Backward(log.Parts) {
		f, err := disk.Open(part.Path, os.O_RDONLY)
		if err != nil {
			continue
		}
		text := findDefinition(f, b, sha)
		f.Close()
		if text != nil {
			return text
		}
	}
	return nil
}

// findDefinition looks for a text in one file of a journal.
func findDefinition(f *os.File, b *blobs, sha string) []byte {
	if f == nil {
		return nil
	}
	if _, err := f.Seek(0, 0); err != nil {
		return nil
	}
	s := segment.NewScanner(f, segment.Position{AnyNext: true})
	for {
		e, err := s.Next()
		if err != nil {
			return nil
		}
		if e.Bad != "" || !e.Full {
			continue
		}
		flat, err := snapshot.Parse(e.Memory)
		if err != nil {
			continue
		}
		v, _ := flat.Get(definitionText)
		if v, err = b.fill(v); err != nil {
			continue
		}
		if text, ok := v.(string); ok && sumText([]byte(text)) == sha {
			return []byte(text)
		}
	}
}

// parseWhole reads a whole memory of the journal, without the text of the definition: what reads memories does
// not need it.
func parseWhole(b []byte) (*value.Map, error) {
	flat, err := snapshot.Parse(b)
	if err == nil {
		flat.Delete(definitionText)
	}
	return flat, err
}

// Redefine implements [Redefiner].
func (j *journal) Redefine(_ context.Context, definition []byte) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	if j.failed == nil {
		if err := keepDefinition(j.work, definition); err != nil {
			j.failed = fmt.Errorf("the definition of the run could not be recorded, so it stops: %w", err)
			return j.failed
		}
		j.define(definition)
	}
	return j.failed
}
