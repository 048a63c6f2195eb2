package cli

import (
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/api"
	"loops/internal/config"
	"loops/internal/disk"
	"loops/internal/terminal"
)

type signOptions struct {
	key            string // a file
	made, public   bool
	json, checking bool
}

func newSignCommand(a *program) *cobra.Command {
	var o signOptions
	cmd := &cobra.Command{
		Use:   "sign [NAME|PATH...]",
		Short: "Sign loops, so that workers run them without having them",
		Long: `sign writes the signature of a loop, with all loops that it names, into a file beside it (fix.yaml.sig). submit sends a signed
loop along with its run, and a worker that accepts the key runs it although its own checkout lacks the loop, or has another
one: dispatch.accept: signed and dispatch.keys in the settings of the worker. After a change the loop has to be signed again.

A key is made once, by --new-key, in $XDG_CONFIG_HOME/loops/signing.key or the file of --private-key. It stays secret; what
--public prints is for workers.` + exitHelp(exitOK, exitFailed, exitUsage, exitInvalid, exitNotFound),
		Example: `  loops sign --new-key
  loops sign fix
  loops sign --check fix deploy`,
		Args: arguments(0, -1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch alone := o.made || o.public; {
			case o.made && o.public || alone && o.checking:
				return usageError{"give one of --new-key, --public and --check", "loops sign --help"}
			case alone && len(args) > 0:
				return usageError{"--new-key and --public are about the key: leave out the loops", "loops sign --help"}
			case !alone && len(args) == 0:
				return usageError{"which loop? NAME or PATH is missing", "loops sign --help"}
			}
			return runSign(a, o, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.key, "private-key", "", "the private key is in `FILE`")
	flags.BoolVar(&o.made, "new-key", false, "make a key, and print its public part")
	flags.BoolVar(&o.public, "public", false, "print the public part of the key")
	flags.BoolVar(&o.checking, "check", false, "change nothing, and fail if a loop is not signed as it is now")
	flags.BoolVarP(&o.json, "json", "j", false, "print a JSON array")
	return cmd
}

func runSign(a *program, o signOptions, names []string) error {
	if o.checking {
		return o.each(a, names, checkSignature)
	}
	file, err := o.keyFile(a)
	if err != nil {
		return err
	}
	if o.made {
		public, err := config.NewKey(file)
		if errors.Is(err, fs.ErrExist) {
			return failure(engine.Failed, "%s already exists; loops sign --public prints its public part", file)
		}
		if err != nil {
			return failure(engine.Failed, "cannot make a key in %s: %v", file, project.Cause(err))
		}
		terminal.SayLine(a.Err, "The key is in "+file+". Keep it secret. Its public part, for dispatch.keys in the "+
			"settings of workers:")
		terminal.SayLine(a.out, public)
		return nil
	}
	key, err := config.ReadKey(file)
	if errors.Is(err, fs.ErrNotExist) {
		return failure(engine.NotFound, "there is no key in %s; loops sign --new-key makes one", file)
	}
	if err != nil {
		return failure(engine.Failed, "the key in %s cannot be used: %v", file, project.Cause(err))
	}
	if o.public {
		terminal.SayLine(a.out, config.PublicKey(key))
		return nil
	}
	return o.each(a, names, func(loop string, definition []byte) (string, error) {
		made := config.Sign(key, definition)
		return made.Key, disk.WriteWhole(config.SignatureFile(loop), func(w io.Writer) error {
			_, err := io.WriteString(w, made.Text())
			return err
		})
	})
}

// keyFile is where the private key is.
func (o signOptions) keyFile(a *program) (string, error) {
	if o.key != "" {
		return o.key, nil
	}
	file := config.KeyFile(a.getenv)
	if file == "" {
		return "", usageError{
			"neither XDG_CONFIG_HOME nor HOME says where the key is: give --private-key FILE",
			"loops sign --help",
		}
	}
	return file, nil
}

// checkSignature returns the key that signed a loop file, whose definition this is.
func checkSignature(loop string, definition []byte) (string, error) {
	s, err := config.ReadSignature(loop)
	if err == nil && s == nil {
		err = errors.New("it is not signed")
	}
	if err == nil {
		err = s.Verify(definition, []string{s.Key})
	}
	if err != nil {
		return "", err
	}
	return s.Key, nil
}

// each has do look at the definition of each loop, and shows the key that it returns. One that is not signed
// does not keep the others from it.
func (o signOptions) each(a *program, names []string,
	do func(loop string, definition []byte) (key string, err error),
) error {
	e, err := a.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	p := e.Project()
	all, unsigned := []any{}, []string(nil)
	for _, name := range names {
		l, definition, err := e.DefinitionText(name, a.warner(p, true))
		if err != nil {
			return a.refused(err)
		}
		key, wrong := do(l.File, definition)
		if wrong != nil && !o.checking {
			return failure(engine.Failed, "%s cannot be written: %v", p.Short(config.SignatureFile(l.File)),
				project.Cause(wrong))
		}
		text, said := "signed by "+key, ""
		if wrong != nil {
			said = project.Cause(wrong).Error()
			text, unsigned = said, append(unsigned, l.Name)
		}
		all = append(all, api.Signed{
			Loop: l.Name, File: l.File, Signature: config.SignatureFile(l.File),
			Key: api.Text(key), Error: api.Text(said),
		})
		if !o.json {
			terminal.SayLines(a.out, terminal.Block(p.Short(config.SignatureFile(l.File))+": "+text))
		}
	}
	if o.json {
		if err := terminal.WriteJSON(a.out, all); err != nil {
			return err
		}
	}
	if len(unsigned) > 0 {
		return failure(engine.Invalid, "not signed as it is now: %s; to sign it: loops sign %s",
			strings.Join(unsigned, ", "), strings.Join(unsigned, " "))
	}
	return nil
}
