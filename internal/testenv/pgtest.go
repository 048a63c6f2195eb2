package testenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrNoPostgres means that this machine has no PostgreSQL.
var ErrNoPostgres = errors.New("initdb, postgres, pg_basebackup, pg_ctl and createdb are neither in " +
	"/usr/lib/postgresql/*/bin nor in the PATH; Debian has them in the package postgresql")

// patience is how long a server may take to start or to stop.
const patience = 3 * time.Minute

// QuickSettings are settings of a server that outlives its machine in no test: it writes what it commits, and
// does not wait until that is on the disk.
var QuickSettings = []string{"fsync = off", "full_page_writes = off", "autovacuum = off"}

// A PostgresServer is a running server, or one that was stopped.
type PostgresServer struct {
	Dir      string // holds data, the socket and the log
	Port     int    // part of the socket's name
	Database string // that URL names

	bin  string
	cred *syscall.Credential // PostgreSQL refuses to run as root
	cmd  *exec.Cmd
	done chan struct{}
}

// StartPostgres makes a new database cluster and starts a server for it. settings are lines of postgresql.conf.
func StartPostgres(ctx context.Context, settings ...string) (*PostgresServer, error) {
	s, err := prepare()
	if err != nil {
		return nil, err
	}
	if err = s.run(ctx, "initdb", "-D", s.data(), "-U", "loops", "-A", "trust", "-E", "UTF8", "--no-locale",
		"--no-sync"); err == nil {
		err = s.Configure(settings...)
	}
	if err == nil {
		err = s.Launch(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Remove())
	}
	return s, nil
}

// Standby makes a copy of a running server that follows it under a name, and starts it.
func (s *PostgresServer) Standby(ctx context.Context, name string, settings ...string) (*PostgresServer, error) {
	c, err := prepare()
	if err != nil {
		return nil, err
	}
	if err = c.run(ctx, "pg_basebackup", "-D", c.data(), "-h", s.Dir, "-p", strconv.Itoa(s.Port), "-U", "loops", "-X",
		"stream", "--no-sync", "-c", "fast"); err == nil {
		primary := fmt.Sprintf("primary_conninfo = 'host=%s port=%d user=loops application_name=%s'", s.Dir, s.Port,
			name)
		err = errors.Join(c.Configure(append(slices.Clone(settings), primary)...),
			os.WriteFile(filepath.Join(c.data(), "standby.signal"), nil, 0o644))
	}
	if err == nil {
		err = c.Launch(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.Remove())
	}
	return c, nil
}

// Promote makes a standby a primary.
func (s *PostgresServer) Promote(ctx context.Context) error {
	return s.run(ctx, "pg_ctl", "promote", "-D", s.data(), "-w", "-t", "180")
}

// URL returns the location of the database for clients, with a schema of that name as its search path; "" = public.
func (s *PostgresServer) URL(schema string) string {
	q := url.Values{"host": {s.Dir}, "port": {strconv.Itoa(s.Port)}}
	if schema != "" {
		q.Set("search_path", schema)
	}
	return "postgres://loops@/" + s.Database + "?" + q.Encode()
}

// NewDatabase makes a database and returns the server with that one. Only the server that was started can be
// stopped and removed.
func (s *PostgresServer) NewDatabase(ctx context.Context, name string) (*PostgresServer, error) {
	if err := s.run(ctx, "createdb", "-h", s.Dir, "-p", strconv.Itoa(s.Port), "-U", "loops", name); err != nil {
		return nil, err
	}
	return &PostgresServer{Dir: s.Dir, Port: s.Port, Database: name, bin: s.bin, cred: s.cred}, nil
}

func prepare() (*PostgresServer, error) {
	bin, err := find()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "loops-pg-")
	if err != nil {
		return nil, err
	}
	s := &PostgresServer{Dir: dir, Port: 5432, Database: "postgres", bin: bin}
	if os.Geteuid() != 0 {
		return s, nil
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	s.cred = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return s, os.Chown(dir, uid, gid)
}

// find returns the directory of the newest binaries.
func find() (string, error) {
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.SortFunc(dirs, func(a, b string) int { return version(b) - version(a) })
	if p, err := exec.LookPath("initdb"); err == nil {
		dirs = append(dirs, filepath.Dir(p))
	}
	for _, d := range dirs {
		if !slices.ContainsFunc(needed, func(name string) bool {
			_, err := os.Stat(filepath.Join(d, name))
			return err != nil
		}) {
			return d, nil
		}
	}
	return "", ErrNoPostgres
}

var needed = []string{"initdb", "postgres", "pg_basebackup", "pg_ctl", "createdb"}

func version(bin string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
	return n
}

func (s *PostgresServer) data() string { return filepath.Join(s.Dir, "data") }

// Configure adds settings, which hold from the next start on.
func (s *PostgresServer) Configure(settings ...string) error {
	f, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	// With mmap its shared memory is files of the data, which go with them if it is killed.
	text := fmt.Sprintf("listen_addresses = ''\nunix_socket_directories = '%s'\nport = %d\n"+
		"dynamic_shared_memory_type = mmap\n%s\n", s.Dir, s.Port, strings.Join(settings, "\n"))
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// Write makes a file in the directory of the data, which the server alone can read.
func (s *PostgresServer) Write(name, text string) error {
	path := filepath.Join(s.data(), name)
	err := os.WriteFile(path, []byte(text), 0o600)
	if err == nil && s.cred != nil {
		err = os.Chown(path, int(s.cred.Uid), int(s.cred.Gid))
	}
	return err
}

func (s *PostgresServer) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, name), args...)
	cmd.Dir = s.Dir
	cmd.Env = []string{"PATH=" + s.bin + ":/usr/bin:/bin", "LC_ALL=C", "HOME=" + s.Dir}
	cmd.SysProcAttr = attributes(s.cred)
	return cmd
}

func (s *PostgresServer) run(ctx context.Context, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if out, err := Output(s.command(ctx, name, args...)); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

// Launch starts the server, again if it was stopped, and waits until it takes connections.
func (s *PostgresServer) Launch(ctx context.Context) error {
	giveUp := time.Now().Add(patience)
	log, err := os.OpenFile(s.log(), os.O_WRONLY|os.O_TRUNC|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd = s.command(context.WithoutCancel(ctx), "postgres", "-D", s.data())
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := OnLastingThread(s.cmd.Start); err != nil {
		return err
	}
	s.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) { // ends with the server, which Stop or Kill ends
		_ = cmd.Wait()
		close(done)
	}(s.cmd, s.done)
	for {
		select {
		case <-s.done:
			s.cmd = nil
			return fmt.Errorf("postgres ended at once: %s", s.tail())
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), s.Kill())
		case <-time.After(50 * time.Millisecond):
		}
		// The last word in this file is ready when connections are taken, standby when reading ones are.
		status, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
		lines := bytes.Split(bytes.TrimSpace(status), []byte("\n"))
		if err == nil && len(lines) == 8 && string(lines[0]) == strconv.Itoa(s.cmd.Process.Pid) {
			if word := string(bytes.TrimSpace(lines[7])); word == "ready" || word == "standby" {
				return nil
			}
		}
		if time.Now().After(giveUp) {
			return errors.Join(fmt.Errorf("postgres does not get ready: %s", s.tail()), s.Kill())
		}
	}
}

func (s *PostgresServer) log() string { return filepath.Join(s.Dir, "log") }

func (s *PostgresServer) tail() string {
	b, _ := os.ReadFile(s.log())
	return string(b[max(0, len(b)-2000):])
}

// Stop stops the server: connections are closed, what was committed is written.
func (s *PostgresServer) Stop() error {
	if s.cmd == nil {
		return nil
	}
	_ = s.cmd.Process.Signal(syscall.SIGINT)
	select {
	case <-s.done:
	case <-time.After(patience):
		return errors.Join(errors.New("postgres did not stop and was killed"), s.Kill())
	}
	s.cmd = nil
	return nil
}

// Kill ends the server and its children at once with SIGKILL, as the loss of power would. None of them is left when it
// returns, whatever state they were in.
func (s *PostgresServer) Kill() error {
	if s.cmd == nil {
		return nil
	}
	var err error
	// While it is stopped it starts no children, and the numbers of those that ended are not given to others.
	if s.cmd.Process.Signal(syscall.SIGSTOP) == nil {
		err = killChildren(s.cmd.Process.Pid)
	}
	_ = s.cmd.Process.Kill()
	<-s.done
	s.cmd = nil
	return err
}

func killChildren(parent int) error {
	for giveUp := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		pids, err := children(parent)
		if err != nil || len(pids) == 0 {
			return err
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if time.Now().After(giveUp) {
			return fmt.Errorf("children of postgres outlive SIGKILL: %v", pids)
		}
	}
}

// Remove ends the server and removes its directory.
func (s *PostgresServer) Remove() error {
	var err error
	if s.cmd != nil {
		_ = s.cmd.Process.Signal(syscall.SIGQUIT) // it removes its shared memory, and does not wait for its clients
		select {
		case <-s.done:
			s.cmd = nil
		case <-time.After(patience):
			err = errors.Join(errors.New("postgres did not end and was killed"), s.Kill())
		}
	}
	removeSegment(s.data())
	return errors.Join(err, os.RemoveAll(s.Dir))
}
