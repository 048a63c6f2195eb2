package fsm

import (
	"strings"

	"loops/fsm/value"
)

// gitDiff prints a fingerprint of the work tree: of the commit that is checked out, of what differs from it,
// staged or not, and of files that are new. It goes through the same runner as any action.
func (e *Executor) gitDiff(st *State, cfg *Evaluate) (Result, error) {
	text := gitFingerprint
	if len(cfg.Scope) > 0 {
		quoted := make([]string, len(cfg.Scope))
		for i, p := range cfg.Scope {
			quoted[i] = value.ShellQuote(p)
		}
		text = "set -- " + strings.Join(quoted, " ") + "\n" + text
	}
	return e.run(Action{
		Kind: KindShell, Text: text, State: st.Name, Step: e.mem.Step, Attempt: e.mem.Attempt,
		Outer: e.outer, Dir: e.dir, Timeout: gitTimeout, Quiet: true,
	}, nil)
}

// gitFingerprint is a script whose output changes with the work tree; its arguments are the paths that count,
// none = all. What loops itself records does not count, nor what a log of its own output has, also one that tee
// writes: of files that are new and that a process of its group has open only the names count (on Linux). A
// repository without a commit is compared with the empty tree.
const gitFingerprint = `set -o pipefail
empty=$(git hash-object -t tree /dev/null) && git rev-parse --git-dir >/dev/null || exit
base=$(git rev-parse -q --verify HEAD || echo "$empty")
if [ $# -gt 0 ]; then git diff-tree -r "$empty" "$base" -- "$@" | git hash-object --stdin || exit; else echo "$base"; fi
git diff --no-ext-diff --no-textconv --no-color --full-index --binary "$base" -- "$@" | git hash-object --stdin || exit
git ls-files -z --others --exclude-standard -x '**/.loops/.*/' -x '**/.loops/runs/' -x '**/.loops/logs/' -x '**/.loops/tmp/' -x '**/.loops/memory/' -x .worktrees/ -- "$@" | {
	held=() files=() open=() root=$(pwd -P)
	pg=$(cut -d ' ' -f 5 "/proc/$PPID/stat" 2>/dev/null)
	for p in /proc/[0-9]*; do
		s=; { read -r s <"$p/stat"; } 2>/dev/null || continue
		s=${s##*) } s=${s#* } s=${s#* }
		[ "${s%% *}" != "$pg" ] || open+=("$p/fd")
	done
	[ ${#open[@]} -eq 0 ] || while IFS= read -r -d '' l; do
		case $l in */.loops/*) ;; "$root"/*) held+=("$l") ;; esac
	done < <(find "${open[@]}" -type l -printf '%l\0' 2>/dev/null)
	while IFS= read -r -d '' f; do
		printf '%s\0' "$f"
		for l in ${held[@]+"${held[@]}"}; do [ ! "$f" -ef "$l" ] || continue 2; done
		if [ -L "$f" ]; then readlink -- "$f"; elif [ -f "$f" ] && [ -r "$f" ]; then files+=("$f"); fi
	done
	[ ${#files[@]} -eq 0 ] || printf '%s\0' "${files[@]}" | xargs -0 git hash-object --no-filters -- || : # one was removed just now
} | git hash-object --stdin`
