package agent

import (
	"bytes"
	"encoding/json"
	"strings"
)

func (s *Spec) stream(r Request) Stream {
	c := &commandStream{spec: s, req: r}
	if s.Format == FormatJSON {
		return &documentStream{commandStream: c}
	}
	return c
}

// commandStream reads what a user's own program prints.
type commandStream struct {
	spec *Spec
	req  Request
	out  printed // where it is not text

	tail  []byte // of all output, where it is text
	last  string // the last Text
	final string
	o     Outcome // Answer, Model, Session, Cost so far
	usage Usage
	used  bool
	fault string
	code  int
	begun bool
	done  bool
}

// maxText is about how much of an output that is nothing but text is kept as the final message: its end.
const maxText = 1 << 20

func (c *commandStream) Line(line []byte) (string, bool) {
	if c.spec.Format == "" || c.spec.Format == FormatText {
		if len(c.tail) > maxText {
			c.tail = append(c.tail[:0], c.tail[len(c.tail)-maxText/2:]...)
		}
		c.tail = append(c.tail, line[max(len(line)-maxText/2, 0):]...)
		c.tail = append(c.tail, '\n')
		return string(line) + "\n", true
	}
	var v map[string]any
	// D26: what is no object is text.
	if !object(line, &v) {
		c.out.add(line)
		return string(line) + "\n", false
	}
	return c.take(v)
}

// take reads one JSON object. It is known if anything of it is.
func (c *commandStream) take(v any) (text string, known bool) {
	f := &c.spec.Fields
	text = f.Text.text(v)
	if text != "" {
		c.last = text
	}
	if t := f.Final.text(v); t != "" {
		c.final, known = t, true
	}
	if a := f.Answer.answer(v); a != nil && c.req.Judge {
		c.o.Answer, known = a, true
	}
	known = f.Session.word(v, &c.o.Session) || known
	known = f.Model.word(v, &c.o.Model) || known
	if n, ok := f.Cost.number(v); ok {
		if c.o.Cost != nil && c.spec.Counts == CountsEach {
			n += *c.o.Cost
		}
		c.o.Cost, known = &n, true
	}
	known = c.count(v) || known || text != ""
	if m := f.Error.fault(v); m != "" {
		c.fault, known = head(m, maxSaid), true
	}
	if n, ok := f.Status.number(v); ok && n >= 400 && n < 600 {
		c.code, known = int(n), true
	}
	if f.Done.find(v) != nil {
		c.done, known = true, true
	}
	c.begun = c.begun || known
	return ended(text), known
}

func (c *commandStream) count(v any) bool {
	f := &c.spec.Fields
	u, any := c.usage, false
	if c.spec.Counts == CountsEach {
		u = Usage{}
	}
	for _, x := range []struct {
		f  Field
		to *int64
	}{{f.Input, &u.Input}, {f.Output, &u.Output}, {f.CacheRead, &u.CacheRead}, {f.CacheWrite, &u.CacheWrite}} {
		if n, ok := x.f.number(v); ok {
			*x.to, any = int64(n), true
		}
	}
	if !any {
		return false
	}
	if c.spec.Counts == CountsEach {
		u = c.usage.plus(u)
	}
	c.usage, c.used = u, true
	return true
}

// Used implements [Meter].
func (c *commandStream) Used() (Usage, *float64, string) {
	var o Outcome
	c.tokens(&o)
	return o.Usage, c.o.Cost, c.o.Model
}

func (c *commandStream) Done() bool { return c.done }

func (c *commandStream) End(x Exit) Outcome {
	x = c.out.of(x)
	o := c.o
	o.Text = c.last
	if c.final != "" {
		o.Text, o.Final = c.final, true
	}
	if c.tail != nil {
		o.Text = strings.ToValidUTF8(strings.TrimSuffix(string(c.tail), "\n"), "\uFFFD")
		c.explain(&x, o.Text)
	}
	o.Complete = c.done || c.spec.Fields.Done.zero() && c.spec.Format != FormatJSON && x.Code == 0
	c.tokens(&o)
	switch {
	case c.fault != "" || c.code != 0:
		o.Failure = failed(c.code, c.fault)
	case !o.Complete:
		o.Failure = unexplained(c.spec.Name, x, c.begun)
	default:
		o.Failure = downgraded(c.spec.Name, x)
	}
	return o
}

// explain takes a text for what a program says about its failure. Beside a standard error it is that only if it
// may be tried again: it is also what a model wrote, and that is no reason to give up.
func (c *commandStream) explain(x *Exit, text string) {
	if x.Code == 0 || x.Stopped {
		return
	}
	if strings.TrimSpace(x.Stderr) != "" {
		if class := failed(0, lastLines(text)).Class; class != RateLimited && class != Transient {
			return
		}
	}
	x.printed = text
}

func (c *commandStream) tokens(o *Outcome) {
	o.Coverage = None
	if !c.used {
		o.Whole = c.req.Counted
		return
	}
	o.Coverage = Complete
	if !o.Complete {
		o.Coverage = Partial
	}
	u := c.usage
	if c.spec.CacheInInput {
		u.Input = max(u.Input-u.CacheRead-u.CacheWrite, 0)
	}
	o.Usage, o.Whole = u, u
	if c.spec.Counts == CountsSession {
		o.Usage = u.minus(c.req.Counted)
	}
}

// documentStream reads a program that prints one JSON object, on however many lines.
type documentStream struct {
	*commandStream
	text   bytes.Buffer
	depth  int
	quoted bool
	escape bool
	over   bool // it is too long
}

// maxDocument is the longest JSON object that is read.
const maxDocument = 2 << 20

// Line returns lines before and after the object as they are, and the text in it with its last line.
func (d *documentStream) Line(line []byte) (string, bool) {
	if d.depth == 0 && (d.done || !bytes.HasPrefix(bytes.TrimSpace(line), []byte("{"))) {
		d.out.add(line)
		return string(line) + "\n", false
	}
	d.follow(line)
	if d.over = d.over || d.text.Len()+len(line) > maxDocument; !d.over {
		d.text.Write(line)
		d.text.WriteByte('\n')
	}
	if d.depth > 0 {
		return "", true
	}
	var v map[string]any
	raw := d.text.Bytes()
	defer d.text.Reset()
	if d.over || !json.Valid(raw) || json.Unmarshal(raw, &v) != nil {
		return string(raw), false
	}
	d.done = true
	text, _ := d.take(v)
	if text == "" {
		text = ended(d.final)
	}
	return text, true
}

// follow counts the brackets that are open after a line.
func (d *documentStream) follow(line []byte) {
	for _, b := range line {
		switch {
		case d.escape:
			d.escape = false
		case d.quoted:
			d.escape, d.quoted = b == '\\', b != '"'
		case b == '"':
			d.quoted = true
		case b == '{' || b == '[':
			d.depth++
		case b == '}' || b == ']':
			d.depth = max(d.depth-1, 0)
		}
	}
	// A text of JSON ends on its line.
	d.quoted, d.escape = false, false
}

func (d *documentStream) End(x Exit) Outcome {
	o := d.commandStream.End(x)
	switch {
	case o.Failure == nil || o.Failure.Class != Truncated:
	case d.over:
		o.Failure.Reason = d.spec.Name + " printed a JSON object of more than 2 MiB, which was skipped"
	default:
		o.Failure.Reason = d.spec.Name + " " + endOf(x.Code) + " and did not print a whole JSON object"
	}
	return o
}
