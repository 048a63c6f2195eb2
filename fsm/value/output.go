package value

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"
)

// Replacement stands for bytes that are no UTF-8.
const Replacement = "\uFFFD"

// OutputText returns the bytes of an output as the language reads them, see [OutputDecoder].
func OutputText(b []byte) string {
	var d OutputDecoder
	return string(append(d.Decode(b), d.End()...))
}

// An OutputReader reads from R what [OutputText] returns of the whole, in bounded memory.
type OutputReader struct {
	R io.Reader

	decoder OutputDecoder
	buf     []byte
	text    []byte // decoded, and not read yet
	err     error  // of R
}

// Read implements [io.Reader].
func (r *OutputReader) Read(p []byte) (int, error) {
	if r.buf == nil {
		r.buf = make([]byte, 32<<10)
	}
	for len(r.text) == 0 && r.err == nil {
		var n int
		n, r.err = r.R.Read(r.buf)
		if r.text = r.decoder.Decode(r.buf[:n]); errors.Is(r.err, io.EOF) {
			r.text = append(r.text[:len(r.text):len(r.text)], r.decoder.End()...)
		}
	}
	n := copy(p, r.text)
	if r.text = r.text[n:]; len(r.text) > 0 || n > 0 {
		return n, nil
	}
	return 0, r.err
}

// An OutputDecoder turns a stream of bytes, cut anywhere, into text: valid UTF-8 with \n as the only line end. Each
// longest beginning of a character that is not finished becomes one U+FFFD, as does every other stray byte.
type OutputDecoder struct {
	buf  []byte
	held [utf8.UTFMax]byte // the beginning of a character whose end may come with the next piece
	n    int               // bytes in held
	cr   bool              // the last byte was \r, which became \n; a \n now belongs to it
}

// Decode returns the text of the next piece. It is valid until the next call and while p is not changed. It is
// p itself where nothing had to be replaced.
func (c *OutputDecoder) Decode(p []byte) []byte {
	if c.n == 0 && !c.cr && bytes.IndexByte(p, '\r') < 0 && utf8.Valid(p) {
		return p
	}
	c.buf = c.buf[:0]
	if c.n > 0 { // complete the held character byte by byte; the rest is done in bulk
		k := 0
		for c.n > 0 && k < len(p) {
			c.held[c.n] = p[k]
			size, whole, open := char(c.held[:c.n+1])
			switch {
			case open:
				c.n++
				k++
			case whole:
				c.buf = append(c.buf, c.held[:size]...)
				c.n = 0
				k++
			default: // p[k] does not continue with it and is looked at afresh
				c.buf = append(c.buf, Replacement...)
				c.n = 0
			}
		}
		p = p[k:]
	}
	for len(p) > 0 {
		i := 0
		for i < len(p) && p[i] < utf8.RuneSelf && p[i] != '\r' {
			i++
		}
		if i > 0 {
			if c.cr && p[0] == '\n' {
				c.buf = append(c.buf, p[1:i]...)
			} else {
				c.buf = append(c.buf, p[:i]...)
			}
			c.cr = false
			p = p[i:]
			continue
		}
		if p[0] == '\r' {
			c.buf = append(c.buf, '\n')
			c.cr = true
			p = p[1:]
			continue
		}
		c.cr = false
		size, whole, open := char(p)
		switch {
		case open:
			c.n = copy(c.held[:], p)
		case whole:
			c.buf = append(c.buf, p[:size]...)
		default:
			c.buf = append(c.buf, Replacement...)
		}
		p = p[size:]
	}
	return c.buf
}

// End returns the text of what is still held when the stream has ended.
func (c *OutputDecoder) End() []byte {
	n := c.n
	c.n, c.cr = 0, false
	if n > 0 {
		return []byte(Replacement)
	}
	return nil
}

// char looks at the character that begins p, which is not ASCII. size is its length, or that of the longest part
// of p that some character begins with, at least 1. open says that p ends before that is decided.
func char(p []byte) (size int, whole, open bool) {
	need, lo, hi := 0, byte(0x80), byte(0xBF)
	switch b := p[0]; {
	case b >= 0xC2 && b <= 0xDF:
		need = 2
	case b >= 0xE0 && b <= 0xEF:
		need = 3
		switch b {
		case 0xE0:
			lo = 0xA0
		case 0xED: // surrogates are no characters
			hi = 0x9F
		}
	case b >= 0xF0 && b <= 0xF4:
		need = 4
		switch b {
		case 0xF0:
			lo = 0x90
		case 0xF4:
			hi = 0x8F
		}
	default:
		return 1, false, false
	}
	for size = 1; size < need; size++ {
		if size == len(p) {
			return size, false, true
		}
		if p[size] < lo || p[size] > hi {
			return size, false, false
		}
		lo, hi = 0x80, 0xBF
	}
	return size, true, false
}
