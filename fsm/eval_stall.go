package fsm

import (
	"crypto/md5" //nolint:gosec // a fingerprint that existing histories show, not a secret
	"encoding/hex"
	"errors"
	"io/fs"
	"strings"

	"loops/fsm/expr"
	"loops/fsm/value"
)

// again compares what is seen now with what was seen last and counts repetitions.
func (r *Repeat) again(seen string) (changed bool) {
	sum := md5.Sum([]byte(seen)) //nolint:gosec // see the import
	hash := hex.EncodeToString(sum[:])
	if r.Seen && r.Hash == hash {
		r.Count++
		return false
	}
	*r = Repeat{Hash: hash, Seen: true}
	return true
}

// judgeDiffStall says no when the work tree stays the same from visit to visit.
func judgeDiffStall(cfg *Evaluate, ev Evidence, memory *Repeat) (Verdict, error) {
	if ev.Diff == nil {
		return errorVerdict("error", "git diff failed: it cannot be run here"), nil
	}
	r, err := ev.Diff()
	switch {
	case err != nil:
		return Verdict{}, err
	case r.TimeoutKind != "" || r.ExitCode == exitTimeout:
		return errorVerdict("error", "git diff timed out"), nil
	case r.ExitCode == 127:
		return errorVerdict("error", "git not found in PATH"), nil
	case r.ExitCode != 0:
		return errorVerdict("error", "git diff failed: "+value.Truncate(value.TrimSpace(r.Stderr), 200)), nil
	}
	changed := memory.again(r.Stdout)
	return yesNo(memory.Count == 0 || memory.Count < cfg.MaxStall,
		"stall_count", int64(memory.Count), "max_stall", int64(cfg.MaxStall), "diff_changed", changed), nil
}

// judgeActionStall says no when the tracked values stay the same from visit to visit.
func judgeActionStall(cfg *Evaluate, ev Evidence, memory *Repeat) (Verdict, error) {
	keys := make([]any, len(cfg.Track))
	pairs := make([]string, len(cfg.Track))
	for i, k := range cfg.Track {
		keys[i] = k
		pairs[i] = k + "=" + tracked(k, ev.Scope)
	}
	changed := memory.again(strings.Join(pairs, "|"))
	yes := memory.Count == 0 || memory.Count < cfg.MaxRepeat
	v := yesNo(yes, "stall_count", int64(memory.Count), "max_repeat", int64(cfg.MaxRepeat),
		"hash_changed", changed, "tracked_keys", keys)
	if !yes {
		v.Details.Set("repeated_hash", memory.Hash)
	}
	return v, nil
}

// tracked is the value of a dotted reference or of a bare key of the first namespace that has it, else "".
func tracked(key string, s *expr.Scope) string {
	if strings.Contains(key, ".") {
		text, err := expr.Expand("${"+key+"}", s)
		if err != nil {
			return ""
		}
		return text
	}
	for _, m := range []*value.Map{s.Context, s.Captured, s.Prev, s.Result} {
		if v, ok := m.Get(key); ok {
			return value.Text(v)
		}
	}
	return ""
}

// judgeScoreStall says no when a score has not improved for a number of rounds.
func judgeScoreStall(cfg *Evaluate, ev Evidence, _ *Repeat) (Verdict, error) {
	return judgeHistory(cfg, ev, ".score_history", 1)
}

// judgeOpenQuestionStall says no when a count of open questions has not fallen for a number of rounds.
func judgeOpenQuestionStall(cfg *Evaluate, ev Evidence, _ *Repeat) (Verdict, error) {
	return judgeHistory(cfg, ev, ".open_questions_history", -1)
}

// judgeHistory walks the numbers of a file. sign is 1 where more is better and -1 where less is.
func judgeHistory(cfg *Evaluate, ev Evidence, name string, sign float64) (Verdict, error) {
	scores, err := readScores(historyFile(cfg, ev, name), ev.Files)
	if err != nil {
		return Verdict{}, err
	}
	var best any
	stall := 0
	if len(scores) > 0 {
		top := scores[0]
		for _, s := range scores[1:] {
			if sign*s > sign*top+cfg.Epsilon {
				stall = 0
			} else {
				stall++
			}
			if sign*s > sign*top { // also a gain too small to count
				top = s
			}
		}
		best = top
	}
	return yesNo(len(scores) < 2 || stall < cfg.MaxStall, "stall_count", int64(stall), "max_stall", int64(cfg.MaxStall),
		"epsilon", cfg.Epsilon, "rounds", int64(len(scores)), "best", best), nil
}

// historyFile expands the name of the file; what cannot be expanded is taken as it is written.
func historyFile(cfg *Evaluate, ev Evidence, name string) string {
	text := cfg.HistoryFile
	if text == "" {
		text = "${context.run_dir}/" + name
	}
	if file, err := expr.Expand(text, ev.Scope); err == nil {
		return file
	}
	return text
}

// readScores reads one number per line and skips every other line. A file that is not there has none.
func readScores(name string, files Files) ([]float64, error) {
	if files == nil {
		return nil, nil
	}
	data, err := files.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var scores []float64
	for _, line := range value.Lines(string(data)) {
		if f, ok := value.ParseFloat(line); ok {
			scores = append(scores, f)
		}
	}
	return scores, nil
}
