package project

import (
	"os"
	"path/filepath"

	"loops/persistence"
)

// LogOf returns the file with the output of a run in the background, "" if there is none.
func (r *Records) LogOf(run persistence.Run) string {
	if run.Foreign {
		return existing(beside(run, ".log"))
	}
	return existing(r.Project.LogPath(run.ID))
}

// OwnerFrom returns where the process that owns a run is recorded: pid_file and lock_file as little-loops has
// them, or database; "" if none is known.
func (r *Records) OwnerFrom(run persistence.Run) string {
	switch {
	case run.Owner.PID == 0:
		return ""
	case !r.Files:
		return "database"
	case run.Foreign && existing(beside(run, ".pid")) != "":
		return "pid_file"
	}
	return "lock_file"
}

// beside is a file that little-loops has beside the state file of a run.
func beside(run persistence.Run, suffix string) string {
	return filepath.Join(filepath.Dir(run.Log), string(run.ID)+suffix)
}

// existing returns the path of a file that is there, else "".
func existing(path string) string {
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return ""
	}
	return path
}
