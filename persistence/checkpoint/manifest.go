package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"
)

const manifestVersion = 1

type manifest struct {
	Version   int      `json:"schema_version"`
	RunDate   string   `json:"run_date"`
	Completed []string `json:"completed"`
}

func (s *Stages) readManifest() (manifest, error) { return readManifest(s.manifest) }

// readManifest reads a manifest, whose names are safe to use. Damage is a *DamageError.
func readManifest(path string) (manifest, error) {
	var m manifest
	b, err := readRegular(path)
	if err != nil {
		return m, err
	}
	damaged := func(what string, args ...any) (manifest, error) {
		return manifest{}, &DamageError{File: path, What: fmt.Sprintf(what, args...)}
	}
	if err := checkJSON(b); err != nil {
		return damaged("%v", err)
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return damaged("it does not have the form of a manifest (%v)", err)
	}
	if m.Version != manifestVersion {
		return damaged("schema_version is %d, not %d", m.Version, manifestVersion)
	}
	if _, err := time.Parse(time.DateOnly, m.RunDate); err != nil {
		return damaged("run_date %q is no day", m.RunDate)
	}
	if m.Completed == nil {
		return damaged("completed is missing")
	}
	for i, name := range m.Completed {
		if CheckStage(name) != nil || slices.Contains(m.Completed[:i], name) {
			return damaged("completed names %q", name)
		}
	}
	return m, nil
}

func (s *Stages) writeManifest(m manifest) error {
	m.Version = manifestVersion
	if m.Completed == nil {
		m.Completed = []string{}
	}
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return s.disk.replace(s.manifest, append(b, '\n'))
}

// mostAside is how many damaged manifests are kept.
const mostAside = 99

// putAside keeps the damaged manifest beside those that are kept already, and returns its path. One that is
// kept already is not kept again. No stage has such a name.
func (s *Stages) putAside() (string, error) {
	text, err := readRegular(s.manifest)
	if err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		to := filepath.Join(s.dir, "manifest.damaged.json")
		if n > 1 {
			to = filepath.Join(s.dir, fmt.Sprintf("manifest.damaged.%d.json", n))
		}
		kept, err := readRegular(to)
		switch {
		case err == nil && bytes.Equal(kept, text):
			return to, nil
		case errors.Is(err, fs.ErrNotExist), n == mostAside:
			return to, s.disk.keep(s.manifest, to)
		}
	}
}
