package main

import (
	"context"
	"debug/buildinfo"
	"encoding/json"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// bill writes the modules that the programs were built from, as CycloneDX 1.6. It is read out of the programs,
// so it names what is in them and not what go.mod allows.
func (r *release) bill(context.Context) error {
	modules := map[string]component{}
	for _, t := range r.targets {
		info, err := buildinfo.ReadFile(r.program(t))
		if err != nil {
			return err
		}
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			purl := "pkg:golang/" + m.Path + "@" + m.Version
			modules[purl] = component{Type: "library", Ref: purl, Name: m.Path, Version: m.Version, Purl: purl}
		}
	}
	goVersion := strings.TrimPrefix(runtime.Version(), "go")
	std := "pkg:golang/std@" + goVersion
	modules[std] = component{Type: "library", Ref: std, Name: "std", Version: goVersion, Purl: std}
	refs := slices.Sorted(maps.Keys(modules))
	components := make([]component, 0, len(refs))
	for _, ref := range refs {
		components = append(components, modules[ref])
	}
	self := component{
		Type: "application", Ref: "loops", Name: "loops", Version: r.version,
		Purl: "pkg:golang/loops@" + r.version,
	}
	text, err := json.MarshalIndent(bom{
		Format: "CycloneDX", Spec: "1.6", Version: 1,
		Metadata:     metadata{Timestamp: r.date.Format(time.RFC3339), Component: self},
		Components:   components,
		Dependencies: []dependency{{Ref: self.Ref, On: refs}},
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(r.name("_sbom.cdx.json"), append(text, '\n'), 0o644) //nolint:gosec // of a release
}

// The part of CycloneDX that is used: https://cyclonedx.org/docs/1.6/json/.
type (
	bom struct {
		Format       string       `json:"bomFormat"`
		Spec         string       `json:"specVersion"`
		Version      int          `json:"version"`
		Metadata     metadata     `json:"metadata"`
		Components   []component  `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}
	metadata struct {
		Timestamp string    `json:"timestamp"`
		Component component `json:"component"`
	}
	component struct {
		Type    string `json:"type"`
		Ref     string `json:"bom-ref"`
		Name    string `json:"name"`
		Version string `json:"version"`
		Purl    string `json:"purl"`
	}
	dependency struct {
		Ref string   `json:"ref"`
		On  []string `json:"dependsOn"`
	}
)
