package loopfile

import (
	"bytes"

	"loops/fsm/pyregexp"
)

// maxValues is how many values a file may hold, roughly. Each costs the parser some 250 bytes.
const maxValues = 2_000_000

// crowded reports whether a file may hold so many values that parsing it would take gigabytes. It counts the
// characters that separate values, except in texts that are written line by line.
func crowded(data []byte) bool {
	const harmless = 1 << 20 // a value takes two bytes
	if len(data) <= harmless {
		return false
	}
	values, block := 0, -1 // the indentation of the key whose text we are in
	for line := range bytes.Lines(data) {
		indent := indentation(line)
		if block >= 0 && (indent > block || len(bytes.TrimSpace(line)) == 0) {
			continue
		}
		block = -1
		if bytes.ContainsAny(line, "|>") { // few lines have one, and the pattern is slow
			if m := blockHeader().FindIndex(line); m != nil && !bytes.Contains(line[:m[0]], []byte("#")) {
				block = indent
			}
		}
		for _, c := range []byte(",::-?[{") { // a colon is between two values
			values += bytes.Count(line, []byte{c})
		}
		if values > maxValues {
			return true
		}
	}
	return false
}

// blockHeader finds the | or > that begins a text of the lines below.
var blockHeader = pyregexp.Lazy(`[:?-](?: +[!&][^ ]*)* +[|>][0-9+-]{0,2}[ \t]*(?:#.*)?\r?\n?$`)

// indentation is that of the key or item that begins in a line, after the dashes of lists.
func indentation(line []byte) int {
	i := 0
	for i < len(line) && (line[i] == ' ' || line[i] == '-' && i+1 < len(line) && line[i+1] == ' ') {
		i++
	}
	return i
}
