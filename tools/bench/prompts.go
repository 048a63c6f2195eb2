package main

import (
	"errors"
	"os"
	"path/filepath"
)

const prompts = 20

// Two states that prompt and go to each other until the step cap ends the run.
const promptLoop = `name: prompts
initial: a
max_edge_revisits: 1000000
states:
  a: {action_type: prompt, action: hello, host: claude, next: b}
  b: {action_type: prompt, action: hello, host: claude, next: a}
  end: {terminal: true}
`

const longPromptLoop = `name: talk
initial: a
states:
  a: {action_type: prompt, action: hello, host: claude, next: end}
  end: {terminal: true}
`

// A host that answers at once, in the words of claude: what is measured is what loops adds to any host.
const (
	hostBegins = `printf '%s\n' '{"type":"system","subtype":"init","session_id":"s","model":"m"}'` + "\n"
	hostSays   = `{"type":"assistant","message":{"content":[{"type":"text","text":"some words that the agent says about what it does"}]}}`
	hostEnds   = `printf '%s\n' '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s","usage":{"input_tokens":1,"output_tokens":1}}'` + "\n"

	quickHost = "#!/bin/bash\n" + hostBegins + "printf '%s\\n' '" + hostSays + "'\n" + hostEnds
	longHost  = "#!/bin/bash\n" + hostBegins + "yes '" + hostSays + "' | head -c 100000000\necho\n" + hostEnds
)

// claude makes a script the first program of that name in the PATH, and returns its path.
func (b *bench) claude(script string) (path string, restore func() error, err error) {
	dir := filepath.Join(b.dir, "host")
	path = filepath.Join(dir, "claude")
	before := os.Getenv("PATH")
	err = errors.Join(
		os.MkdirAll(dir, 0o755),
		os.WriteFile(path, []byte(script), 0o755),
		os.Setenv("PATH", dir+string(os.PathListSeparator)+before),
	)
	return path, func() error { return os.Setenv("PATH", before) }, err
}

// promptAbove is what a prompt takes longer than its host alone.
func (b *bench) promptAbove() (float64, error) {
	path, restore, err := b.claude(quickHost)
	if err != nil {
		return 0, err
	}
	before, err1 := spawnsOf(prompts, path, "-p", "hello")
	step, err2 := b.perStep(promptLoop, prompts)
	after, err3 := spawnsOf(prompts, path, "-p", "hello")
	return step - ((before + after) / 2).Seconds(), errors.Join(err1, err2, err3, restore())
}

// promptPeak is what a prompt needs while its host prints 100 MB.
func (b *bench) promptPeak() (float64, error) {
	_, restore, err := b.claude(longHost)
	if err != nil {
		return 0, err
	}
	most, err := b.peak(longPromptLoop)
	return most, errors.Join(err, restore())
}
