package cli

import (
	"io"
	"os"
	"path/filepath"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/disk"
)

// readGiven reads a file that a flag names; "-" is standard input. It is at most limit bytes long.
func (a *program) readGiven(flag, name string, limit int64) (string, error) {
	from := a.In
	if name != "-" {
		if info, err := os.Stat(a.at(name)); err == nil && info.IsDir() {
			return "", failure(engine.Usage, "--%s %s: is a folder, and not a file", flag, name)
		}
		f, err := os.Open(a.at(name))
		if err != nil {
			return "", failure(engine.Usage, "--%s %s: %v", flag, name, project.Cause(err))
		}
		defer func() { _ = f.Close() }()
		from = f
	}
	data, err := io.ReadAll(io.LimitReader(from, limit+1))
	if err != nil {
		return "", failure(engine.Usage, "--%s %s: %v", flag, name, project.Cause(err))
	}
	if int64(len(data)) > limit {
		return "", failure(engine.Usage, "--%s %s: it is longer than %d KiB, the most that can be checked", flag,
			name, limit>>10)
	}
	return string(data), nil
}

// writeFile writes to a file, which is there whole or not at all, or to standard output if file is "" or "-".
func (a *program) writeFile(p *project.Project, file string, write func(io.Writer) error) error {
	if file == "" || file == "-" {
		return write(a.out)
	}
	path := file
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.Cwd, path)
	}
	if err := disk.WriteWhole(path, write); err != nil {
		return failure(engine.Failed, "%s cannot be written: %v", file, project.Cause(err))
	}
	return nil
}
