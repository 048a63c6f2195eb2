package fsm

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// An itemEnd is what is known of how an item ended.
type itemEnd byte

const (
	itemOpen        itemEnd = 0   // it has not begun
	itemBegun       itemEnd = 'b' // it has not ended; that of an earlier process was cut short
	itemYes         itemEnd = 'y'
	itemNo          itemEnd = 'n'
	itemError       itemEnd = 'e'
	itemInterrupted itemEnd = 'i'
)

func endOf(verdict string) itemEnd {
	switch verdict {
	case "yes":
		return itemYes
	case "no":
		return itemNo
	case ItemInterrupted:
		return itemInterrupted
	}
	return itemError
}

// over reports whether the item has ended.
func (x itemEnd) over() bool { return x != itemOpen && x != itemBegun }

// endsEvery is how many items end before the memory takes them in, where the configuration does not say.
const endsEvery = 250

// endsLatest is after how long the memory takes in what has ended, however few these are: what a run of slow
// items took is to count although its process dies.
const endsLatest = time.Second

// endsChunk is how many items one entry of the ends on record covers. A change rewrites its entry only.
const endsChunk = 1000

const openOnRecord = '-'

// remember has the memory take in which items have ended.
func (r *round) remember() {
	m := r.e.mem
	items := *m.Items // what was recorded is not changed
	items.Ends, items.Starts, items.Through = encodeEnds(m.Step, r.ends), encodeStarts(m.Step, r.starts),
		r.e.machine.numbered()
	m.Items, r.fresh, r.kept = &items, 0, r.e.now()
	r.window.close()
}

// started returns how often an item was started; of one that has ended, 1.
func (r *round) started(i int) int {
	if n, ok := r.starts[i]; ok {
		return n
	}
	return startsOf(r.ends[i])
}

// startsOf returns how often an item was started where nothing else is on record.
func startsOf(end itemEnd) int {
	if end == itemOpen {
		return 0
	}
	return 1
}

// start notes the nth start of an item.
func (r *round) start(i, n int) { r.unended(i, itemBegun, n) }

// open notes that an item is to begin, and how often it was started before.
func (r *round) open(i, n int) { r.unended(i, itemOpen, n) }

func (r *round) unended(i int, end itemEnd, starts int) {
	r.ends[i] = end
	if starts == startsOf(end) {
		delete(r.starts, i)
	} else {
		r.starts[i] = starts
	}
}

// encodeStarts returns the numbers of starts by the step and the number of the item, STEP/ITEM; nil = there are none.
func encodeStarts(step int, starts map[int]int) map[string]int {
	if len(starts) == 0 {
		return nil
	}
	counts := make(map[string]int, len(starts))
	for i, n := range starts {
		counts[strconv.Itoa(step)+"/"+strconv.Itoa(i+1)] = n
	}
	return counts
}

// decodeStarts reads what encodeStarts wrote. Entries of other steps are skipped, as decodeEnds does.
func (r *round) decodeStarts(counts map[string]int, step int) error {
	for key, starts := range counts {
		of, item, _ := strings.Cut(key, "/")
		if of != strconv.Itoa(step) {
			continue
		}
		n, err := strconv.Atoi(item)
		if err != nil || n < 1 || n > len(r.ends) || starts < 0 {
			return fmt.Errorf("for_each: how often item %s was started cannot be read: %d", item, starts)
		}
		if !r.ends[n-1].over() {
			r.starts[n-1] = starts
		}
	}
	return nil
}

// encodeEnds writes ends as texts by the step and the number of the first item that each covers, STEP/ITEM: runs of a
// letter and how many items in a row it is about, where that is more than one. What has not begun at the end of a text,
// and texts without anything else, are left out.
func encodeEnds(step int, ends []itemEnd) map[string]string {
	texts := map[string]string{}
	for first := 0; first < len(ends); first += endsChunk {
		if text := encodeRuns(ends[first:min(first+endsChunk, len(ends))]); text != "" {
			texts[strconv.Itoa(step)+"/"+strconv.Itoa(first+1)] = text
		}
	}
	return texts
}

func encodeRuns(ends []itemEnd) string {
	n := len(ends)
	for n > 0 && ends[n-1] == itemOpen {
		n--
	}
	var text []byte
	for i := 0; i < n; {
		run := i
		for i < n && ends[i] == ends[run] {
			i++
		}
		letter := byte(ends[run])
		if letter == byte(itemOpen) {
			letter = openOnRecord
		}
		if text = append(text, letter); i-run > 1 {
			text = strconv.AppendInt(text, int64(i-run), 10)
		}
	}
	return string(text)
}

// decodeEnds reads what encodeEnds wrote. Texts of other steps are skipped: a version of the program that does not know
// them may have left them where they were.
func decodeEnds(texts map[string]string, step int, ends []itemEnd) error {
	for key, text := range texts {
		of, first, _ := strings.Cut(key, "/")
		if of != strconv.Itoa(step) {
			continue
		}
		n, err := strconv.Atoi(first)
		if err != nil || n < 1 || n > len(ends) || !decodeRuns(text, ends[n-1:]) {
			return fmt.Errorf("for_each: what is on record of the items from %s on cannot be read: %s", first, text)
		}
	}
	return nil
}

func decodeRuns(text string, ends []itemEnd) bool {
	for text != "" {
		end := itemEnd(text[0])
		switch end {
		case openOnRecord:
			end = itemOpen
		case itemBegun, itemYes, itemNo, itemError, itemInterrupted:
		default:
			return false
		}
		digits := 1
		for digits < len(text) && '0' <= text[digits] && text[digits] <= '9' {
			digits++
		}
		n := 1
		if digits > 1 {
			n, _ = strconv.Atoi(text[1:digits])
		}
		if n < 1 || n > len(ends) {
			return false
		}
		for i := range n {
			ends[i] = end
		}
		text, ends = text[digits:], ends[n:]
	}
	return true
}
