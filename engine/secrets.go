package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/config"
	"loops/internal/disk"
	"loops/internal/mask"
	"loops/persistence"
)

// How a secret is read that a command prints.
const (
	secretTime = time.Minute
	mostSecret = 64 << 10
)

// secrets are what a run keeps off its record. What the machine, its record and its observers see has placeholders;
// actions get the secrets.
type secrets struct {
	mask  *mask.Masker
	conf  *config.Config
	env   []string
	dir   string
	names map[string]bool // those that are declared; true = it has a value
	file  string          // where what was masked is kept for a process that resumes the run
}

// openSecrets reads the secrets that a run's loop names, and those of the settings that no command prints.
func (e *Engine) openSecrets(ctx context.Context, j *job) (*secrets, error) {
	s := &secrets{mask: mask.New(), conf: j.config, env: e.o.Env, dir: j.project.Dir, names: map[string]bool{}}
	names := slices.Clone(j.loop.Secrets)
	if j.config != nil {
		for _, known := range j.config.Secrets {
			if known.Command == "" {
				names = append(names, known.Name)
			}
		}
	}
	if err := s.declare(ctx, names); err != nil {
		return nil, refuse(Invalid, "%v", err)
	}
	return s, nil
}

// declare reads the values of names. A variable that is not set is no error: nothing is to be masked then.
func (s *secrets) declare(ctx context.Context, names []string) error {
	for _, name := range names {
		if _, known := s.names[name]; known {
			continue
		}
		from := s.conf.Secret(name)
		secret, err := s.read(ctx, from)
		if err != nil {
			return fmt.Errorf("the secret %s: %w", name, err)
		}
		if secret == "" {
			s.names[name] = false
			continue
		}
		if !s.mask.Add(name, secret) {
			return fmt.Errorf("the secret %s, from %s, has fewer than 6 bytes: a value as short as that is in many texts by chance and cannot be kept off the record. Use a longer one, or do not call it a secret", name, from.Where())
		}
		s.names[name] = true
	}
	return nil
}

// read returns the value of a secret; "" where the variable of the environment is not set.
func (s *secrets) read(ctx context.Context, from config.NamedSecret) (string, error) {
	switch {
	case from.File != "":
		return config.Secret{File: from.File}.Read(nil)
	case from.Command != "":
		return s.printed(ctx, from.Command)
	}
	text, _ := project.LookEnv(s.env, from.Env)
	return text, nil
}

// printed returns what a command prints.
func (s *secrets) printed(ctx context.Context, command string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, secretTime)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, "bash", "-c", command)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = s.dir, s.env, &out, &errs, time.Second
	err := cmd.Run()
	text := strings.TrimRight(out.String(), "\r\n")
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("its command %q did not end within %v", command, secretTime)
	case err != nil:
		first, _, _ := strings.Cut(strings.TrimSpace(errs.String()), "\n")
		return "", fmt.Errorf("its command %q fails: %w %s", command, err, first)
	case text == "":
		return "", fmt.Errorf("its command %q prints nothing", command)
	case len(text) > mostSecret:
		return "", fmt.Errorf("its command %q prints more than %d bytes", command, mostSecret)
	}
	return text, nil
}

// restore takes back what earlier processes of the run masked, and what was masked in the run that it was forked
// from. What is masked from here on is kept in dir.
func (s *secrets) restore(p *project.Project, dir string, origin *persistence.Origin) error {
	s.file = filepath.Join(dir, persistence.SealedFile)
	files := []string{s.file}
	if origin != nil {
		files = append(files, filepath.Join(p.RunDir(origin.ID), persistence.SealedFile))
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		held := map[string]string{}
		if err == nil {
			err = json.Unmarshal(b, &held)
		}
		if err != nil {
			return refuse(Failed, "the secrets that were masked in the record are in %s, and cannot be read: %v", file, err)
		}
		s.mask.Restore(held)
	}
	return nil
}

// seal keeps what was masked since the last call.
func (s *secrets) seal() error {
	held, news := s.mask.Taken()
	if !news {
		return nil
	}
	b, err := json.Marshal(held)
	if err != nil {
		return err
	}
	tmp := s.file + ".tmp"
	if err := errors.Join(disk.MkdirAll(filepath.Dir(tmp), 0o700), disk.WriteFile(tmp, b, 0o600)); err != nil {
		return fmt.Errorf("what was masked cannot be kept for a later process: %w", err)
	}
	return os.Rename(tmp, s.file)
}

// lookup fits fsm.World.Secret.
func (s *secrets) lookup(name string) (string, bool) {
	return mask.Placeholder(name), s.names[name]
}

// getenv is a look-up of the environment whose values are masked.
func (s *secrets) getenv(name string) (string, bool) {
	text, ok := project.LookEnv(s.env, name)
	return s.mask.Text(text), ok
}

// values returns a context without secrets. What is in it from an earlier process is masked already.
func (s *secrets) values(m *value.Map) *value.Map {
	masked, _ := changedTexts(m, s.mask.Again).(*value.Map)
	return masked
}

// changedTexts returns a value with each text in it changed.
func changedTexts(v any, change func(string) string) any {
	switch v := v.(type) {
	case string:
		return change(v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = changedTexts(v[i], change)
		}
		return list
	case *value.Map:
		if v == nil {
			return v
		}
		m := value.NewMap()
		for k, e := range v.All() {
			m.Set(k, changedTexts(e, change))
		}
		return m
	}
	return v
}

// masked are the ports of a run that take in texts of others, besides its actions.
type maskedInbox struct {
	fsm.Inbox
	s *secrets
}

// Signals implements [fsm.Inbox].
func (b maskedInbox) Signals(ctx context.Context, name string, after uint64) ([]fsm.Signal, error) {
	list, err := b.Inbox.Signals(ctx, name, after)
	for i := range list {
		list[i].Data = changedTexts(list[i].Data, b.s.mask.Text)
	}
	return list, errors.Join(err, b.s.seal())
}

type maskedWatcher struct {
	fsm.Watcher
	s *secrets
}

// URL implements [fsm.Watcher].
func (w maskedWatcher) URL(ctx context.Context, address string, follow bool) (fsm.Answered, error) {
	a, err := w.Watcher.URL(ctx, w.s.mask.Reveal(address), follow)
	a.Body, a.Problem = w.s.mask.Text(a.Body), w.s.mask.Text(a.Problem)
	return a, err
}

type maskedFiles struct {
	action.Files
	s *secrets
}

// ReadFile implements [fsm.Files].
func (f maskedFiles) ReadFile(name string) ([]byte, error) {
	b, err := f.Files.ReadFile(name)
	return []byte(f.s.mask.Again(string(b))), err
}

type secretLibrary struct {
	fsm.Library
	s *secrets
}

// Loop implements [fsm.Library]: the secrets of a sub-loop are read when it is found.
func (l secretLibrary) Loop(name string, from *fsm.Loop) (*fsm.Loop, error) {
	found, err := l.Library.Loop(name, from)
	if err == nil {
		err = l.s.declare(context.Background(), found.Secrets)
	}
	return found, err
}
