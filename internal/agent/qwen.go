package agent

import (
	"errors"
	"strings"
	"syscall"

	"loops/fsm/pyregexp"
)

// Qwen Code: driven for real at 0.15.10.
var qwen = &CLI{
	State:    []string{"~/.qwen"},
	Settings: []string{"~/.qwen/settings.json", "~/.qwen/QWEN.md", "~/.qwen/commands", "~/.qwen/extensions"},
	Name:     "qwen",
	Aliases:  []string{"qwen-code"},
	Program:  "qwen",
	Login:    "qwen auth",
	Stop:     syscall.SIGINT,
	Has:      qwenHas,
	Command:  qwenCommand,
	Stream: func(r Request) Stream {
		m := &messages{
			req: r, name: "qwen", inclusive: true, session: true, hidden: qwenError,
			exits: map[int]Class{52: Other, 53: AdminLimit},
		}
		if r.Judge && r.Schema != "" {
			m.exits[53] = SchemaMismatch // it used up its turns on answers that did not match
		}
		return m
	},
}

var qwenHas = Features{
	Model: true, Tools: true, Session: true, Permissions: true, Schema: true, Usage: true,
	Live: true,
}

// qwenSettings have a lower priority than those of the user and of the system, who may have reasons of their own.
// Without them it asks the model again after every prompt what to remember, sends statistics, and retries inside its
// retries.
const qwenSettings = `{
  "privacy": {"usageStatisticsEnabled": false},
  "memory": {"enableManagedAutoMemory": false},
  "model": {"generationConfig": {"maxRetries": 0}}
}
`

// qwenTools are its names for the tools that loop files name as claude does.
var qwenTools = map[string]string{
	"Read": "read_file", "Write": "write_file", "Edit": "edit", "Bash": "run_shell_command", "Glob": "glob",
	"Grep": "grep_search", "LS": "list_directory", "WebFetch": "web_fetch", "TodoWrite": "todo_write", "Task": "agent",
}

func qwenCommand(r Request) (Command, error) {
	if err := checkWords("qwen", r); err != nil {
		return Command{}, err
	}
	if strings.TrimSpace(r.Text) == "" {
		return Command{}, errors.New("the prompt is empty, which qwen refuses")
	}
	c := Command{
		Args:    []string{"--output-format", "stream-json"},
		Stdin:   r.Text,
		Env:     append(commonEnv(r), "QWEN_CODE_NO_RELAUNCH=1", "QWEN_CODE_UNATTENDED_RETRY="),
		Ignored: ignored(r, qwenHas),
	}
	if r.Scratch != "" {
		file, err := scratchFile(r, "qwen-settings.json", qwenSettings)
		if err != nil {
			return Command{}, err
		}
		c.Env = append(c.Env, "QWEN_CODE_SYSTEM_DEFAULTS_PATH="+file)
	}
	if r.Skip {
		c.Args = append(c.Args, "--yolo")
	}
	if r.Model != "" {
		c.Args = append(c.Args, "--model", r.Model)
	}
	if r.Tools != nil && len(r.Tools) == 0 {
		c.Args = append(c.Args, "--core-tools=none") // an empty list would be all of them
	}
	for _, tool := range r.Tools {
		if name := qwenTools[tool]; name != "" {
			tool = name
		}
		c.Args = append(c.Args, "--core-tools="+tool)
	}
	if r.Session != "" {
		c.Args = append(c.Args, "--resume", r.Session)
	}
	if !r.Judge {
		return c, nil
	}
	c.Args = append(c.Args, "--chat-recording=false")
	if r.Schema != "" {
		file, err := scratchFile(r, "schema.json", r.Schema)
		if err != nil {
			return Command{}, err
		}
		// Without a limit it asks for an answer that matches for ever.
		c.Args = append(c.Args, "--json-schema", "@"+file, "--max-session-turns", "6")
	}
	return c, nil
}

// qwenErrorPattern is how a final message ends when the API failed: the process exits with 0 and calls it a success.
var qwenErrorPattern = pyregexp.Lazy(`(?s)\[API Error: ([^\n]*)\](\s*|\nPossible quota limitations[^\n]*\s*)$`)

func qwenError(text string) (string, bool) {
	tail := text
	if len(tail) > maxTail {
		tail = tail[len(tail)-maxTail:]
	}
	at := strings.LastIndex(tail, "[API Error: ")
	if at < 0 {
		return "", false
	}
	m := qwenErrorPattern().FindStringSubmatch(tail[at:])
	if m == nil {
		return "", false
	}
	return "API Error: " + m[1], true
}

// maxTail is how far from the end of a message an error of the API is looked for.
const maxTail = 16 << 10
