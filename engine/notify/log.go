package notify

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"loops/fsm"
	"loops/internal/disk"
)

// mostLog is how long the log of notifications gets, in bytes, before it is moved aside.
const mostLog = 1 << 20

// log adds a line for each result to .loops/logs/notify.log.
func (n *Notifier) log(results []Result) error {
	if len(results) == 0 {
		return nil
	}
	if now, err := os.Stat(n.p.Loops); n.loops != nil && (err != nil || !os.SameFile(now, n.loops)) {
		return fmt.Errorf("%s was moved", n.p.Loops)
	}
	path := filepath.Join(n.p.LogsDir(), "notify.log")
	if err := disk.MakeFolder(n.p.Loops, n.p.LogsDir()); err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil && info.Size() > mostLog {
		// another process was faster
		if err := os.Rename(path, path+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	f, err := disk.Open(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return err
	}
	var lines []byte
	for _, r := range results {
		line, _ := json.Marshal(map[string]any{ // texts and numbers always can be
			"ts": fsm.FormatTime(time.Now()), "event": r.Event.Kind, "run": r.Event.Run, "target": r.Target,
			"delivery":  r.Event.Delivery,
			"delivered": r.Err == nil, "attempts": r.Attempts, "duration_ms": r.Took.Milliseconds(),
			"error": ErrorText(r.Err),
		})
		lines = append(append(lines, line...), '\n')
	}
	_, err = f.Write(lines)
	return errors.Join(err, f.Close())
}

// ErrorText is an error as JSON has it: its text, null for none.
func ErrorText(err error) any {
	if err == nil {
		return nil
	}
	return err.Error()
}
