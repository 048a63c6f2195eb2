package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/config"
	"loops/internal/disk"
)

// cloudBatch is the content type of a batch of CloudEvents.
const cloudBatch = "application/cloudevents-batch+json"

// An outlet is an element of the setting events.
type outlet struct {
	config.Outlet
	key string // by which its position is known; nothing of its address can be read from it
}

func newOutlet(o config.Outlet) outlet {
	sum := sha256.Sum256([]byte(o.URL + "\x00" + o.Command + "\x00" + o.Socket + "\x00" + o.File))
	return outlet{o, hex.EncodeToString(sum[:8])}
}

// wants reports whether the outlet gets a kind of event.
func (o *outlet) wants(kind string) bool { return len(o.Kinds) == 0 || slices.Contains(o.Kinds, kind) }

// of reports whether the outlet gets the events of a loop, in a run with these labels.
func (o *outlet) of(loop string, labels []string) bool {
	return matches(o.Loops, loop) && !slices.ContainsFunc(o.Labels, func(l string) bool {
		return !slices.Contains(labels, l)
	})
}

// label names the outlet in messages.
func (o *outlet) label() string {
	switch {
	case o.Socket != "":
		return "socket " + o.Socket
	case o.File != "":
		return "file " + o.File
	}
	return Label(config.Notify{URL: o.URL, Command: o.Command})
}

// A cloudEvent is an event of a run as CloudEvents 1.0 has it, in JSON.
type cloudEvent struct {
	run string
	seq uint64
	raw []byte
}

// cloud returns an event of a run. Its id is RUN/NUMBER, the same however often it is sent.
func cloud(source, run, loop string, e fsm.Event) cloudEvent {
	id := run + "/" + strconv.FormatUint(e.Seq, 10)
	m := value.NewMap(
		"specversion", "1.0", "id", id, "source", source, "type", "loops."+e.Kind, "subject", run, "time",
		e.Time.UTC().Format(time.RFC3339Nano),
		"datacontenttype", "application/json", "loop", loop,
	)
	head := value.AppendJSON(nil, m)
	raw := append(head[:len(head)-1], `,"data":`...)
	return cloudEvent{run, e.Seq, append(e.AppendJSON(raw), '}')}
}

// lines returns events as lines of JSON.
func lines(batch []cloudEvent) []byte {
	var b []byte
	for _, e := range batch {
		b = append(append(b, e.raw...), '\n')
	}
	return b
}

// send sends events of one run to an outlet. It returns when the outlet has acknowledged all of them.
func (s *Sender) send(o *outlet, batch []cloudEvent) error {
	limit := o.Timeout
	if limit == 0 {
		limit = attemptLimit
	}
	switch {
	case o.URL != "":
		all := make([]json.RawMessage, len(batch))
		for i, e := range batch {
			all[i] = e.raw
		}
		body, err := json.Marshal(all)
		if err != nil {
			return err
		}
		last := batch[len(batch)-1]
		_, err = s.post(config.Notify{URL: o.URL, Secret: o.Secret},
			message{
				kind: "events", delivery: fmt.Sprintf("%s/%d-%d", last.run, batch[0].seq, last.seq),
				form: cloudBatch, body: body,
			}, limit)
		return err
	case o.Command != "":
		return s.call(o.Command, nil, lines(batch), limit)
	case o.Socket != "":
		return s.write(o.Socket, lines(batch), limit)
	}
	return appendLines(o.File, o.Rotate, lines(batch))
}

// write sends lines to a Unix socket. The receiver acknowledges them when it closes the connection after their end.
func (s *Sender) write(socket string, text []byte, limit time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(s.ctx, limit, fmt.Errorf("no acknowledgement within %s", limit))
	defer cancel()
	var dial net.Dialer
	c, err := dial.DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })()
	conn, ok := c.(*net.UnixConn)
	if !ok {
		return errors.ErrUnsupported
	}
	if _, err = conn.Write(text); err == nil {
		if err = conn.CloseWrite(); err == nil {
			_, err = io.Copy(io.Discard, conn)
		}
	}
	if ctx.Err() != nil && err != nil {
		return context.Cause(ctx)
	}
	return err
}

// appendLines adds lines to a file and syncs it. A line that a full disk has cut off is ended first.
func appendLines(path string, rotate int64, text []byte) (err error) {
	if info, err := os.Stat(path); err == nil && rotate > 0 && info.Size() >= rotate {
		if err := os.Rename(path, path+".1"); err != nil {
			return err
		}
	}
	f, err := disk.Open(path, os.O_RDWR|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if end := make([]byte, 1); info.Size() > 0 {
		if _, err := f.ReadAt(end, info.Size()-1); err != nil {
			return err
		}
		if end[0] != '\n' {
			text = append([]byte("\n"), text...)
		}
	}
	if _, err := f.Write(text); err != nil {
		return err
	}
	return f.Sync()
}

// sourceOf returns the source of the events of a project: its folder on this machine.
func sourceOf(host, dir string) string {
	return (&url.URL{Scheme: "file", Host: host, Path: dir}).String()
}
