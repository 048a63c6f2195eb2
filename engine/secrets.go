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
	"sync"
	"time"

	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/confine"
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
	// those that leave for some hosts only: actions have a stand-in
	egress []confine.Egress
	run    string     // the working folder of the run
	mu     sync.Mutex // for the file that keeps what was masked
}

// openSecrets reads the secrets that a run's loop names, and those of the settings that no command prints.
func (e *Engine) openSecrets(ctx context.Context, j *job) (*secrets, error) {
	s := newSecrets(j.config, e.o.Env, j.project.Dir)
	err := s.declare(ctx, j.loop.Secrets)
	for _, name := range j.loop.Secrets {
		if s.names[name] {
			s.mask.Keep(name)
		}
	}
	if err == nil {
		err = s.declare(ctx, s.settled())
	}
	if err != nil {
		return nil, refuse(Invalid, "%v", err)
	}
	return s, nil
}

func newSecrets(c *config.Config, env []string, dir string) *secrets {
	return &secrets{mask: mask.New(), conf: c, env: env, dir: dir, names: map[string]bool{}}
}

// settled returns the names of the settings whose values no command prints.
func (s *secrets) settled() (names []string) {
	if s.conf != nil {
		for _, known := range s.conf.Secrets {
			if known.Command == "" {
				names = append(names, known.Name)
			}
		}
	}
	return names
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
			return fmt.Errorf("the secret %s, from %s, has fewer than 6 bytes: a value as short as that is in many "+
				"texts by chance and cannot be kept off the record. Use a longer one, or do not call it a secret",
				name, from.Where())
		}
		s.names[name] = true
		if len(from.Hosts) > 0 {
			e := confine.NewEgress(name, secret, from.Hosts)
			s.mask.Add(name, e.StandIn) // from here on the placeholder stands for it
			s.egress = append(s.egress, e)
		}
	}
	return nil
}

// hidden returns an environment with stand-ins of the secrets that leave for some hosts only.
func (s *secrets) hidden(env []string) []string {
	env = slices.Clone(env)
	for i := range env {
		for _, e := range s.egress {
			env[i] = strings.ReplaceAll(env[i], e.Value, e.StandIn)
		}
	}
	return env
}

// useless names the secrets that leave for some hosts only where no action of a loop has a proxy that writes them; the
// zero Text where there are none.
func (s *secrets) useless(l *fsm.Loop) Text {
	if slices.ContainsFunc(sandboxes(l), confine.Lists) || len(s.egress) == 0 {
		return Text{}
	}
	var names []string
	for _, e := range s.egress {
		names = append(names, e.Name)
	}
	return textf("actions get a stand-in of %s: it is written into requests by the proxy of a sandbox with a list "+
		"of hosts, and this loop has none",
		strings.Join(names, " and "))
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
// from. What is masked from here on is kept in the working folder dir. A file that cannot be read is told of: the run
// continues, and has placeholders where it would have what was masked.
func (s *secrets) restore(p *project.Project, dir string, origin *persistence.Origin, tell func(Notice),
	id persistence.ID,
) {
	s.run = dir
	folders := []string{dir}
	if origin != nil {
		folders = append(folders, p.RunDir(origin.ID))
	}
	for _, folder := range folders {
		file := filepath.Join(folder, persistence.SealedFile)
		b, err := disk.Read(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		held := map[string]string{}
		if err == nil {
			err = json.Unmarshal(b, &held)
		}
		if err != nil {
			tell(Said{
				Run: id,
				Text: textf("What was masked in the record is in %s, and cannot be read: %v. Actions get "+
					"placeholders instead", file, err), Problem: true,
			})
			continue
		}
		s.mask.Restore(held)
	}
}

// seal keeps what was masked since the last call. It may be called at once.
func (s *secrets) seal() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	held, news := s.mask.Taken()
	if !news {
		return nil
	}
	if err := s.write(held); err != nil {
		s.mask.Unkept()
		return fmt.Errorf("what was masked cannot be kept for a later process: %w", err)
	}
	return nil
}

func (s *secrets) write(held map[string]string) error {
	b, err := json.Marshal(held)
	if err != nil {
		return err
	}
	if err := disk.MkdirAll(s.run, 0o700); err != nil {
		return err
	}
	file := filepath.Join(s.run, persistence.SealedFile)
	f, err := disk.OpenFile(file+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(file+".tmp", file)
}

// missing are variables of the environment that this process lacks, and an earlier one of the run had.
func (s *secrets) missing(names []string) (env []string) {
	for _, name := range names {
		if from := s.conf.Secret(name); from.Env == name && !s.names[name] && s.mask.Knows(mask.Placeholder(name)) {
			env = append(env, name+"="+s.mask.Reveal(mask.Placeholder(name)))
		}
	}
	return env
}

// lookup fits fsm.World.Secret.
func (s *secrets) lookup(name string) (string, bool) {
	return mask.Placeholder(name), s.names[name] || s.mask.Knows(mask.Placeholder(name))
}

// getenv is a look-up of the environment whose values are masked.
func (s *secrets) getenv(name string) (string, bool) {
	text, ok := project.LookEnv(s.env, name)
	return s.mask.Text(text), ok
}

// values returns the context of a new run without secrets.
func (s *secrets) values(m *value.Map) *value.Map {
	masked, _ := changedTexts(m, s.mask.Text).(*value.Map)
	return masked
}

// remembered is [secrets.values] of a context that was recorded: the placeholders in it are ours.
func (s *secrets) remembered(m *value.Map) *value.Map {
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
	// masked as it was written
	if rel, e := filepath.Rel(filepath.Join(f.s.run, "output"), name); e == nil && filepath.IsLocal(rel) {
		return []byte(f.s.mask.Again(string(b))), err
	}
	return f.s.mask.Bytes(b), err
}

type secretLibrary struct {
	fsm.Library
	s     *secrets
	trust func(*fsm.Loop) error
}

// Loop implements [fsm.Library]: a loop of others needs the word of the user, and the secrets of a sub-loop are
// read when it is found, but for those that a command prints. It may take its time, and nothing can stop it here.
func (l secretLibrary) Loop(name string, from *fsm.Loop) (*fsm.Loop, error) {
	found, err := l.Library.Loop(name, from)
	if err != nil {
		return found, err
	}
	if err := l.trust(found); err != nil {
		return nil, err
	}
	for _, secret := range found.Secrets {
		if _, known := l.s.names[secret]; !known && l.s.conf.Secret(secret).Command != "" {
			return nil, fmt.Errorf("the secret %s of the loop %s is printed by a command, which is called before a "+
				"run begins: name it under secrets of the loop that is run, too", secret, found.Name)
		}
	}
	return found, l.s.declare(context.Background(), found.Secrets)
}
