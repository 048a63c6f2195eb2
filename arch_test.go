// Package arch_test holds the layout of ARCHITECTURE.md: which package may import which, and how long a file may be.
package arch_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"loops/internal/testenv"
)

// arrows says what each package of ours imports beyond the standard library, tests aside. Modules stand for all
// their packages. A new package or arrow is a decision: it is entered here and in ARCHITECTURE.md.
var arrows = map[string][]string{
	"loops/engine/webhook": {
		"loops/engine/project", "loops/engine/schedule", "loops/fsm", "loops/fsm/jq", "loops/fsm/value", "loops/internal/config", "loops/internal/humanize",
		"loops/persistence",
	},
	"loops/internal/install": {"loops/internal/disk"},
	"loops/internal/signing": {},
	"loops/internal/alarm": {
		"loops/engine", "loops/engine/project", "loops/engine/schedule", "loops/fsm", "loops/internal/config", "loops/internal/disk", "loops/internal/humanize", "loops/internal/inspect",
		"loops/internal/lookup", "loops/internal/notify", "loops/persistence",
	},
	"loops/internal/editor": {
		"loops/engine",
		"loops/engine/project",
		"loops/fsm",
		"loops/fsm/loopfile",
		"loops/internal/disk",
		"loops/internal/humanize",
	},
	"loops/internal/access": {
		"loops/internal/disk",
		"loops/internal/humanize",
		"golang.org/x/crypto",
	},
	"loops/internal/access/openid": {
		"loops/internal/access",
		"loops/internal/humanize",
		"github.com/coreos/go-oidc/v3",
		"golang.org/x/oauth2",
	},
	"loops/internal/access/openid/openidtest": {"github.com/go-jose/go-jose/v4"},
	"loops/internal/web": {
		"loops/engine",
		"loops/engine/project",
		"loops/engine/schedule",
		"loops/engine/webhook",
		"loops/fsm",
		"loops/fsm/loopfile",
		"loops/fsm/value",
		"loops/internal/access",
		"loops/internal/access/openid",
		"loops/internal/alarm",
		"loops/internal/answerlink",
		"loops/internal/diagram",
		"loops/internal/doctor",
		"loops/internal/dryrun",
		"loops/internal/editor",
		"loops/internal/humanize",
		"loops/internal/inspect",
		"loops/internal/jsonoutput",
		"loops/internal/lookup",
		"loops/internal/model",
		"loops/internal/plain",
		"loops/internal/report",
		"loops/internal/service",
		"loops/internal/starter",
		"loops/internal/stderrtail",
		"loops/internal/transfer",
		"loops/internal/tryout",
		"loops/internal/ui",
		"loops/internal/ui/views",
		"loops/persistence",
	},
	"loops/internal/ui/asker":           {"loops/engine", "loops/fsm", "loops/internal/plain", "loops/internal/ui", "golang.org/x/sys"},
	"loops/engine/schedule":             {"loops/engine", "loops/engine/project", "loops/fsm", "loops/fsm/cron", "loops/fsm/value", "loops/internal/humanize", "loops/persistence"},
	"loops/persistence/dirstore/ledger": {"loops/internal/disk", "loops/persistence"},
	"loops/fsm/jq":                      {"loops/fsm/value", "github.com/itchyny/gojq"},
	"loops/internal/service": {
		"loops/engine",
		"loops/engine/project",
		"loops/engine/schedule",
		"loops/fsm",
		"loops/fsm/loopfile",
		"loops/fsm/value",
		"loops/internal/humanize",
		"loops/internal/align",
		"loops/internal/inspect",
		"loops/internal/lookup",
		"loops/internal/plain",
		"loops/internal/queue",
		"loops/internal/ui",
		"loops/internal/ui/views",
		"loops/persistence",
	},
	"loops/cmd/loops/cli/complete":    {"loops/internal/completion", "github.com/spf13/cobra", "github.com/spf13/pflag"},
	"loops/cmd/loops/cli/manpages":    {"loops/cmd/loops/cli/complete", "loops/internal/manual", "github.com/spf13/cobra", "github.com/spf13/pflag"},
	"loops/cmd/loops/cli/commandline": {"loops/internal/plain", "loops/persistence/sqlstore", "github.com/spf13/pflag"},
	"loops/cmd/loops/cli/exitcode":    {"loops/engine", "loops/fsm", "loops/internal/inspect", "github.com/spf13/cobra"},
	"loops/cmd/loops/cli/jobcontrol":  {},
	"loops/cmd/loops/cli/stopsignal":  {"loops/engine", "loops/fsm"},
	"loops/cmd/loops/cli/sharedflags": {"loops/engine", "loops/internal/humanize", "loops/internal/worktree", "github.com/spf13/cobra", "github.com/spf13/pflag"},
	"loops/cmd/loops/cli/helppage":    {"loops/docs", "loops/internal/config", "loops/internal/humanize", "github.com/spf13/cobra", "github.com/spf13/pflag"},
	"loops/internal/baseline":         {"loops/engine", "loops/engine/action", "loops/engine/project", "loops/fsm", "loops/fsm/value", "loops/internal/inspect", "loops/internal/humanize", "loops/persistence"},
	"loops/internal/mcptools":         {"loops/docs", "loops/engine", "loops/engine/project", "loops/fsm", "loops/fsm/value", "loops/internal/check", "loops/internal/dryrun", "loops/internal/handover", "loops/internal/humanize", "loops/internal/lookup", "loops/internal/mcpserver", "loops/internal/service", "loops/internal/tryout", "loops/internal/ui", "loops/internal/ui/actionlog", "loops/internal/ui/views", "loops/persistence"},
	"loops/internal/stderrtail":       {},
	"loops/internal/ui/meter":         {"loops/internal/humanize", "loops/internal/plain"},
	"loops/internal/align":            {"loops/fsm", "loops/internal/inspect"},
	"loops/internal/runlog":           {"loops/internal/disk"},
	"loops/internal/gitref":           {"loops/internal/disk", "loops/internal/worktree"},
	"loops/internal/spend":            {"loops/fsm", "loops/internal/config", "loops/internal/humanize", "loops/persistence"},
	"loops/internal/worker":           {"loops/engine", "loops/engine/dispatch", "loops/engine/dispatch/riverq", "loops/engine/project", "loops/engine/schedule", "loops/fsm", "loops/internal/config", "loops/internal/gitref", "loops/internal/handover", "loops/internal/humanize", "loops/internal/signing", "loops/persistence"},
	"loops/internal/grants":           {"loops/engine", "loops/engine/dispatch", "loops/engine/dispatch/riverq", "loops/engine/project", "loops/persistence/sqlstore"},
	"loops/internal/handover":         {"loops/engine", "loops/internal/humanize"},
	"loops/internal/scores":           {"loops/engine", "loops/engine/project", "loops/fsm/policy", "loops/fsm/value", "loops/internal/plain", "loops/internal/ui"},
	"loops/internal/transfer":         {"loops/engine", "loops/engine/project", "loops/fsm/value", "loops/internal/bundle", "loops/internal/disk", "loops/internal/humanize", "loops/internal/ui", "loops/internal/ui/views", "loops/persistence"},
	"loops/internal/starter":          {"loops/engine", "loops/engine/action", "loops/engine/project", "loops/fsm", "loops/fsm/value", "loops/fsm/loopfile", "loops/internal/disk", "loops/internal/humanize", "loops/internal/ui"},
	"loops/internal/queue":            {"loops/engine", "loops/fsm/value", "loops/internal/humanize", "loops/internal/proc", "loops/internal/ui", "loops/internal/ui/views", "loops/persistence", "loops/reconcile"},
	"loops/internal/completion":       {"loops/engine", "loops/engine/project", "loops/fsm", "loops/fsm/loopfile", "loops/fsm/value", "loops/internal/host", "loops/internal/inspect", "loops/internal/lookup", "loops/internal/humanize", "loops/internal/ui/views", "loops/persistence"},
	"loops/internal/ui/treetext":      {"loops/engine", "loops/engine/project", "loops/fsm/value", "loops/internal/humanize", "loops/internal/plain", "loops/internal/ui", "loops/internal/worktree"},
	"loops/internal/ui/viewer":        {"loops/engine", "loops/engine/project", "loops/fsm", "loops/internal/diagram", "loops/internal/humanize", "loops/internal/inspect", "loops/internal/plain", "loops/internal/ui", "loops/internal/ui/meter", "loops/internal/ui/progress", "loops/internal/ui/treetext", "loops/internal/ui/views", "loops/persistence", "loops/reconcile"},
	"loops/internal/ui/actionlog":     {"loops/engine/project", "loops/fsm", "loops/fsm/value", "loops/internal/disk", "loops/internal/inspect", "loops/internal/humanize", "loops/internal/plain", "loops/internal/ui", "loops/persistence", "loops/internal/stderrtail"},
	"loops/internal/check":            {"loops/engine", "loops/engine/action", "loops/engine/project", "loops/engine/schedule", "loops/fsm", "loops/fsm/lint", "loops/fsm/loopfile", "loops/fsm/value", "loops/internal/config", "loops/internal/humanize", "loops/internal/report", "loops/internal/ui", "loops/internal/ui/views"},
	"loops/internal/tryout":           {"loops/engine", "loops/engine/action", "loops/engine/project", "loops/fsm", "loops/fsm/value", "loops/internal/inspect", "loops/internal/humanize", "loops/internal/plain", "loops/internal/dryrun", "loops/internal/ui", "loops/internal/ui/progress", "loops/internal/ui/views"},
	"loops/internal/lookup": {
		"loops/engine",
		"loops/engine/project",
		"loops/fsm",
		"loops/fsm/cron",
		"loops/fsm/loopfile",
		"loops/fsm/value",
		"loops/internal/diagram",
		"loops/internal/humanize",
		"loops/internal/inspect",
		"loops/internal/stderrtail",
		"loops/persistence",
	},
	"loops/persistence/dirstore/segment": {"loops/fsm", "loops/internal/disk", "loops/persistence", "loops/persistence/snapshot"},
	"loops/internal/ui/monitor":          {"loops/engine/project", "loops/fsm", "loops/fsm/value", "loops/internal/diagram", "loops/internal/inspect", "loops/internal/humanize", "loops/internal/plain", "loops/internal/ui", "loops/internal/ui/views", "loops/internal/watch", "loops/persistence", "loops/internal/stderrtail"},
	"loops/internal/ui/views": {
		"loops/internal/ui/treetext",
		"loops/engine/schedule",
		"loops/engine",
		"loops/engine/notifier",
		"loops/engine/project",
		"loops/fsm",
		"loops/fsm/lint",
		"loops/fsm/loopfile",
		"loops/fsm/value",
		"loops/internal/align",
		"loops/internal/config",
		"loops/internal/doctor",
		"loops/internal/humanize",
		"loops/internal/inspect",
		"loops/internal/lookup",
		"loops/internal/model",
		"loops/internal/move",
		"loops/internal/plain",
		"loops/internal/report",
		"loops/internal/ui",
		"loops/internal/ui/progress",
		"loops/internal/worktree",
		"loops/persistence",
		"loops/persistence/sqlstore",
		"loops/reconcile",
	},
	"loops/internal/answerlink":    {},
	"loops/engine/dispatch":        {"loops/fsm", "loops/persistence"},
	"loops/engine/dispatch/riverq": {"loops/engine/dispatch", "loops/persistence", "github.com/jackc/pgx/v5", "github.com/riverqueue/river"},
	"loops/engine/notifier": {
		"loops/engine",
		"loops/engine/action",
		"loops/engine/project",
		"loops/fsm",
		"loops/internal/answerlink",
		"loops/internal/config",
		"loops/internal/disk",
		"loops/internal/humanize",
		"loops/internal/inspect",
		"loops/internal/notify",
		"loops/persistence",
		"loops/reconcile",
	},
	"loops/internal/ui/progress": {"loops/fsm", "loops/fsm/value", "loops/internal/inspect", "loops/internal/humanize", "loops/internal/plain", "loops/internal/report", "loops/internal/ui", "loops/persistence", "loops/internal/stderrtail"},
	"loops/internal/ui":          {"loops/fsm", "loops/fsm/value", "loops/internal/inspect", "loops/internal/humanize", "loops/internal/plain", "loops/persistence", "golang.org/x/term"},
	"loops/engine": {
		"loops/engine/action",
		"loops/engine/project",
		"loops/fsm",
		"loops/fsm/loopfile",
		"loops/fsm/template",
		"loops/fsm/value",
		"loops/internal/bundle",
		"loops/internal/config",
		"loops/internal/disk",
		"loops/internal/host",
		"loops/internal/httpcall",
		"loops/internal/humanize",
		"loops/internal/inspect",
		"loops/internal/model",
		"loops/internal/move",
		"loops/internal/plain",
		"loops/internal/proc",
		"loops/internal/retention",
		"loops/internal/signing",
		"loops/internal/spend",
		"loops/internal/worktree",
		"loops/persistence",
		"loops/reconcile",
	},
	"loops/internal/model": {"loops/fsm", "loops/fsm/loopfile", "loops/fsm/value", "loops/internal/plain"},
	"loops/engine/project": {
		"loops/persistence/dirstore/ledger",
		"loops/engine/action",
		"loops/fsm",
		"loops/fsm/lint",
		"loops/fsm/loopfile",
		"loops/fsm/value",
		"loops/internal/answer",
		"loops/internal/config",
		"loops/internal/disk",
		"loops/internal/host",
		"loops/internal/humanize",
		"loops/internal/move",
		"loops/internal/plain",
		"loops/internal/price",
		"loops/internal/stderrtail",
		"loops/internal/worktree",
		"loops/persistence",
		"loops/persistence/dirstore",
		"loops/persistence/sqlstore",
		"loops/reconcile",
	},
	"loops/bench":     {"loops/fsm", "loops/internal/pgtest", "loops/persistence", "loops/persistence/dirstore", "github.com/creack/pty"},
	"loops/cmd/loops": {"loops/cmd/loops/cli"},
	"loops/cmd/loops/cli": {
		"loops/engine/schedule",
		"loops/engine/webhook",
		"loops/cmd/loops/cli/commandline",
		"loops/cmd/loops/cli/complete",
		"loops/cmd/loops/cli/exitcode",
		"loops/cmd/loops/cli/helppage",
		"loops/cmd/loops/cli/jobcontrol",
		"loops/cmd/loops/cli/manpages",
		"loops/cmd/loops/cli/sharedflags",
		"loops/cmd/loops/cli/stopsignal",
		"loops/internal/signing",
		"loops/engine/dispatch", "loops/internal/worker", "loops/engine",
		"loops/engine/action",
		"loops/engine/notifier",
		"loops/engine/project",
		"loops/fsm",
		"loops/fsm/loopfile",
		"loops/fsm/policy",
		"loops/fsm/value",
		"loops/internal/align",
		"loops/internal/access",
		"loops/internal/alarm",
		"loops/internal/install",
		"loops/internal/baseline",
		"loops/internal/bundle",
		"loops/internal/check",
		"loops/internal/completion",
		"loops/internal/config",
		"loops/internal/diagram",
		"loops/internal/disk",
		"loops/internal/doctor",
		"loops/internal/dryrun",
		"loops/internal/grants", "loops/internal/handover",
		"loops/internal/host",
		"loops/internal/humanize",
		"loops/internal/inspect",
		"loops/internal/jsonoutput",
		"loops/internal/lookup",
		"loops/internal/mcp",
		"loops/internal/mcpserver",
		"loops/internal/mcptools",
		"loops/internal/plain",
		"loops/internal/price",
		"loops/internal/proc",
		"loops/internal/queue",
		"loops/internal/report",
		"loops/internal/runlog",
		"loops/internal/scores",
		"loops/internal/service",
		"loops/internal/starter",
		"loops/internal/transfer",
		"loops/internal/tryout",
		"loops/internal/ui",
		"loops/internal/ui/actionlog",
		"loops/internal/ui/asker",
		"loops/internal/ui/dashboard",
		"loops/internal/ui/filter",
		"loops/internal/ui/meter",
		"loops/internal/ui/monitor",
		"loops/internal/ui/progress",
		"loops/internal/ui/treetext",
		"loops/internal/ui/viewer",
		"loops/internal/ui/views",
		"loops/internal/upgrade",
		"loops/internal/watch",
		"loops/internal/web",
		"loops/internal/worktree",
		"loops/persistence",
		"loops/persistence/checkpoint",
		"loops/persistence/sqlstore",
		"loops/reconcile",
		"github.com/spf13/cobra",
		"github.com/spf13/pflag",
		"golang.org/x/term",
	},
	"loops/docs":                                  {},
	"loops/docs/gen":                              {"loops/docs", "loops/fsm/lint", "loops/fsm/loopfile", "loops/internal/jsonoutput"},
	"loops/fsm":                                   {"loops/fsm/expression", "loops/fsm/jq", "loops/fsm/pattern", "loops/fsm/template", "loops/fsm/value"},
	"loops/fsm/lint":                              {"loops/fsm", "loops/fsm/expression", "loops/fsm/jq", "loops/fsm/pattern", "loops/fsm/policy", "loops/fsm/template", "loops/fsm/value", "loops/internal/humanize"},
	"loops/fsm/loopfile":                          {"loops/fsm", "loops/fsm/cron", "loops/fsm/expression", "loops/fsm/jq", "loops/fsm/pattern", "loops/fsm/template", "loops/fsm/value", "loops/internal/humanize", "gopkg.in/yaml.v3"},
	"loops/fsm/cron":                              {},
	"loops/fsm/policy":                            {"loops/fsm/value"},
	"loops/fsm/template":                          {"loops/fsm/jq", "loops/fsm/value", "loops/internal/humanize"},
	"loops/fsm/expression":                        {"loops/fsm/template", "loops/fsm/value", "github.com/expr-lang/expr"},
	"loops/fsm/pattern":                           {"github.com/dlclark/regexp2"},
	"loops/fsm/value":                             {},
	"loops/engine/action":                         {"loops/fsm", "loops/fsm/value", "loops/internal/answer", "loops/internal/disk", "loops/internal/host", "loops/internal/httpcall", "loops/internal/proc", "golang.org/x/sys"},
	"loops/internal/httpcall":                     {},
	"loops/internal/jsonoutput":                   {"loops/internal/humanize", "github.com/google/jsonschema-go"},
	"loops/internal/answer":                       {"github.com/google/jsonschema-go"},
	"loops/internal/bundle":                       {"loops/fsm", "loops/fsm/value", "loops/internal/disk", "loops/persistence", "loops/persistence/snapshot", "github.com/klauspost/compress"},
	"loops/internal/config":                       {"loops/internal/host", "loops/internal/humanize", "gopkg.in/yaml.v3", "loops/internal/signing"},
	"loops/internal/diagram":                      {"loops/fsm", "golang.org/x/text"},
	"loops/internal/disk":                         {"golang.org/x/sys"},
	"loops/internal/doctor":                       {"loops/engine/action", "loops/engine/project", "loops/engine/schedule", "loops/fsm", "loops/fsm/value", "loops/internal/access", "loops/internal/config", "loops/internal/host", "loops/internal/humanize", "loops/internal/plain", "loops/internal/price", "loops/persistence", "loops/reconcile"},
	"loops/internal/testenv":                      {"github.com/rogpeppe/go-internal"},
	"loops/internal/host":                         {"loops/fsm/pattern"},
	"loops/internal/hosttest":                     {"loops/internal/testenv"},
	"loops/internal/move":                         {"loops/fsm", "loops/fsm/value"},
	"loops/internal/notify":                       {"loops/internal/config", "loops/internal/httpcall", "loops/internal/proc"},
	"loops/internal/pgtest":                       {},
	"loops/internal/programtest":                  {"loops/internal/testenv", "loops/internal/pgtest"},
	"loops/internal/humanize":                     {},
	"loops/internal/manual":                       {},
	"loops/internal/plain":                        {"golang.org/x/text"},
	"loops/internal/mcp":                          {"loops/internal/humanize", "loops/internal/proc", "github.com/modelcontextprotocol/go-sdk"},
	"loops/internal/mcpserver":                    {"loops/internal/humanize", "github.com/modelcontextprotocol/go-sdk"},
	"loops/internal/price":                        {"loops/internal/humanize", "gopkg.in/yaml.v3"},
	"loops/internal/proc":                         {"github.com/shirou/gopsutil/v3", "golang.org/x/sys"},
	"loops/internal/dryrun":                       {"loops/fsm", "loops/fsm/template", "loops/fsm/value", "loops/internal/humanize"},
	"loops/internal/report":                       {"loops/fsm", "loops/fsm/value", "loops/fsm/lint", "loops/internal/diagram", "loops/internal/inspect"},
	"loops/internal/retention":                    {"loops/persistence"},
	"loops/internal/inspect":                      {"loops/fsm", "loops/fsm/value", "loops/internal/diagram", "loops/internal/humanize", "loops/internal/plain", "loops/persistence"},
	"loops/internal/ui/filter":                    {"loops/internal/humanize", "loops/internal/plain", "github.com/itchyny/gojq"},
	"loops/internal/ui/dashboard":                 {"loops/internal/watch", "loops/persistence", "github.com/gdamore/tcell/v3", "golang.org/x/term"},
	"loops/internal/watch":                        {"loops/fsm", "loops/internal/diagram", "github.com/clipperhouse/displaywidth"},
	"loops/internal/worktree":                     {"loops/internal/disk", "loops/internal/humanize"},
	"loops/internal/upgrade":                      {"golang.org/x/mod/semver"},
	"loops/internal/vectors":                      {"loops/fsm/template", "loops/fsm/value"},
	"loops/persistence":                           {"loops/fsm", "loops/fsm/value", "loops/internal/disk", "loops/persistence/snapshot"},
	"loops/persistence/checkpoint":                {},
	"loops/persistence/checkpoint/checkpointtest": {"loops/persistence/checkpoint"},
	"loops/persistence/sqlstore":                  {"loops/fsm", "loops/fsm/pattern", "loops/fsm/value", "loops/internal/disk", "loops/persistence", "loops/persistence/snapshot", "loops/persistence/checkpoint", "modernc.org/sqlite", "github.com/jackc/pgx/v5"},
	"loops/persistence/dirstore":                  {"loops/fsm", "loops/fsm/value", "loops/internal/disk", "loops/persistence", "loops/persistence/dirstore/index", "loops/persistence/dirstore/segment", "loops/persistence/snapshot", "golang.org/x/sys"},
	"loops/persistence/dirstore/index":            {"loops/internal/disk"},
	"loops/persistence/snapshot":                  {"loops/fsm", "loops/fsm/value"},
	"loops/fsm/simtest":                           {"loops/fsm", "loops/fsm/loopfile", "loops/fsm/value", "loops/persistence/snapshot"},
	"loops/persistence/storetest":                 {"loops/fsm", "loops/fsm/value", "loops/internal/testenv", "loops/persistence"},
	"loops/reconcile":                             {"loops/persistence", "loops/internal/proc"},
	"loops/release":                               {"gopkg.in/yaml.v3"},
}

// forbidden names packages of the standard library that a package may not import either, with what lies below them, and why.
var forbidden = map[string]map[string]string{
	"loops/fsm":                          {"os": "it sees no disk and no process: it acts through its ports", "syscall": noWorld, "net": noWorld, "log": noPrint, "io/ioutil": noWorld},
	"loops/fsm/loopfile":                 {"os/exec": noProcess, "net": noWorld, "log": noPrint},
	"loops/fsm/pattern":                  {"os": "a pattern looks at text", "net": noWorld, "log": noPrint},
	"loops/fsm/cron":                     {"os": "a schedule is text, and time zones are built in", "net": noWorld, "log": noPrint},
	"loops/fsm/expression":               {"os": "an expression sees its scope", "net": noWorld, "log": noPrint},
	"loops/fsm/template":                 {"os": "a template sees its scope", "net": noWorld, "log": noPrint},
	"loops/fsm/value":                    {"os": "a value is memory", "net": noWorld, "log": noPrint},
	"loops/fsm/policy":                   {"os": "a table of rules is text", "net": noWorld, "log": noPrint},
	"loops/internal/bundle":              {"os/exec": noProcess},
	"loops/internal/diagram":             {"os": "a drawing is text"},
	"loops/internal/move":                {"os": "which paths are new follows from the old ones"},
	"loops/internal/manual":              {"os": "a page follows from its text"},
	"loops/internal/dryrun":              {"os": "a dry run acts through the ports of fsm"},
	"loops/internal/report":              {"os": "a report is text"},
	"loops/internal/retention":           {"os": "what may be removed is chosen from what is recorded"},
	"loops/internal/inspect":             {"os": "what a run did follows from its events"},
	"loops/internal/watch":               {"os": "a screen is characters"},
	"loops/internal/worktree":            {"os/exec": "git is reached through the port", "net": noWorld, "log": noPrint},
	"loops/persistence":                  {"os/exec": noProcess, "net": noWorld, "log": noPrint},
	"loops/persistence/dirstore":         {"os/exec": noProcess, "net": noWorld, "log": noPrint},
	"loops/persistence/dirstore/segment": {"os/exec": noProcess, "net": noWorld, "log": noPrint},
	"loops/persistence/snapshot":         {"os": "a memory is lines of text", "net": noWorld, "log": noPrint},
	"loops/persistence/checkpoint":       {"os/exec": noProcess, "net": noWorld, "log": noPrint},
}

const (
	noPrint   = "only printers print"
	noProcess = "it starts no process"
	noWorld   = "it reaches nothing outside its ports"
)

const maxLines = 400

func TestArrows(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range packages(t) {
		if len(p.GoFiles) == 0 {
			continue // tests only, like this folder
		}
		seen[p.ImportPath] = true
		allowed, ok := arrows[p.ImportPath]
		if !ok {
			t.Errorf("%s is a package that arrows does not know: say there what it may import", p.ImportPath)
			continue
		}
		for _, problem := range checkImports(p, allowed, forbidden[p.ImportPath]) {
			t.Error(problem)
		}
	}
	for p := range arrows {
		if !seen[p] {
			t.Errorf("arrows names %s, which does not exist", p)
		}
	}
}

func checkImports(p goPackage, allowed []string, denied map[string]string) (problems []string) {
	for _, imp := range p.Imports {
		first, _, _ := strings.Cut(imp, "/")
		ours := first == "loops"
		std := !ours && !strings.Contains(first, ".")
		switch {
		case std && denial(denied, imp) != "":
			problems = append(problems, p.ImportPath+" may not import "+imp+": "+denial(denied, imp))
		case std, ours && slices.Contains(allowed, imp):
		case !ours && slices.ContainsFunc(allowed, func(a string) bool { return within(imp, a) }):
		default:
			problems = append(problems, p.ImportPath+" imports "+imp+", which is not one of its arrows")
		}
	}
	return problems
}

// denial returns why a package is denied, "" if it is not.
func denial(denied map[string]string, imp string) string {
	for d, why := range denied {
		if within(imp, d) {
			return why
		}
	}
	return ""
}

func within(imp, tree string) bool { return imp == tree || strings.HasPrefix(imp, tree+"/") }

// TestCheckImports makes sure that TestArrows can fail.
func TestCheckImports(t *testing.T) {
	t.Parallel()
	p := goPackage{ImportPath: "loops/x", Imports: []string{"fmt", "os/exec", "loops/y", "loops/z", "gopkg.in/yaml.v3", "example.org/a/b"}}
	got := checkImports(p, []string{"loops/y", "example.org/a"}, map[string]string{"os": "it sees no disk"})
	want := []string{
		"loops/x may not import os/exec: it sees no disk",
		"loops/x imports loops/z, which is not one of its arrows",
		"loops/x imports gopkg.in/yaml.v3, which is not one of its arrows",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

const linterFile, linterBegin, linterEnd = ".golangci.yml", "        # begin: made of the arrows in arch_test.go by go test . -update\n", "        # end\n"

// TestLinterArrows: depguard's rules are the arrows, so that an editor shows a wrong import while it is typed.
func TestLinterArrows(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(linterFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), linterBegin)
	_, after, ok2 := strings.Cut(rest, linterEnd)
	if !ok || !ok2 {
		t.Fatalf("%s lacks the lines %q and %q", linterFile, linterBegin, linterEnd)
	}
	testenv.Golden(t, linterFile, before+linterBegin+linterRules()+linterEnd+after)
}

// linterRules are depguard's rules: one for each package, strict. Ours are named exactly, modules with all their packages.
func linterRules() string {
	var b strings.Builder
	for _, p := range slices.Sorted(maps.Keys(arrows)) {
		dir := strings.TrimPrefix(p, "loops/")
		allow := []string{"$gostd"}
		for _, a := range arrows[p] {
			if strings.HasPrefix(a, "loops/") {
				a += "$"
			}
			allow = append(allow, a)
		}
		fmt.Fprintf(&b, "        %s:\n          list-mode: strict\n          files: [\"**/%s/*.go\", \"!$test\"]\n          allow: [%s]\n",
			strings.ReplaceAll(dir, "/", "-"), dir, strings.Join(allow, ", "))
		for i, pkg := range slices.Sorted(maps.Keys(forbidden[p])) {
			if i == 0 {
				b.WriteString("          deny:\n")
			}
			fmt.Fprintf(&b, "            - {pkg: %s, desc: %q}\n", pkg, forbidden[p][pkg])
		}
	}
	return b.String()
}

type goPackage struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,GoFiles,Imports", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var list []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

// TestFileLength wants a reason, in the first comment, of every file over 400 lines that is not a test.
func TestFileLength(t *testing.T) {
	t.Parallel()
	reason := regexp.MustCompile(`\b(file|table) is long\b`)
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "bin") {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		n := bytes.Count(src, []byte("\n"))
		if n > maxLines && !reason.MatchString(firstComment(t, name, src)) {
			t.Errorf("%s has %d lines: split it, or say in its first comment why it is so long", name, n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

const maxPackage = 4500

// longest are how long packages that have a reason to be long may get.
var longest = map[string]int{"cmd/loops/cli": 10_000}

// largePackage is a row of the table in ARCHITECTURE.md that says why a package is so long.
var largePackage = regexp.MustCompile("(?m)^\\| `([a-z/]+)` \\| [^|]*\\w[^|]* \\|$")

// TestPackageLength wants a reason, in ARCHITECTURE.md, of every package over 4,500 lines, tests aside, and of no other.
func TestPackageLength(t *testing.T) {
	t.Parallel()
	lines := map[string]int{}
	for _, p := range packages(t) {
		for _, name := range p.GoFiles {
			src, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			lines[strings.TrimPrefix(p.ImportPath, "loops/")] += bytes.Count(src, []byte("\n"))
		}
	}
	for _, problem := range packageLengths(lines, read(t, "ARCHITECTURE.md")) {
		t.Error(problem)
	}
}

// packageLengths returns which packages are too long without a row in the table, and which rows are of packages that are not.
func packageLengths(lines map[string]int, page string) (problems []string) {
	_, table, _ := strings.Cut(page, "\n## Packages over 4,500 lines\n")
	table, _, _ = strings.Cut(table, "\n## ")
	reasons := map[string]bool{}
	for _, m := range largePackage.FindAllStringSubmatch(table, -1) {
		reasons[m[1]] = true
		if n := lines[m[1]]; n <= maxPackage {
			problems = append(problems, fmt.Sprintf("ARCHITECTURE.md says why %s is long, and it has %d lines: remove the row", m[1], n))
		}
	}
	for _, p := range slices.Sorted(maps.Keys(lines)) {
		if most, set := longest[p]; set && lines[p] > most {
			problems = append(problems, fmt.Sprintf("%s has %d lines, and may have %d: move what other faces would call below it", p, lines[p], most))
		}
		if lines[p] > maxPackage && !reasons[p] {
			problems = append(problems, fmt.Sprintf("%s has %d lines: split it, or say under \"Packages over 4,500 lines\" in ARCHITECTURE.md why it is so long", p, lines[p]))
		}
	}
	return problems
}

// TestPackageLengths makes sure that TestPackageLength can fail.
func TestPackageLengths(t *testing.T) {
	t.Parallel()
	page := "\n## Packages over 4,500 lines\n\n| package | why |\n|---|---|\n| `a/b` | it is one table |\n| `c` |  |\n| `d` | it was long |\n\n## More\n\n| `e` | elsewhere |\n"
	page = strings.Replace(page, "| `d` |", "| `cmd/loops/cli` | a file for each command |\n| `d` |", 1)
	got := packageLengths(map[string]int{"a/b": 4501, "c": 4501, "cmd/loops/cli": 10_001, "d": 4500, "e": 5000, "f": 4500}, page)
	want := []string{
		"ARCHITECTURE.md says why d is long, and it has 4500 lines: remove the row",
		`c has 4501 lines: split it, or say under "Packages over 4,500 lines" in ARCHITECTURE.md why it is so long`,
		"cmd/loops/cli has 10001 lines, and may have 10000: move what other faces would call below it",
		`e has 5000 lines: split it, or say under "Packages over 4,500 lines" in ARCHITECTURE.md why it is so long`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func firstComment(t *testing.T, name string, src []byte) string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Comments) == 0 {
		return ""
	}
	return f.Comments[0].Text()
}
