package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/internal/ui"
	"loops/internal/web"
)

// envServeToken has a server keep its token over a restart.
const envServeToken = "LOOPS_SERVE_TOKEN"

// shortestToken is how long a token of that variable is at least.
const shortestToken = 32

type serveOptions struct {
	dirs     []string
	listen   string
	insecure bool
	base     string
	hosts    []string
}

func newServeCommand(a *app) *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Show and steer runs in a browser",
		Long: `serve prints an address for a browser: all runs of the project, live, what each of them does and why, and buttons that start,
stop, pause, resume, extend and fork runs, answer their questions and send them events. The same is there for programs under
/api/v1, with the objects that commands print with --json.

The server owns no run: one that it starts continues when the server ends. It listens on this machine only, and asks for the token
in the address, which holds while the server runs; LOOPS_SERVE_TOKEN, of 32 characters or more, has it keep one. A user who has
the token may do all that you may do with loops in these projects. Beyond this machine it listens only with --insecure: what is
sent can be read on the way, so put a proxy with TLS in front of it. Each write leaves a line on standard error.` + exitCodes(exitOK, exitFailed, exitUsage),
		Example: `  loops serve
  loops serve --dir ~/api --dir ~/web --listen 127.0.0.1:9000
  loops serve --base-path /loops --allow-host ci.example.org`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return runServe(cmd.Context(), a, o) },
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.dirs, "dir", "C", nil, "serve the project in `DIR`; may be given several times (default: the project here)")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "listen on `ADDR`; port 0 is any that is free")
	flags.BoolVar(&o.insecure, "insecure", false, "listen beyond this machine although nothing is encrypted")
	flags.StringVar(&o.base, "base-path", "", "serve below `PREFIX`, as a proxy passes it on")
	flags.StringArrayVar(&o.hosts, "allow-host", nil, "answer requests for `AUTHORITY` too, such as the name of a proxy, with its port if it has one")
	return cmd
}

func runServe(ctx context.Context, a *app, o serveOptions) error {
	projects, err := a.servedProjects(o.dirs)
	if err != nil {
		return err
	}
	token, err := a.serveToken()
	if err != nil {
		return err
	}
	if strings.ContainsAny(o.base, " {}?#%\\\"<>") || strings.Contains(o.base, "..") {
		return usageError{"--base-path: expected a path such as /loops", "loops serve --help"}
	}
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return usageError{"--listen: expected an address and a port, such as 127.0.0.1:8080: " + err.Error(), "loops serve --help"}
	}
	if !web.IsLoopback(host) && !o.insecure {
		return usageError{"--listen " + o.listen + " can be reached from other machines, and nothing that is sent would be encrypted; listen on 127.0.0.1 behind a proxy with TLS, or add --insecure", "loops serve --help"}
	}
	ctx, stop := signal.NotifyContext(ctx, ends...)
	defer stop()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return failure(engine.Failed, "cannot listen: %s", oneLine(err))
	}
	denyTerminal()
	base := web.CleanBase(o.base)
	options := web.Options{Projects: projects, Token: token, BasePath: base, User: cmp.Or(a.sender(), "web"), Audit: func(line string) { ui.SayLine(a.Err, line) }}
	options.Hosts, options.AnyIP = web.HostsOf(l.Addr().String(), host, o.hosts)
	ui.SayLine(a.Out, "http://"+options.Hosts[0]+base+"/?token="+token)
	if err := web.New(ctx, options).Serve(l); err != nil {
		return failure(engine.Failed, "the server ended: %s", oneLine(err))
	}
	return nil
}

func (a *app) serveToken() (string, error) {
	token, ok := a.getenv(envServeToken)
	if !ok || token == "" {
		return web.NewToken(), nil
	}
	if len(token) < shortestToken {
		return "", usageError{fmt.Sprintf("%s has %d characters; expected %d or more that nobody can guess", envServeToken, len(token), shortestToken), "loops help environment"}
	}
	return token, nil
}

// servedProjects are the projects in folders, or the one of this command line, with names that differ.
func (a *app) servedProjects(dirs []string) ([]web.Project, error) {
	if len(dirs) == 0 {
		dirs = []string{a.dir}
	}
	taken := map[string]bool{}
	var all []web.Project
	for _, dir := range dirs {
		inner := &app{IO: a.IO, dir: dir, store: a.store, args: a.args, color: "never"}
		p, err := inner.project()
		if err != nil {
			return nil, err
		}
		if _, err := p.Config(); err != nil {
			return nil, err
		}
		s := &served{app: inner}
		name := filepath.Base(p.Dir)
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s-%d", filepath.Base(p.Dir), n)
		}
		taken[name] = true
		all = append(all, web.Project{Name: name, Dir: p.Dir, Open: s.webSession, Begin: s.beginDetached})
	}
	return all, nil
}

// webSession returns what a request works with.
func (s *served) webSession() (*web.Session, error) {
	var said bytes.Buffer
	a := s.asking(&said)
	service, err := a.service()
	if err != nil {
		return nil, a.spoken(err, &said)
	}
	return &web.Session{Service: service, InWords: func(err error) error { return a.spoken(err, &said) }}, nil
}

// beginDetached has another process carry a run, as run -b does, and returns when it is on record.
func (s *served) beginDetached(ctx context.Context, request engine.Request, words []string) (string, error) {
	switch {
	case request.Start != nil:
		request.Start.Lock = projectLock
	case request.Resume != nil:
		request.Resume.Lock = projectLock
	case request.Fork != nil:
		request.Fork.Lock = projectLock
	}
	_, info, err := s.start(ctx, request, words, false, true)
	return info.ID, err
}
