package app

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"loops/fsm/glob"
)

// Limits of what is read of a project to find what decides a check.
const (
	mostScripts   = 200
	largestScript = 256 << 10
)

// A decider finds the files of a project that decide what a command does as a check: those of its tools, scripts
// that it runs for their exit code or includes, and the same of these scripts, of targets of make and of scripts of
// package.json. A script whose output goes elsewhere is not one of them: it may be what is checked. Only names of
// files that exist are found.
type decider struct {
	root     string
	tests    []glob.Pattern // of files that are protected anyway
	seen     map[string]bool
	patterns []string
}

var (
	shellParts  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`&&|\|\||[;\n]`) })
	noRedirects = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`[0-9&]*>>?\s*/dev/null|[0-9]*>&[0-9]`)
	})
	// the folder of a script, as scripts write it: $(dirname "$0"), ${0%/*}, $HERE
	ownFolder = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(
			`"?(?:\$\(cd "?\$\(dirname [^()]*\)"?[^()]*\)|\$\(dirname [^()]*\)|\$\{[^{}]*\}|\$[A-Za-z_]\w*)"?/`)
	})
)

// Words before a command that do not change which command it is.
var shellWords = []string{
	"exec", "env", "time", "command", "if", "then", "else", "elif", "do", "while", "until", "!", "builtin",
}

// read finds what decides the commands of a text, which is run in the first of these folders. Names may also be
// relative to the others.
func (d *decider) read(text string, folders []string) {
	cd := folders
	for _, part := range shellParts().Split(text, -1) {
		part = noRedirects().ReplaceAllString(strings.TrimSpace(part), "")
		if strings.HasPrefix(part, "#") {
			continue
		}
		here := ownFolder().ReplaceAllString(part, "./")
		words := strings.Fields(strings.TrimLeft(here, " \t@+-({"))
		for len(words) > 1 && (strings.Contains(words[0], "=") || slices.Contains(shellWords, words[0])) {
			words = words[1:]
		}
		if len(words) == 0 {
			continue
		}
		if words[0] == "cd" && len(words) > 1 {
			cd = append([]string{path.Join(cd[0], unquoted(words[1]))}, cd...)
			continue
		}
		for _, p := range toolFiles[words[0]] {
			if folders[0] != "" && !strings.HasPrefix(p, "**/") {
				p = literal(folders[0]) + "/" + p
			}
			d.patterns = union(d.patterns, []string{p})
		}
		d.tool(words, cd)
		if included := words[0] == "." || words[0] == "source"; !included && strings.ContainsAny(here, "|<>`$[") {
			continue
		}
		if script := scriptOf(words); script != "" {
			d.script(unquoted(script), cd)
		}
	}
}

func unquoted(word string) string { return strings.Trim(word, `"')`) }

// scriptOf returns the file that a command runs or includes; "" = none.
func scriptOf(words []string) string {
	switch {
	case words[0] == "." || words[0] == "source":
		if len(words) < 2 {
			return ""
		}
		return words[1]
	case !slices.Contains(interpreters, words[0]):
		if !strings.Contains(words[0], "/") {
			return ""
		}
		return words[0]
	}
	code := "cemr" // flags that take a text or a module
	if strings.HasSuffix(words[0], "sh") {
		code = "c"
	}
	for _, w := range words[1:] {
		if !strings.HasPrefix(w, "-") {
			return w
		}
		if strings.ContainsAny(w, code) {
			break
		}
	}
	return ""
}

// script protects a script, and reads it if it is one of a shell.
func (d *decider) script(name string, folders []string) {
	for _, folder := range slices.Compact(slices.Clone(folders)) {
		file := path.Join(folder, name)
		data, ok := d.file(file)
		if !ok {
			continue
		}
		if !slices.ContainsFunc(d.tests, func(p glob.Pattern) bool { return p.Covers(file) }) {
			d.patterns = union(d.patterns, []string{literal(file)})
		}
		first, _, _ := strings.Cut(data, "\n")
		if !d.seen[file] && len(d.seen) < mostScripts &&
			(strings.HasSuffix(file, "sh") || strings.HasPrefix(first, "#!") && strings.Contains(first, "sh")) {
			d.seen[file] = true
			d.read(data, append(slices.Clone(folders), path.Dir(file)))
		}
		return
	}
}

// file returns the text of a file of the project.
func (d *decider) file(name string) (string, bool) {
	if !filepath.IsLocal(name) {
		return "", false
	}
	full := filepath.Join(d.root, name)
	info, err := os.Stat(full)
	if err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	if info.Size() > largestScript {
		return "", true
	}
	data, err := os.ReadFile(full)
	return string(data), err == nil
}

// tool reads the targets of make and the scripts of package.json that a command names.
func (d *decider) tool(words, folders []string) {
	folder, names := folders[0], words[1:]
	switch words[0] {
	case "make", "gmake", "$(MAKE)", "${MAKE}":
		if words[0][0] == '$' {
			d.patterns = union(d.patterns, makeFiles)
		}
		for i, w := range names {
			if w == "-C" && i+1 < len(names) {
				folder = path.Join(folder, unquoted(names[i+1]))
			}
		}
		for _, name := range makefileNames {
			if text, ok := d.file(path.Join(folder, name)); ok {
				for _, target := range names {
					d.target(text, target, folder)
				}
				return
			}
		}
	case "npm", "pnpm", "yarn", "bun":
		text, ok := d.file(path.Join(folder, "package.json"))
		if !ok {
			return
		}
		var file struct{ Scripts map[string]string }
		if json.Unmarshal([]byte(text), &file) != nil {
			return
		}
		for _, name := range names {
			if name == "t" {
				name = "test"
			}
			for _, one := range []string{"pre" + name, name, "post" + name} {
				key := folder + " " + words[0] + " " + one
				if script, there := file.Scripts[one]; there && !d.seen[key] && len(d.seen) < mostScripts {
					d.seen[key] = true
					d.read(script, []string{folder})
				}
			}
		}
	}
}

// target reads the rule of a target, and those of what it needs.
func (d *decider) target(makefile, name, folder string) {
	key := folder + " make " + name
	rule, there := makeRule(makefile, name)
	if !there || d.seen[key] || len(d.seen) >= mostScripts {
		return
	}
	d.seen[key] = true
	d.read(rule.recipe, []string{folder})
	for _, need := range rule.needs {
		d.target(makefile, need, folder)
	}
}

// A rule is one of a makefile.
type rule struct {
	needs  []string
	recipe string
}

var makeRules = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^[^\s#:=][^#:=\n]*?[ \t]*::?(?:[ \t]*|[^=:\n][^:=\n]*)\n((?:\t.*\n|[ \t]*\n|#.*\n)*)`)
})

// makeRule returns the rule of a makefile that has a target, which may have others beside it.
func makeRule(text, target string) (found rule, there bool) {
	for _, m := range makeRules().FindAllStringSubmatch(text+"\n", -1) {
		head, _, _ := strings.Cut(m[0], "\n")
		targets, needs, _ := strings.Cut(head, ":")
		if !slices.Contains(strings.Fields(targets), target) {
			continue
		}
		there = true
		needs, inline, _ := strings.Cut(strings.TrimPrefix(needs, ":"), ";")
		found.needs = append(found.needs, strings.Fields(needs)...)
		found.recipe += inline + "\n" + m[1]
	}
	return found, there
}
