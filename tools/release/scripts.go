package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"
)

// scripts writes what is read before anything is installed: the cask of Homebrew, install.sh, and latest.json, which
// `loops upgrade --check` reads.
func (r *release) scripts(context.Context) error {
	if err := r.cask(); err != nil {
		return err
	}
	text, err := os.ReadFile("tools/release/install.sh")
	if err != nil {
		return err
	}
	told := strings.Replace(string(text), "@URL@", r.url, 1)
	if err := os.WriteFile(filepath.Join(r.out, "install.sh"), []byte(told), 0o755); err != nil { //nolint:gosec // a program
		return err
	}
	latest, err := jsonText(map[string]any{
		"version": r.version, "commit": r.commit,
		"date": r.date.Format(time.RFC3339), "url": r.url,
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "latest.json"), latest, 0o644) //nolint:gosec // of a release
}

func jsonText(v any) ([]byte, error) {
	text, err := json.MarshalIndent(v, "", "  ")
	return append(text, '\n'), err
}

// cask writes the cask of Homebrew for the platforms that were built.
func (r *release) cask() error {
	archs := map[string][]map[string]string{}
	for _, t := range r.targets {
		sum, _, err := sumOf(r.archive(t))
		if err != nil {
			return err
		}
		archs[t.os] = append(archs[t.os], map[string]string{"arch": t.arch, "sum": sum})
	}
	pages, err := filepath.Glob(filepath.Join(r.work, "man", "*.1.gz"))
	if err != nil {
		return err
	}
	var names []string
	for _, p := range pages {
		names = append(names, filepath.Base(p))
	}
	var b strings.Builder
	if err := caskText.Execute(&b, map[string]any{
		"Version": r.version, "URL": r.url, "Archs": archs,
		"Pages": names,
	}); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "loops.rb"), []byte(b.String()), 0o644) //nolint:gosec // of a release
}

var caskText = template.Must(template.New("cask").Funcs(template.FuncMap{
	"brewOS":   func(os string) string { return map[string]string{"darwin": "macos", "linux": "linux"}[os] },
	"brewArch": func(arch string) string { return map[string]string{"amd64": "intel", "arm64": "arm"}[arch] },
	"quote":    func(s string) string { return fmt.Sprintf("%q", s) },
}).Parse(`cask "loops" do
  version {{quote .Version}}
{{range $os, $archs := .Archs}}
  on_{{brewOS $os}} do
{{range $archs}}    on_{{brewArch .arch}} do
      url {{printf "%s/loops_#{version}_%s_%s.tar.gz" $.URL $os .arch | printf "\"%s\""}}
      sha256 {{quote .sum}}
    end
{{end}}  end
{{end}}
  name "loops"
  desc "Runs state machines written in YAML until they are done"
  homepage {{quote .URL}}

  binary "loops"
{{range .Pages}}  manpage "man/{{.}}"
{{end}}  bash_completion "completions/loops.bash"
  zsh_completion "completions/loops.zsh"
  fish_completion "completions/loops.fish"
end
`))
