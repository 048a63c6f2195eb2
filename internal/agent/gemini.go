package agent

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
)

// Gemini CLI: driven for real at 0.61.0.
var gemini = &CLI{
	State:    []string{"~/.gemini"},
	Settings: []string{"~/.gemini/settings.json", "~/.gemini/GEMINI.md", "~/.gemini/commands", "~/.gemini/extensions"},
	Name:     "gemini",
	Program:  "gemini",
	Login:    "gemini",
	Stop:     syscall.SIGTERM, // it exits with 0 and leaves the processes of its tools, at INT as well
	Has:      geminiHas,
	Command:  func(r Request) (Command, error) { return geminiCommand(r, os.Geteuid() == 0) },
	Stream:   func(r Request) Stream { return &geminiStream{req: r, denied: map[string]string{}} },
}

// geminiDefaults are settings that the user's own come before. When to try again is decided by the runner, where the
// limits of the run are known: left alone, it tries ten times, for minutes.
const geminiDefaults = `{"general": {"maxAttempts": 1}, "privacy": {"usageStatisticsEnabled": false}}
`

// geminiDefaultsVar names the file of such settings. It is believed only where it and all folders above belong to root
// and no one else may write there; an administrator's own is left alone.
const geminiDefaultsVar = "GEMINI_CLI_SYSTEM_DEFAULTS_PATH"

var geminiHas = Features{Model: true, Session: true, Permissions: true, Usage: true}

func geminiCommand(r Request, root bool) (Command, error) {
	if err := checkWords("gemini", r); err != nil {
		return Command{}, err
	}
	if strings.TrimSpace(r.Text) == "" {
		return Command{}, errors.New("the prompt is empty, which gemini refuses")
	}
	c := Command{Stdin: r.Text, Env: commonEnv(r), Ignored: ignored(r, geminiHas)}
	// It would start itself again as another process, which takes a second and gets no signals.
	c.Env = append(c.Env, "GEMINI_CLI_NO_RELAUNCH=1")
	if _, given := os.LookupEnv(geminiDefaultsVar); root && !given && !exists("/etc/gemini-cli/system-defaults.json") &&
		!exists("/Library/Application Support/GeminiCli/system-defaults.json") {
		path, err := scratchFile(r, "defaults.json", geminiDefaults)
		if err != nil {
			return Command{}, err
		}
		c.Env = append(c.Env, geminiDefaultsVar+"="+path)
	}
	c.Args = []string{"--output-format", "stream-json"}
	switch {
	case r.Judge:
		// It is to answer only: without a person to ask it has no tool that changes anything.
		c.Args = append(c.Args, "--skip-trust", "--approval-mode", "default")
	case r.Skip:
		c.Args = append(c.Args, "--skip-trust", "--approval-mode", "yolo")
	}
	if r.Model != "" {
		c.Args = append(c.Args, "--model", r.Model)
	}
	if r.Session != "" {
		c.Args = append(c.Args, "--resume", r.Session)
	}
	return c, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// geminiStream reads the events of --output-format stream-json.
type geminiStream struct {
	req Request
	out printed

	started        bool
	session, model string
	message        strings.Builder   // the one that is being said
	last           string            // message, where message is empty
	open           bool              // the output does not end with a line end
	acted          bool              // the agent said or did something
	tools          map[string]string // id to name, of calls without a result
	denied         map[string]string // name to name
	refused        string            // the tool that was asked for last, if it was denied
	result         *geminiEvent
}

type geminiEvent struct {
	Type      string
	SessionID string `json:"session_id"`
	Model     string
	Role      string
	Content   string
	ToolName  string `json:"tool_name"`
	ToolID    string `json:"tool_id"`
	Status    string
	Error     struct{ Type, Message string }
	Stats     *struct {
		Total     int64 `json:"total_tokens"`
		Input     int64 `json:"input_tokens"`
		Output    int64 `json:"output_tokens"`
		Cached    int64
		ToolCalls int64 `json:"tool_calls"`
	}
}

func (s *geminiStream) Line(line []byte) (string, bool) {
	var e geminiEvent
	if !object(line, &e) {
		s.out.add(line)
		return "", false
	}
	text := ""
	switch e.Type {
	case "init":
		s.session, s.model = head(e.SessionID, maxWord), head(e.Model, maxWord)
	case "message":
		if e.Role == "assistant" && e.Content != "" {
			s.acted = true
			s.message.WriteString(e.Content)
			s.open = !strings.HasSuffix(e.Content, "\n")
			text = e.Content
		}
	case "tool_use":
		s.acted = true
		text = s.close()
		if len(s.tools) < 1000 {
			if s.tools == nil {
				s.tools = map[string]string{}
			}
			s.tools[head(e.ToolID, maxWord)] = head(e.ToolName, maxWord)
		}
	case "tool_result":
		text = s.close()
		name, asked := s.tools[e.ToolID]
		delete(s.tools, e.ToolID)
		if asked {
			s.refused = ""
		}
		if asked && e.Status == "error" &&
			slices.Contains([]string{"tool_not_registered", "execution_denied", "policy_violation"}, e.Error.Type) {
			s.refused = name
			if len(s.denied) < 64 {
				s.denied[name] = name
			}
		}
	case "result":
		text = s.close()
		s.result = &e
	case "error": // a warning, or what the result says again
	default:
		return "", false
	}
	s.started = true
	return text, true
}

// close ends the message that is being said. It returns the line end it lacks.
func (s *geminiStream) close() string {
	if s.message.Len() > 0 {
		s.last = s.message.String()
		s.message.Reset()
	}
	if !s.open {
		return ""
	}
	s.open = false
	return "\n"
}

func (s *geminiStream) Done() bool { return s.result != nil }

func (s *geminiStream) End(x Exit) Outcome {
	s.close()
	x = s.out.of(x)
	x.Stderr = without(x.Stderr, "256-color support", "Security Warning: Skipping system defaults file",
		"YOLO mode is enabled", "Ripgrep is not available", "[STARTUP]", "    at ",
		"Approval mode overridden")
	o := Outcome{Complete: s.result != nil, Text: s.last, Session: s.session, Model: s.model, Coverage: None}
	if s.acted {
		o.Coverage = Partial
	}
	for name := range s.denied {
		o.Denied = append(o.Denied, name)
	}
	slices.Sort(o.Denied)
	if s.result == nil {
		o.Failure = s.exited(x, unexplained("gemini", x, s.started))
		return o
	}
	if u := s.result.Stats; u != nil {
		read := max(u.Cached, 0)
		// Only the total has what was thought, which is output.
		o.Usage = Usage{Input: max(u.Input-read, 0), Output: max(u.Output, u.Total-u.Input, 0), CacheRead: read}
		o.Whole = o.Usage
		o.Coverage = Complete
	}
	switch {
	case s.result.Status != "success":
		status, text := apiError(s.result.Error.Message)
		if text == "" {
			text = "gemini ended with " + s.result.Status + ", and did not say why (" + s.result.Error.Type + ")"
		}
		if status == 0 {
			status = statusOfExit(x.Code)
		}
		o.Failure = s.exited(x, failed(status, text))
	case s.last == "" && !s.acted:
		o.Failure = &Failure{
			Class:  Other,
			Reason: "gemini ended without a message: the model refused, or had nothing to say",
		}
	case s.refused != "":
		// It may say that all is well, but what it wanted to do in the end was not done.
		o.Failure = &Failure{Class: Permission, Reason: "gemini may not use " + oneLine(s.refused) +
			" here: no user can be asked"}
	default:
		o.Failure = downgraded("gemini", x)
	}
	return o
}

// statusOfExit is the status of HTTP that gemini exits with, of which a process can only hand on the last eight bits.
func statusOfExit(code int) int {
	if code >= 400-256 && code <= 255 {
		return code + 256
	}
	return 0
}

// exited adds what gemini's own exit codes say.
func (s *geminiStream) exited(x Exit, f *Failure) *Failure {
	switch x.Code {
	case 41:
		f.Class = Auth
	case 53: // its settings allow no more turns
		f.Class = AdminLimit
	case 55: // the folder is not one that it trusts
		f.Class = Permission
	default:
		if status := statusOfExit(x.Code); status != 0 && f.Status == 0 {
			f.Status = status
			if c := classify(status, f.Reason); c != Other {
				f.Class = c
			}
		}
	}
	return f
}
