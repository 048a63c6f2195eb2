package mcpclient

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"loops/internal/humanize"
)

// messageMost is how long one message of a server may be.
const messageMost = 32 << 20

var errTooLong = fmt.Errorf("it printed a message of more than %d MiB", messageMost>>20)

// A conn is a connection to a server over its standard input and output: one JSON-RPC message a line. Lines that are
// none are skipped, because many servers print a greeting there. It remembers the answer to tools/call as the
// server gave it, with everything in it that the protocol does not know.
type conn struct {
	in  io.WriteCloser // the server's standard input
	out *os.File       // its standard output
	r   *bufio.Reader
	buf []byte

	queue []jsonrpc.Message // of a batch, not read yet

	mu     sync.Mutex
	asked  jsonrpc.ID      // of the last request
	call   jsonrpc.ID      // of the last tools/call
	result json.RawMessage // of that
	fault  error           // why reading ended before the server's output did
	noise  int             // lines that are no messages
	first  string          // of them
}

func newConn(in io.WriteCloser, out *os.File) *conn {
	return &conn{in: in, out: out, r: bufio.NewReaderSize(out, 64<<10)}
}

// SessionID is that of HTTP connections.
func (c *conn) SessionID() string { return "" }

// Close ends reading. The server's input stays open: were it closed, the server would end and seem to have ended by
// itself.
func (c *conn) Close() error { return c.out.Close() }

// hangUp closes both ends. Reading and writing end with an error from now on.
func (c *conn) hangUp() { _, _ = c.in.Close(), c.out.Close() }

// Write sends one message.
func (c *conn) Write(_ context.Context, m jsonrpc.Message) error {
	b, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	if req, ok := m.(*jsonrpc.Request); ok && req.IsCall() {
		c.mu.Lock()
		c.asked = req.ID
		if req.Method == "tools/call" {
			c.call, c.result = req.ID, nil
		}
		c.mu.Unlock()
	}
	_, err = c.in.Write(append(b, '\n'))
	if errors.Is(err, syscall.EPIPE) {
		return nil // a server that is gone says so by the end of its output, behind what it had to say
	}
	return err
}

// Read returns the next message.
func (c *conn) Read(context.Context) (jsonrpc.Message, error) {
	for len(c.queue) == 0 {
		line, err := c.line()
		if err != nil {
			return nil, err
		}
		if err := c.take(line); err != nil {
			return nil, c.end(err)
		}
	}
	m := c.queue[0]
	c.queue = c.queue[1:]
	if resp, ok := m.(*jsonrpc.Response); ok && resp.Error == nil {
		c.mu.Lock()
		if resp.ID == c.call {
			c.result = resp.Result
		}
		c.mu.Unlock()
	}
	return m, nil
}

// line returns the next line. It is valid until the next call.
func (c *conn) line() ([]byte, error) {
	c.buf = c.buf[:0]
	for {
		part, err := c.r.ReadSlice('\n')
		c.buf = append(c.buf, part...)
		switch {
		case len(c.buf) > messageMost:
			return nil, c.end(errTooLong)
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil && len(c.buf) == 0:
			return nil, err
		default:
			return c.buf, nil
		}
	}
}

// take queues the messages of a line. An error is one of the protocol, meant for us.
func (c *conn) take(line []byte) error {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil
	}
	batch := []json.RawMessage{line}
	if line[0] == '[' && json.Unmarshal(line, &batch) != nil {
		batch = []json.RawMessage{line}
	}
	for _, b := range batch {
		m, err := jsonrpc.DecodeMessage(b)
		if resp, ok := m.(*jsonrpc.Response); err == nil && (!ok || resp.Result != nil || resp.Error != nil) {
			c.queue = append(c.queue, m)
			continue
		}
		// A server that could not even read a request cannot say which one it was.
		var anonymous struct {
			ID    any
			Error *jsonrpc.Error
		}
		if json.Unmarshal(b, &anonymous) == nil && anonymous.ID == nil && anonymous.Error != nil {
			return anonymous.Error
		}
		if c.answers(b) {
			return errors.New("its answer is no JSON-RPC response: " + quoteLong(string(b)))
		}
		c.mu.Lock()
		if c.noise++; c.noise == 1 {
			c.first = humanize.Quote(string(b))
		}
		c.mu.Unlock()
	}
	return nil
}

// answers reports whether a line that is no message was meant as the answer to the last request: no other will come.
func (c *conn) answers(line []byte) bool {
	fields, err := objectOf(line)
	if err != nil || fields["method"] != nil {
		return false
	}
	var raw any
	if json.Unmarshal(fields["id"], &raw) != nil {
		return false
	}
	id, err := jsonrpc.MakeID(raw)
	c.mu.Lock()
	defer c.mu.Unlock()
	return err == nil && id.IsValid() && id == c.asked
}

// end remembers why reading ends.
func (c *conn) end(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = err
	return err
}

// answer returns the result of the last tools/call.
func (c *conn) answer() (json.RawMessage, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.result, c.result != nil
}

// trouble returns a clause about lines that are no messages, and why reading ended if it was not the server
// that ended it.
func (c *conn) trouble() (noise string, fault error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.noise > 0 {
		noise = fmt.Sprintf("; it printed %d lines that are no JSON-RPC messages, the first: %s", c.noise, c.first)
	}
	return noise, c.fault
}
