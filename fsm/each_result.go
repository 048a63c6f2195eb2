package fsm

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"loops/fsm/value"
)

// verdict is what the items came to together.
func (r *round) verdict() string {
	switch good := r.done - r.failed; {
	case r.list.count() == 0 && declaresVerdict(r.st, ItemsEmpty) && (r.st.Route == nil || r.st.Route.Cases == nil):
		return ItemsEmpty
	case good == r.list.count():
		return "yes"
	case good > 0:
		return ItemsPartial
	}
	return "no"
}

// mostOutput is how long the list of results may be that a capture holds whole, in bytes.
const mostOutput = 1 << 20

// result makes the result of the state, and what it captures.
func (r *round) result() (Result, *value.Map, error) {
	e := r.e
	res := Result{Stdout: fmt.Sprintf("%d of %d items are done, %d of them failed", r.done, r.list.count(), r.failed)}
	if r.st.Capture == "" {
		return res, nil, nil
	}
	if !e.settle() { // the results are read from the history
		return res, nil, errHalted
	}
	var failed []string
	for i, end := range r.ends {
		if end.over() && end != itemYes {
			failed = append(failed, r.list.key(i))
		}
	}
	head := &head{}
	err := r.writeResults(head)
	if err != nil && !errors.Is(err, errLong) {
		return res, nil, err
	}
	text := head.text.String()
	rec := value.NewMap("output", text, "failed", itemsText(failed), "items", int64(r.list.count()), "done",
		int64(r.done))
	if err != nil || e.keep.has(r.st.Capture) {
		size, err := r.keepResults(rec)
		if err != nil {
			return res, nil, err
		}
		if size > mostOutput {
			cut := max(strings.LastIndexByte(text, '\n'), 1)
			rec.Set("output", strings.TrimSuffix(text[:cut], ",")+"\n]")
			rec.Set("truncated", true)
			rec.Set("bytes", size)
		}
	}
	return res, rec, nil
}

// itemsText is a text that for_each reads as these items: one a line, or else a JSON list.
func itemsText(items []string) string {
	list, _ := textList(slices.Values(items), 0)
	text := strings.Join(items, "\n")
	if got, _, err := itemsOf(text); err != nil || got != list {
		return list
	}
	return text
}

// keepResults writes the whole list into a file, which rec then names, and returns how long it is. A run
// without a folder has no file.
func (r *round) keepResults(rec *value.Map) (size int64, err error) {
	e, m := r.e, r.e.mem
	dir, _ := m.Context.Value("run_dir").(string)
	write := func(w io.Writer) error {
		n := &counted{w: w}
		defer func() { size = n.size }()
		return r.writeResults(n)
	}
	if dir == "" {
		err = write(io.Discard)
		return size, err
	}
	name := strings.TrimRight(dir, "/") + "/" +
		fmt.Sprintf("items-%s%d-%s.json", strings.ReplaceAll(strings.TrimPrefix(e.outer+"/", "/"), "/", "-"), m.Step,
			VarName(r.st.Name))
	if err = e.cfg.Files.Write(name, write); err == nil {
		rec.Set("file", name)
	}
	return size, err
}

// errLong means that a text is longer than a head holds.
var errLong = errors.New("it is longer than a capture holds")

// A head is the beginning of a text, of at most mostOutput bytes.
type head struct{ text strings.Builder }

func (h *head) Write(b []byte) (int, error) {
	if rest := mostOutput - h.text.Len(); len(b) > rest {
		h.text.Write(b[:rest])
		return 0, errLong
	}
	return h.text.Write(b)
}

// counted counts what is written.
type counted struct {
	w    io.Writer
	size int64
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.size += int64(n)
	return n, err
}

// writeResults writes the JSON list of the results, in the order of the items, one a line. Only those that
// ended before one that is before them are held in memory.
func (r *round) writeResults(w io.Writer) error {
	out := &inOrder{w: w, held: map[int]string{}}
	if r.entries != nil {
		for i := range r.ends {
			if text, ok := r.entries[i]; ok {
				out.put(i, text)
			} else {
				out.skip(i)
			}
		}
		return out.end()
	}
	if r.holds == nil {
		holds, err := r.holding()
		if err != nil {
			return err
		}
		r.holds = holds
	}
	for i, n := range r.holds {
		if n == 0 {
			out.skip(i)
		}
	}
	n := uint32(0)
	for ev, err := range r.e.machine.driver.history(r.e.mem.Items.Since) {
		if err != nil {
			return &HistoryError{err}
		}
		if !endsItem(ev) {
			continue
		}
		n++
		if i, ok := r.indexOf(ev); ok && r.holds[i] == n {
			if out.put(i, r.entry(ev)); out.err != nil {
				break
			}
		}
	}
	return out.end()
}

// endsItem reports whether an event has the result of an item.
func endsItem(ev Event) bool { return ev.Kind == EventItemEnd || ev.Kind == EventItemTaken }

// holding finds out which of all ends in the history holds for each item, by their order from 1 on: an item
// that was done again has several, and one without an end none.
func (r *round) holding() ([]uint32, error) {
	holds, ends, n := make([]uint32, len(r.ends)), make([]itemEnd, len(r.ends)), uint32(0)
	for ev, err := range r.e.machine.driver.history(r.e.mem.Items.Since) {
		if err != nil {
			return nil, &HistoryError{err}
		}
		if endsItem(ev) {
			n++
		}
		switch {
		case !r.own(ev):
		case ev.Kind == EventStateEnter && ev.Get("resumed") == nil:
			clear(holds)
			clear(ends)
		case ev.Kind == EventItemsStart:
			again := againOf(ev)
			for i, end := range ends {
				if again.takes(end) {
					holds[i], ends[i] = 0, itemOpen
				}
			}
		case endsItem(ev):
			if i, ok := r.indexOf(ev); ok && holds[i] == 0 {
				verdict, _ := ev.Get("verdict").(string)
				holds[i], ends[i] = n, endOf(verdict)
			}
		}
	}
	return holds, nil
}

// inOrder writes the entries of a list in their order, whatever the order is in which they come.
type inOrder struct {
	w    io.Writer
	held map[int]string // of entries behind next; "" = there is none
	next int
	some bool // an entry was written
	err  error
}

// put writes an entry when all before it are there.
func (o *inOrder) put(i int, text string) {
	o.held[i] = text
	for o.err == nil {
		text, ok := o.held[o.next]
		if !ok {
			return
		}
		delete(o.held, o.next)
		o.next++
		if text != "" {
			o.line(text)
		}
	}
}

// skip notes that there is no such entry.
func (o *inOrder) skip(i int) { o.put(i, "") }

func (o *inOrder) line(text string) {
	before := ",\n"
	if !o.some {
		before, o.some = "[\n", true
	}
	if _, o.err = io.WriteString(o.w, before); o.err == nil {
		_, o.err = io.WriteString(o.w, text)
	}
}

func (o *inOrder) end() error {
	if o.err != nil {
		return o.err
	}
	after := "\n]"
	if !o.some {
		after = "[]"
	}
	_, err := io.WriteString(o.w, after)
	return err
}

// entry is the result of one item as JSON.
func (r *round) entry(ev Event) string {
	i, _ := r.indexOf(ev)
	m := value.NewMap("item", r.list.item(i), "key", r.list.key(i))
	for _, key := range []string{
		"verdict", "exit_code", "duration_ms", "final_state", "answer", "output",
		"output_file", "error",
	} {
		if v := ev.Get(key); v != nil {
			if key == "output_file" {
				key = "file"
			}
			m.Set(key, v)
		} else if key == "output" {
			m.Set(key, "")
		}
	}
	if text, _ := m.Value("output").(string); m.Value("file") != nil {
		if bytes, ok := ev.Get("output_bytes").(int64); ok && bytes != int64(len(text)) {
			m.Set("truncated", true)
			m.Set("bytes", bytes)
		}
	}
	return string(value.AppendJSON(nil, m))
}
