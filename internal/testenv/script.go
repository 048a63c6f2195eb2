package testenv

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// What the model is to do is in the prompt, as [[name]]: a stand-in keeps no conversation, it decides from one
// request. The last such mark in the request counts, and how many results of tools come after it is the turn.
//
//	[[ok]]        says Hello
//	[[two]]       says two blocks in one message
//	[[tool]]      makes the file made.txt, then says ToolDone
//	[[slowtool]]  starts a command that sleeps for ten minutes
//	[[yes]]       a judge's answer, see Verdict; [[no]] the other one
//	[[prose]]     a judge's answer that is not valid
//	[[slow]]      says a word every tenth of a second, for ten minutes
//	[[stuck]]     does not answer the first who asks; says Hello to all others
//	[[400]] [[401]] [[403]] [[404]] [[429]] [[500]] [[529]]  refuses with that status; 429 says to come back in
//
// RetryAfter
//
//	[[quota]]     refuses with 429, because a limit is used up that a person has to raise
//	[[nomodel]]   refuses with 404, because there is no such model, in the words of the vendor
//	[[long]]      refuses because the prompt is too long
//	[[refuse]]    the model will not answer
//	[[cut]]       says a word and breaks off
//	[[calls]]     calls the tools of VendorAPI.Calls one after the other, then says CallsDone
var mark = regexp.MustCompile(
	`\[\[(ok|calls|two|tool|slowtool|yes|no|prose|slow|stuck|[45]\d\d|quota|nomodel|long|refuse|cut)\]\]`)

// doctorJudge is in the question that loops doctor asks, where no mark can be; the answer is that of [[yes]].
const doctorJudge = "This is a test of structured answers."

// What the stand-ins say.
const (
	Hello      = "hello from the stand-in"
	ToolFirst  = "making it"
	ToolDone   = "the file is made"
	ToolMakes  = "made.txt" // with the line "made"
	CallsDone  = "all tools were called"
	Prose      = "I would say it is fine"
	RetryAfter = 30 * time.Second
)

// How many tokens each answer of a stand-in costs; all of Cached are part of In.
const (
	In     = 11
	Cached = 3
	Out    = 7
)

// VerdictAnswer is the answer of a judge, for [[yes]] and [[no]].
func VerdictAnswer(verdict string) map[string]any {
	return map[string]any{
		"verdict": verdict, "confidence": 0.9, "reason": "the stand-in says " + verdict,
		"evidence": Hello,
	}
}

// A ToolCall is a call of a tool of an MCP server.
type ToolCall struct {
	Tool      string // as the server names it
	Arguments map[string]any
	Until     string // it is repeated until its result has this text; "" = it is made once
}

// mostCalls ends a call that is repeated in vain.
const mostCalls = 300

// nextCall returns the first of calls that is not done after results, nil when all are.
func nextCall(calls []ToolCall, results []string) *ToolCall {
	for _, result := range results {
		if len(calls) > 0 && strings.Contains(result, calls[0].Until) {
			calls = calls[1:]
		}
	}
	if len(calls) == 0 {
		return nil
	}
	return &calls[0]
}

// A turn is what the model does with one request.
type turn struct {
	name    string
	said    []string       // text, one block each
	command string         // that the shell tool is to run
	answer  map[string]any // of a judge; also said where the CLI offers no tool for it
	status  int            // of HTTP; 0 = 200
	cut     bool           // break off after the first block
	slow    bool           // word by word
	refuse  bool           // no answer, for the reason that the vendor gives
	results []string       // the results of tools so far, each with what follows it
	call    *ToolCall      // of a tool of an MCP server
}

// decide reads a request. result matches the result of a tool in it.
func decide(body string, result *regexp.Regexp) turn {
	name, rest := "ok", body
	if at := strings.LastIndex(body, doctorJudge); at >= 0 {
		name, rest = "yes", body[at:]
	}
	if all := mark.FindAllStringSubmatchIndex(body, -1); len(all) > 0 {
		last := all[len(all)-1]
		name, rest = body[last[2]:last[3]], body[last[1]:]
	}
	at := result.FindAllStringIndex(rest, -1)
	first := len(at) == 0
	t := turn{name: name}
	for i, begin := range at {
		end := len(rest)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		t.results = append(t.results, rest[begin[1]:end])
	}
	switch name {
	case "ok", "stuck":
		t.said = []string{Hello}
	case "calls":
		t.said = []string{CallsDone}
	case "two":
		t.said = []string{"first block.", "second block."}
	case "tool", "slowtool":
		switch {
		case !first:
			t.said = []string{ToolDone}
		case name == "tool":
			t.said, t.command = []string{ToolFirst}, "echo made > "+ToolMakes
		default:
			t.said, t.command = []string{ToolFirst}, "echo made > "+ToolMakes+"; sleep 600"
		}
	case "yes", "no":
		if first {
			t.answer = VerdictAnswer(name)
		} else {
			t.said = []string{"answered"}
		}
	case "prose":
		t.said = []string{Prose}
	case "slow":
		t.slow = true
	case "cut":
		t.said, t.cut = []string{"tick"}, true
	case "quota":
		t.status = 429
	case "nomodel":
		t.status = 404
	case "long":
		t.status = 400
	case "refuse":
		t.refuse = true
	default:
		t.status, _ = strconv.Atoi(name) // the pattern lets only digits through
	}
	return t
}

// message is what a refusal says.
func (t turn) message() string {
	switch t.name {
	case "long":
		return "prompt is too long: 250000 tokens > 200000 maximum"
	case "quota":
		return "You exceeded your current quota, please check your plan and billing details."
	case "nomodel":
		return "The model `stand-in` does not exist or you do not have access to it."
	case "401":
		return "invalid api key"
	case "429":
		return "rate limit of the stand-in"
	}
	return "the stand-in refuses: " + t.name
}
