package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// messages hands on the lines of an input that are messages of JSON-RPC, and answers the others: the transport
// of the SDK ends the conversation at the first it cannot read, and with it every call that is under way.
type messages struct {
	in   io.ReadCloser
	read *bufio.Reader
	out  io.Writer
	most int    // bytes of a line
	rest []byte // of the line that is handed on
}

func newMessages(in io.ReadCloser, out io.Writer) *messages {
	// and its line end
	return &messages{in: in, read: bufio.NewReader(in), out: out, most: mcp.DefaultMaxLineLength - 1}
}

func (m *messages) Close() error { return m.in.Close() }

func (m *messages) Read(b []byte) (int, error) {
	for len(m.rest) == 0 {
		line, long, err := m.line()
		if answer := refusal(line, long); answer != nil {
			if _, err := m.out.Write(answer); err != nil {
				return 0, err
			}
		} else if len(line) > 0 {
			m.rest = append(line, '\n')
		}
		if err != nil && len(m.rest) == 0 {
			return 0, err
		}
	}
	n := copy(b, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// line reads a line, without the white space around it. Of one that is too long nothing is kept.
func (m *messages) line() (line []byte, long bool, err error) {
	for {
		part, err := m.read.ReadSlice('\n')
		if long = long || len(line)+len(part) > m.most+1; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSpace(line), long, err
		}
	}
}

// refusal is the answer to a line that is no message; nil if it is one, or empty.
func refusal(line []byte, long bool) []byte {
	switch {
	case long:
		return refused(nil, jsonrpc.CodeInvalidRequest, "the line is too long: a message has at most 16 MiB")
	case len(line) == 0:
		return nil
	case !json.Valid(line):
		return refused(nil, jsonrpc.CodeParseError, "the line is not JSON: expected one message of JSON-RPC a line")
	case line[0] == '[':
		return refused(nil, jsonrpc.CodeInvalidRequest, "batches are not taken: send one message a line")
	}
	if _, err := jsonrpc.DecodeMessage(line); err == nil {
		return nil
	}
	var message struct {
		ID json.RawMessage `json:"id"`
	}
	_ = json.Unmarshal(line, &message) // what is no object has no id
	if id := message.ID; len(id) > 0 && (id[0] == '{' || id[0] == '[' || id[0] == 't' || id[0] == 'f') {
		message.ID = nil
	}
	return refused(message.ID, jsonrpc.CodeInvalidRequest,
		`the line is no message of JSON-RPC: expected an object with "jsonrpc": "2.0", and a method or the answer to one`)
}

func refused(id json.RawMessage, code int, text string) []byte {
	type wrong struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	return append(encode(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"` // null where there is none
		Error   wrong           `json:"error"`
	}{"2.0", id, wrong{code, text}}), '\n')
}

// together keeps what several write at once apart, and a writer open that is not ours to close.
type together struct {
	mu  sync.Mutex
	out io.Writer // guarded by mu
}

func (t *together) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.out.Write(b)
}

func (*together) Close() error { return nil }
