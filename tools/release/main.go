// Command release makes everything that users install, in one folder: a static program for each platform in an
// archive with its manual pages and completions, packages for Debian and Red Hat systems, tarballs for npm, an
// image for containers, a Homebrew cask, install.sh, a bill of materials and the checksums of all of it. The
// same commit gives the same bytes, whenever and wherever it is built, if the tools of tools/release/go.mod are
// used; the image also depends on the packages of Debian.
//
// Nothing is published. URL, which defaults to the environment variable RELEASE_URL, is where the files will be
// found later.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

// noHome stands in for the address of downloads until the project has one. The domain never resolves (RFC 2606).
const noHome = "https://loops.invalid/download"

var allTargets = []target{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}

// A target is a platform as Go names it.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

// A release is one version and where it is put.
type release struct {
	out     string // the folder of everything
	work    string // a folder for what is between
	url     string // where out will be found
	version string // without the v of a tag
	commit  string
	date    time.Time // of the commit, or SOURCE_DATE_EPOCH
	targets []target
	nfpm    string // the program that makes packages
}

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		cancel()
		os.Exit(1) //nolint:gocritic // cancel was called
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	r := release{}
	flags.StringVar(&r.out, "out", "dist", "the `folder` to fill; what is in it is removed")
	flags.StringVar(&r.url, "url", os.Getenv("RELEASE_URL"), "where the files will be found, a `URL`")
	flags.StringVar(&r.version, "version", "", "the version (default: the tag of the commit, or 0.0.0 with its "+
		"date and hash)")
	flags.StringVar(&r.nfpm, "nfpm", "bin/nfpm", "the `program` that makes packages")
	only := flags.String("only", "", "`platforms` to build for, as in linux/amd64,darwin/arm64 (default: all)")
	image := flags.Bool("image", false, "make the image for containers, too; it needs mmdebstrap and a "+
		"mirror of Debian")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if r.url == "" {
		r.url = noHome
		fmt.Fprintf(os.Stderr, "release: RELEASE_URL is not set: the cask and install.sh name %s, which "+
			"does not exist\n", noHome)
	}
	if err := r.choose(*only); err != nil {
		return err
	}
	if err := r.identify(ctx); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "loops-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	r.work = work
	return r.make(ctx, *image)
}

func (r *release) choose(only string) error {
	if only == "" {
		r.targets = allTargets
		return nil
	}
	for name := range strings.SplitSeq(only, ",") {
		found := false
		for _, t := range allTargets {
			if t.String() == name {
				r.targets, found = append(r.targets, t), true
			}
		}
		if !found {
			return fmt.Errorf("-only %q: no such platform; there are %v", name, allTargets)
		}
	}
	return nil
}

// make fills the folder. The checksums come last: they are of everything else.
func (r *release) make(ctx context.Context, image bool) error {
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil { //nolint:gosec // it is to be handed out
		return err
	}
	steps := []struct {
		what string
		do   func(context.Context) error
	}{
		{"programs", r.programs},
		{"pages and completions", r.documents},
		{"archives", r.archives},
		{"bill of materials", r.bill},
		{"packages", r.packages},
		{"npm", r.npm},
		{"cask, install.sh and latest.json", r.scripts},
	}
	if image {
		steps = append(steps, struct {
			what string
			do   func(context.Context) error
		}{"image", r.image})
	}
	for _, s := range steps {
		begin := time.Now()
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
		fmt.Fprintf(os.Stderr, "release: %-34s %6.1f s\n", s.what, time.Since(begin).Seconds())
	}
	return r.checksums()
}

// name returns the path of a file of the release: loops_VERSION and what follows.
func (r *release) name(rest string) string {
	return filepath.Join(r.out, "loops_"+r.version+rest)
}

func (r *release) program(t target) string {
	return filepath.Join(r.work, "bin", t.os+"_"+t.arch, "loops")
}
