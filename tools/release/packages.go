package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"
)

// completionDirs are where shells look for the completions of packages.
var completionDirs = map[string]string{
	"loops.bash": "/usr/share/bash-completion/completions/loops",
	"loops.zsh":  "/usr/share/zsh/vendor-completions/_loops",
	"loops.fish": "/usr/share/fish/vendor_completions.d/loops.fish",
}

// packages makes a deb and an rpm for each architecture of Linux.
func (r *release) packages(ctx context.Context) error {
	for _, t := range r.targets {
		if t.os != "linux" {
			continue
		}
		config, err := r.packageConfig(t)
		if err != nil {
			return err
		}
		path := filepath.Join(r.work, "nfpm-"+t.arch+".yaml")
		if err := os.WriteFile(path, config, 0o600); err != nil {
			return err
		}
		for _, kind := range []string{"deb", "rpm"} {
			env := []string{"SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.date.Unix(), 10)}
			if _, err := output(ctx, env, r.nfpm, "package", "--config", path, "--packager", kind, "--target",
				r.name("_linux_"+t.arch+"."+kind)); err != nil {
				return fmt.Errorf("%w\n(make release builds %s)", err, r.nfpm)
			}
		}
	}
	return nil
}

// packageConfig returns the configuration for nfpm. Bash is needed by every loop; git by work trees and by agents only.
func (r *release) packageConfig(t target) ([]byte, error) {
	date := r.date.Format("2006-01-02T15:04:05Z")
	contents := []map[string]any{file(r.program(t), "/usr/bin/loops", 0o755, date)}
	add := func(from, to string) { contents = append(contents, file(from, to, 0o644, date)) }
	pages, err := filepath.Glob(filepath.Join(r.work, "man", "*.1.gz"))
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		add(page, "/usr/share/man/man1/"+filepath.Base(page))
	}
	for _, name := range []string{"loops.bash", "loops.fish", "loops.zsh"} {
		add(filepath.Join(r.work, "completions", name), completionDirs[name])
	}
	units, err := filepath.Glob("docs/contrib/systemd/*")
	if err != nil {
		return nil, err
	}
	slices.Sort(units)
	for _, unit := range units {
		add(unit, "/usr/lib/systemd/user/"+filepath.Base(unit))
	}
	add("LICENSE", "/usr/share/doc/loops/copyright")
	return yaml.Marshal(map[string]any{
		"name": "loops", "arch": t.arch, "platform": "linux", "version": r.version, "mtime": date,
		"section": "utils", "priority": "optional", "maintainer": "loops", "homepage": r.url,
		"description": "run state machines written in YAML until they are done\n" +
			"Every step is recorded, so that a run that was killed is resumed where it was.",
		"depends": []string{"bash"}, "recommends": []string{"git"},
		"contents": contents,
	})
}

func file(from, to string, mode os.FileMode, date string) map[string]any {
	if abs, err := filepath.Abs(from); err == nil {
		from = abs
	}
	return map[string]any{
		"src": from, "dst": to,
		"file_info": map[string]any{"mode": int(mode), "owner": "root", "group": "root", "mtime": date},
	}
}

// npmArch and npmOS are the names that npm has for platforms.
var npmArch = map[string]string{"amd64": "x64", "arm64": "arm64"}

// npm makes a package of each program, and one that needs the right of them: npm installs of
// optionalDependencies those that fit the machine, so nothing is downloaded by a script.
func (r *release) npm(context.Context) error {
	optional := map[string]string{}
	for _, t := range r.targets {
		name := npmName + "-" + t.os + "-" + npmArch[t.arch]
		optional[name] = r.version
		manifest := map[string]any{
			"name": name, "version": r.version, "description": "The program loops for " + t.String(),
			"license": license,
			"os":      []string{t.os}, "cpu": []string{npmArch[t.arch]}, "files": []string{"bin"},
		}
		if err := r.npmTarball(name, manifest, member{"package/bin/loops", r.program(t), 0o755}); err != nil {
			return err
		}
	}
	manifest := map[string]any{
		"name": npmName, "version": r.version,
		"description": "Run state machines written in YAML until they are done", "license": license,
		"bin": map[string]string{"loops": "bin/loops.js"}, "files": []string{"bin"},
		"engines":              map[string]string{"node": ">=18"},
		"optionalDependencies": optional,
	}
	return r.npmTarball(npmName, manifest, member{"package/bin/loops.js", "tools/release/npm/loops.js", 0o755})
}

const (
	npmName = "loops-cli"
	license = "MIT"
)

func (r *release) npmTarball(name string, manifest map[string]any, program member) error {
	text, err := jsonText(manifest)
	if err != nil {
		return err
	}
	path := filepath.Join(r.work, name+".json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return err
	}
	return r.tarball(filepath.Join(r.out, name+"-"+r.version+".tgz"), []member{
		program, {"package/package.json", path, 0o644}, {"package/LICENSE", "LICENSE", 0o644},
	})
}
