// Package segment holds the files that the journal of a run is made of: how their lines are framed, which of
// them can be believed, how they are read forward and backward, and how a full file becomes a part before the
// newest one. What the memory in a line means, and who may write when, is the store's.
//
// # Lines
//
// A journal is text, an event a line. A batch is appended with one write. The last line of a batch that carries
// the machine's memory has one more key at its end: memory (a patch, see package snapshot) or memory_full (the
// whole flat object). So the memory of a run is always the memory at some line, whatever byte the file ends at,
// and what is after the last line end is no line. Each line ends with a checksum of itself: without one, a
// flipped bit in a text would be believed. The lines of little-loops have neither checksum nor number; they may
// be before those of this program, never after them.
//
// # Parts
//
// A journal that grows beyond a size is cut into parts, so that a loop without end makes no file that is too large to
// open. The newest part always has the same name; the full ones before it lie in a folder beside it: 000001.jsonl,
// 000002.jsonl … and index.jsonl, a line for each of them. Every part begins with a whole memory, and every byte has
// one name at every moment. The names of the parts are the truth: what the index says is only believed of a file that
// has the recorded size, and what it does not say is found in the files.
//
// # Which process may call what
//
// Reading changes nothing and needs no lock: a file that moves while it is read is found again, or is
// fs.ErrNotExist. [Part.Retire], [Part.Enter] and [RepairIndex] are for the owner of the run alone. Nothing
// here is made durable; the owner does that.
package segment
