package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/notify"
	"loops/engine/project"
	"loops/engine/trigger"
	"loops/internal/config"
	"loops/internal/telemetry"
	"loops/internal/terminal"
	"loops/internal/view"
	"loops/internal/web"
)

// envServeToken has a server keep its token over a restart.
const envServeToken = "LOOPS_SERVE_TOKEN"

type serveOptions struct {
	web.Settings
	dirs []string
}

func newServeCommand(a *program) *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Show and steer runs in a browser",
		Long: `serve prints an address for a browser: all runs of the project, live, what each of them does and why, and buttons that start,
stop, pause, resume, extend and fork runs, answer their questions and send them events. The same is there for programs under
/api/v1, with the objects that commands print with --json.

Runs are processes of their own: they continue when the server ends. It listens on this machine only, and asks for the token
in the address, which holds while the server runs (serve token prints it again, or replaces it); LOOPS_SERVE_TOKEN, of 32 characters
or more, has it keep one. A user who has the token may do all that you may do with loops in these projects.

Beyond this machine it listens only if users are known (--auth, or --trust-header behind a proxy) and encrypts what is sent
(--tls-cert and --tls-key, or --insecure where something else does). A user is a viewer, who reads, an operator, who starts, stops
and answers runs too, or an author, who with --edit changes loops too. Each write leaves a line on standard error, with the user.` + exitHelp(exitOK, exitFailed, exitUsage),
		Example: `  loops serve
  loops serve --dir ~/api --dir ~/web --listen 127.0.0.1:9000
  loops serve --listen :8443 --auth users --tls-cert cert.pem --tls-key key.pem
  loops serve --listen :8443 --tls-cert cert.pem --tls-key key.pem --oidc-issuer https://id.example.org --oidc-client-id loops --auth users
  loops serve --base-path /loops --allow-host ci.example.org --trust-header X-Forwarded-User --trust-from 127.0.0.1`,
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return runServe(cmd.Context(), a, &o) },
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.dirs, "dir", "C", nil,
		"serve the project in `DIR`; may be given several times (default: the project here)")
	flags.StringVar(&o.Listen, "listen", "127.0.0.1:0", "listen on `ADDR`; port 0 is any that is free")
	flags.StringVar(&o.Auth, "auth", "", "let in users of `FILE`, with their passwords and roles; see serve passwd")
	flags.StringVar(&o.Header, "trust-header", "", "trust the user name in the header `NAME`, which a proxy sets")
	flags.StringArrayVar(&o.From, "trust-from", nil, "where that proxy is: an address or `NETWORK`; may be given "+
		"several times")
	flags.StringVar(&o.Role, "trust-role", "viewer",
		"the `ROLE` of these users, unless --auth gives another: viewer, operator or author")
	flags.StringVar(&o.OpenID.Issuer, "oidc-issuer", "",
		"have users sign in at the provider of OpenID Connect at `URL`")
	flags.StringVar(&o.OpenID.ClientID, "oidc-client-id", "", "the `ID` by which it knows this server")
	flags.StringVar(&o.OpenID.SecretFile, "oidc-client-secret-file", "", "and the secret, in `FILE`")
	flags.StringVar(&o.OpenID.Claim, "oidc-username-claim", "",
		"the `CLAIM` that is the name of a user (default: email, if it is verified)")
	flags.StringVar(&o.OpenRole, "oidc-role", "", "let in all its users, with `ROLE`, unless --auth says who: "+
		"viewer, operator or author")
	flags.StringVar(&o.Address, "oidc-address", "",
		"the `URL` of this server as browsers open it, if a proxy is before it")
	flags.StringVar(&o.Cert, "tls-cert", "", "encrypt with the certificate in `FILE`, which is read again "+
		"when it changes")
	flags.StringVar(&o.Key, "tls-key", "", "and with its key in `FILE`")
	flags.StringVar(&o.HSTS, "hsts", "auto", "tell browsers to open this host over HTTPS only, for a year: `MODE` "+
		"is auto (at port 443, with a certificate that is trusted), always or never")
	flags.BoolVar(&o.Edit, "edit", false, "let authors change loops")
	flags.BoolVar(&o.Insecure, "insecure", false, "listen beyond this machine although nothing is encrypted")
	flags.StringVar(&o.BasePath, "base-path", "", "serve below `PREFIX`, as a proxy passes it on")
	flags.StringArrayVar(&o.Hosts, "allow-host", nil, "answer requests for `AUTHORITY` too, such as the name of a "+
		"proxy, with its port if it has one")
	cmd.AddCommand(newServePasswdCommand(a), newServeTokenCommand(a), a.addStore(newServeInstallCommand(a)))
	return cmd
}

func runServe(ctx context.Context, a *program, o *serveOptions) error {
	projects, err := a.servedProjects(o.dirs)
	if err != nil {
		return err
	}
	o.Token, _ = a.getenv(envServeToken)
	for _, file := range []*string{&o.Auth, &o.Cert, &o.Key, &o.OpenID.SecretFile} {
		if *file != "" {
			*file = a.at(*file)
		}
	}
	o.Say = func(text string) { terminal.SayLine(a.Err, "loops: "+text) }
	o.StateDir, o.Owner = config.StateDir(a.getenv, "serve"), cmp.Or(a.sender(), engine.User())
	ctx, stop := signal.NotifyContext(ctx, signalEnds...)
	defer stop()
	post, err := o.Open(ctx)
	if wrong, is := errors.AsType[*web.WrongSettingsError](err); is {
		return usageError{wrong.Why, "loops serve --help"}
	}
	if err != nil {
		return failure(engine.Failed, "%s", oneLine(err))
	}
	defer post.Close()
	signalDenyTerminal()
	if post.Note != "" {
		terminal.SayLine(a.Err, "loops: "+post.Note)
	}
	post.Options.Projects, post.Options.Edit, post.Options.Audit = projects, o.Edit, func(line string) {
		terminal.SayLine(a.Err, line)
	}
	terminal.SayLine(a.Out, post.Address)
	for _, line := range post.Webhooks() {
		terminal.SayLine(a.Err, "loops: "+line)
	}
	onDuty := a.nightShift(ctx, projects)
	err = web.New(ctx, post.Options).Serve(post.Listener)
	stop()
	onDuty()
	if err != nil {
		return failure(engine.Failed, "the server ended: %s", oneLine(err))
	}
	return nil
}

// nightShift has schedules fired and parked runs woken until ctx ends; the function that it returns waits for that.
func (a *program) nightShift(ctx context.Context, projects []web.Project) (wait func()) {
	var all sync.WaitGroup
	for _, served := range projects {
		say := func(text string) {
			for line := range strings.SplitSeq(text, "\n") {
				terminal.Say(a.Err, "loops: %s: %s\n", served.Name, line)
			}
		}
		w := trigger.Watch{
			Open: served.Again, Begin: trigger.Begin(served.Begin), Say: say,
			Tell: func(f trigger.Firing) { say(view.FiringLine(f) + " (schedule of " + f.Loop + ")") },
		}
		all.Go(func() { w.Run(ctx) })
		waker := trigger.Waker{Open: served.Again, Begin: w.Begin, Say: say}
		all.Go(func() { waker.Run(ctx) })
		served.Hooks.Say = say
		all.Go(func() { served.Hooks.Run(ctx) })
		alarms := notify.AlarmWatch{Open: served.Again, Begin: w.Begin, Say: say, Tell: notify.TellAlarms(a.Env)}
		all.Go(func() { alarms.Run(ctx) })
		courier := notify.Courier{Open: served.Again, Say: say}
		all.Go(func() { courier.Run(ctx) })
		pusher := telemetry.Pusher{
			Open: served.Again, Getenv: a.getenv,
			Feed: &telemetry.Feed{Meter: &telemetry.Meter{}, Project: served.Name, Since: time.Now(), Gauges: true},
			Say:  say,
		}
		all.Go(func() { pusher.Run(ctx) })
	}
	return all.Wait
}

// servedProjects are the projects in folders, or the one of this command line, with names that differ.
func (a *program) servedProjects(dirs []string) ([]web.Project, error) {
	if len(dirs) == 0 {
		dirs = []string{a.dir}
	}
	taken := map[string]bool{}
	var all []web.Project
	for _, dir := range dirs {
		inner := &program{IO: a.IO, dir: dir, store: a.store, args: a.args, color: "never"}
		p, err := inner.project()
		if err != nil {
			return nil, err
		}
		if _, err := p.Config(); err != nil {
			return nil, err
		}
		s := &served{app: inner}
		again := func() (*project.Project, error) {
			return project.Open(inner.dir, project.Options{Cwd: inner.Dir, Env: inner.Env, Store: inner.store})
		}
		name := filepath.Base(p.Dir)
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s-%d", filepath.Base(p.Dir), n)
		}
		taken[name] = true
		all = append(all, web.Project{
			Name: name, Dir: p.Dir, Open: s.webSession, Begin: s.beginDetached,
			Again: again, Examine: s.examine, Hooks: &trigger.Desk{Open: again, Begin: s.beginDetached},
		})
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

// beginDetached has another process carry a run, as run -b does, and returns when it is on record, or waits in
// the queue if it was asked to.
func (s *served) beginDetached(ctx context.Context, request engine.Request, words []string) (string, error) {
	switch {
	case request.Start != nil && !request.Start.Lock.Queue:
		request.Start.Lock = projectLock
	case request.Resume != nil && !request.Resume.Lock.Queue:
		request.Resume.Lock = projectLock
	case request.Fork != nil:
		request.Fork.Lock = projectLock
		if run, _, done, err := s.app.resubmit(ctx, *request.Fork, true); done {
			return string(run.ID), err
		}
	}
	_, info, err := s.start(ctx, request, words, false, true)
	return info.ID, err
}
