package api

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Answers are what the API of serve answers with, by name; Requests what it takes. Where a command prints the
// same object, its type is the same.
var Answers = []Output{
	{"projects", "the projects that are served", of[[]ServedProject]()},
	{"runs", "a page of the runs of all projects, newest first", of[ServedRuns]()},
	{"alarms", "alarms of all projects that are not over, the oldest of each project first", of[[]ServedAlarm]()},
	{"loops", "the loops of a project, as `list` prints them", of[[]Listed]()},
	{"definition", "a loop, as `show` prints it; `loops schema` has its schema", of[map[string]any]()},
	{
		"status", "the status of a run, as `status` prints it; a shorter object for a waiter in the queue",
		append(of[Status](), of[QueuedStatus]()...),
	},
	{"receipt", "what a run completed by, as `receipt` prints it", of[RunReceipt]()},
	{"explanation", "why a run is where it is, as `explain` prints it", of[Explanation]()},
	{"events", "events of a run, in their order", of[ServedEvents]()},
	{"cost", "what a run used, as `cost` prints it", of[RunCostByState]()},
	{"comparison", "two runs step by step, as `diff` prints it", of[Comparison]()},
	{"schedules", "schedules, as `schedule list` prints them", of[[]ListedSchedule]()},
	{"scheduled", "what became of a schedule", of[Scheduled]()},
	{"workers", "workers, as `workers` prints them", of[[]Worker]()},
	{"drained", "the worker that was asked to end", of[Drained]()},
	{"costs", "what prompts and judges used since a time, by loop, host or model, and by day", of[SpentSince]()},
	{"findings", "what `doctor` finds, as it prints it", of[[]Finding]()},
	{
		"words", "what may stand in a loop file: the word of the file by an empty name, and those that others name",
		of[map[string]*FileWord](),
	},
	{"text", "the text of a loop's file", of[LoopText]()},
	{"problems", "what is wrong with a text", of[[]TextProblem]()},
	{"saved", "a text that was saved", of[SavedText]()},
	{"made", "a loop that was made", of[MadeLoop]()},
	{"questions", "questions that are open, as `answer` prints them", of[[]Question]()},
	{"queue", "waiters, as `queue list` prints them", of[[]Waiter]()},
	{"begun", "a run that another process carries", of[Begun]()},
	{"stopped", "what became of the runs, as `stop` prints it", of[WereStopped]()},
	{"paused", "what became of the runs, as `pause` prints it", of[WerePaused]()},
	{"unpaused", "what became of the runs, as `unpause` prints it", of[WereUnpaused]()},
	{"extended", "what became of the runs, as `extend` prints it", of[WereExtended]()},
	{"woken", "the runs whose wait ended", of[WereWoken]()},
	{"unblocked", "what runs use again, as `unblock` prints it", of[Unblocked]()},
	{"removed", "how many records were removed", of[WereRemoved]()},
	{"answered", "the question that was answered, as `answer` prints it", of[Answered]()},
	{"sent", "the event that was sent, as `signal` prints it", of[Sent]()},
	{"error", "why a request was not answered", of[Refused]()},
}

// Requests are the bodies that the API of serve takes, by name.
var Requests = []Output{
	{"start", "which loop is started, and with what", of[AskStart]()},
	{"check", "a text", of[AskCheck]()},
	{"new", "which loop is made, and what it starts from", of[AskNew]()},
	{"text", "a text, and what it takes the place of", of[AskText]()},
	{"schedule", "the schedule", of[AskSchedule]()},
	{"worker", "the worker", of[AskWorker]()},
	{"resume", "how a run continues", of[AskResume]()},
	{"retry", "how a new run begins", of[AskRetry]()},
	{"fork", "where a new run begins", of[AskFork]()},
	{"stop", "when a run stops", of[AskStop]()},
	{"pause", "nothing", of[struct{}]()},
	{"unpause", "nothing", of[struct{}]()},
	{"retry-now", "nothing", of[struct{}]()},
	{"unblock", "nothing", of[struct{}]()},
	{"extend", "by how much limits are raised", of[AskExtend]()},
	{"answer", "what is answered", of[AskAnswer]()},
	{"signal", "an event", of[AskSignal]()},
	{"remove", "that it is meant", of[AskRemove]()},
}

// Component returns the schema of one of a list of outputs as a part of another document. strict refuses keys
// that it does not know.
func Component(all []Output, name string, strict bool) (json.RawMessage, error) {
	i := slices.IndexFunc(all, func(o Output) bool { return o.Command == name })
	if i < 0 {
		return nil, fmt.Errorf("nothing is called %q", name)
	}
	s, err := all[i].Schema()
	if err != nil {
		return nil, err
	}
	if s.Schema, s.ID, s.Title = "", "", ""; !strict {
		open(s)
	}
	return json.Marshal(s)
}

// ServedProject is a project that is served.
type ServedProject struct {
	Name string `json:"name" jsonschema:"in addresses"`
	Dir  string `json:"dir" jsonschema:"absolute"`
}

// AskSchedule names a schedule.
type AskSchedule struct {
	Loop string `json:"loop" jsonschema:"the name of its loop"`
}

// AskNew asks for a new loop.
type AskNew struct {
	Loop    string `json:"loop" jsonschema:"its name"`
	Pattern string `json:"pattern" jsonschema:"one of those that loops new --list prints"`
}

// MadeLoop is a loop that was made.
type MadeLoop struct {
	Loop string `json:"loop"`
	File string `json:"file" jsonschema:"absolute"`
}

// AskWorker names a worker.
type AskWorker struct {
	Worker string `json:"worker" jsonschema:"its id, as workers prints it"`
}

// Scheduled is the result of a schedule.
type Scheduled struct {
	Loop       string `json:"loop"`
	Changed    bool   `json:"changed" jsonschema:"whether it was different before"`
	InstanceID Text   `json:"instance_id" jsonschema:"of the run that began; null for none"`
}

// SpentSince is what prompts and judges used since a time.
type SpentSince struct {
	Since  string      `json:"since"`
	By     string      `json:"by" jsonschema:"loop, host or model"`
	Partly bool        `json:"partly" jsonschema:"not all runs were read yet: ask again"`
	Total  SpentAmount `json:"total"`
	Names  []SpentName `json:"names" jsonschema:"what cost most comes first"`
}

// SpentName is what a loop, host or model used.
type SpentName struct {
	Name string `json:"name" jsonschema:"empty where it is not on record"`
	SpentAmount
	Days []SpentDay `json:"days" jsonschema:"those on which anything was used"`
}

// SpentDay is what was used on a day.
type SpentDay struct {
	Day string `json:"day" jsonschema:"a date in the time zone of the server"`
	SpentAmount
}

// SpentAmount is what was used.
type SpentAmount struct {
	Prompts    int     `json:"prompts"`
	Judges     int     `json:"judges"`
	Input      int64   `json:"input_tokens"`
	Output     int64   `json:"output_tokens"`
	CacheRead  int64   `json:"cache_read_tokens"`
	CacheWrite int64   `json:"cache_creation_tokens"`
	CostUSD    float64 `json:"cost_usd" jsonschema:"of those whose cost is known"`
	Unknown    int     `json:"unknown" jsonschema:"prompts and judges whose cost is not known"`
}

// FileWord says what may stand in a loop file.
type FileWord struct {
	About  string         `json:"about,omitempty"`
	Values []string       `json:"values,omitempty"`
	Keys   map[string]any `json:"keys,omitempty" jsonschema:"of an object: a word for each"`
	Any    map[string]any `json:"any,omitempty" jsonschema:"the word below any other key, and in a list"`
	Of     string         `json:"of,omitempty" jsonschema:"the name of a word that says more"`
}

// LoopText is the text of a loop file.
type LoopText struct {
	Loop string `json:"loop"`
	File string `json:"file" jsonschema:"absolute"`
	Text string `json:"text" jsonschema:"with line feeds"`
	Hash string `json:"sha256" jsonschema:"of the file as it is, to save another text in its place"`
}

// TextProblem is a problem of a text.
type TextProblem struct {
	Line     int    `json:"line" jsonschema:"from 1; 0 in another file that the loop is made of"`
	Column   int    `json:"column" jsonschema:"in characters, from 1"`
	Severity string `json:"severity" jsonschema:"error or warning"`
	Rule     string `json:"rule"`
	Message  string `json:"message"`
}

// SavedText is a text that was saved.
type SavedText struct {
	Loop     string        `json:"loop"`
	Hash     string        `json:"sha256" jsonschema:"of the file now"`
	Problems []TextProblem `json:"problems"`
}

// InvalidText is why a text was not saved.
type InvalidText struct {
	Error    string        `json:"error"`
	Problems []TextProblem `json:"problems"`
}

// HookIgnored is the answer to a message of a webhook that means nothing here.
type HookIgnored struct {
	Ignored string `json:"ignored"`
}

// HookTaken is the answer to a message of a webhook.
type HookTaken struct {
	Copy bool   `json:"copy"`
	Run  string `json:"run,omitempty"`
}

// Hello begins the stream of changes.
type Hello struct {
	Projects int `json:"projects"`
}

// Changes are the runs that changed.
type Changes struct {
	Changed []string `json:"changed"`
	Turned  []string `json:"turned"`
	Skipped int      `json:"skipped"`
}

// Skipped counts the events that a stream left out.
type Skipped struct {
	Events int `json:"events"`
}

// Over ends the stream of a run.
type Over struct {
	Status  string `json:"status"`
	Outcome string `json:"outcome"`
}

// ListedAll is what the tool list of the MCP server returns.
type ListedAll struct {
	Loops []any `json:"loops"`
	Runs  []any `json:"runs"`
}

// History is what the tool history of the MCP server returns.
type History struct {
	Runs []any `json:"runs"`
}

// Questions are what the tool answer of the MCP server returns.
type Questions struct {
	Questions []any `json:"questions"`
}

// CheckedAll is what the tool validate of the MCP server returns.
type CheckedAll struct {
	Valid bool      `json:"valid"`
	Loops []Checked `json:"loops"`
}

// EventsPage is what the tool events of the MCP server returns.
type EventsPage struct {
	Instance string   `json:"instance_id"`
	Events   []Event  `json:"events"`
	Next     uint64   `json:"next_after"`
	More     bool     `json:"more"`
	Damage   []string `json:"damage,omitempty"`
}

// OutputText is what the tool output of the MCP server returns.
type OutputText struct {
	Instance string `json:"instance_id"`
	Text     string `json:"text"`
	Before   int64  `json:"bytes_before"`
}

// StartedRun is what the tool start of the MCP server returns.
type StartedRun struct {
	Instance string  `json:"instance_id"`
	RunID    string  `json:"run_id"`
	PID      int     `json:"pid"`
	Ended    bool    `json:"ended"`
	Status   any     `json:"status"`
	ExitCode *int    `json:"exit_code,omitempty"`
	Meaning  *string `json:"exit_meaning,omitempty"`
	Notes    string  `json:"notes,omitempty"`
}

// AskCheck asks what is wrong with a text.
type AskCheck struct {
	Text string `json:"text"`
}

// AskText asks to save a text.
type AskText struct {
	Text    string `json:"text"`
	Hash    string `json:"sha256" jsonschema:"of the file as it was read; a file that was changed since is left as it is"`
	Despite bool   `json:"despite,omitempty" jsonschema:"save it though it has mistakes"`
}

// ServedAlarm is an alarm of a project.
type ServedAlarm struct {
	Project    string `json:"project"`
	Kind       string `json:"kind" jsonschema:"stuck, dead, waiting or schedule"`
	InstanceID Text   `json:"instance_id" jsonschema:"of the run; null for a schedule"`
	Loop       string `json:"loop"`
	Text       string `json:"text" jsonschema:"one sentence"`
	Since      Time   `json:"since"`
	Restarts   int    `json:"restarts" jsonschema:"how often the run was resumed because its process died"`
}

// ServedRuns is a page of runs.
type ServedRuns struct {
	Runs []ServedRun `json:"runs"`
	More bool        `json:"more" jsonschema:"whether there is another page"`
	Next string      `json:"next" jsonschema:"what skip is for the next page; empty if this is the last"`
}

// ServedRun is a run of a project.
type ServedRun struct {
	Run
	Project string `json:"project"`
	Alive   bool   `json:"alive" jsonschema:"whether it is running"`
}

// ServedEvents is a page of events.
type ServedEvents struct {
	Instance string  `json:"instance_id" jsonschema:"the id of the run"`
	Events   []Event `json:"events"`
	Next     uint64  `json:"next_after" jsonschema:"for after, to read on"`
	More     bool    `json:"more" jsonschema:"whether there are more now"`
}

// Begun is a run that another process carries.
type Begun struct {
	Instance string `json:"instance_id" jsonschema:"the id of the run"`
}

// WereStopped are the runs that were stopped.
type WereStopped struct {
	Stopped []any `json:"stopped"`
}

// WerePaused are the runs that were asked to pause.
type WerePaused struct {
	Paused []Paused `json:"paused"`
}

// WereUnpaused are the runs that were asked to continue.
type WereUnpaused struct {
	Unpaused []Unpaused `json:"unpaused"`
}

// WereExtended are the runs whose limits were raised.
type WereExtended struct {
	Extended []Extended `json:"extended"`
}

// WereWoken are the runs whose wait ended.
type WereWoken struct {
	Woken []string `json:"woken" jsonschema:"the ids of the runs"`
}

// WereRemoved counts the records that were removed.
type WereRemoved struct {
	Removed int `json:"removed"`
}

// Refused is why a request was not answered.
type Refused struct {
	Error string `json:"error"`
}

// AskStart asks to start a loop.
type AskStart struct {
	Loop  string         `json:"loop" jsonschema:"its name in the project"`
	Input string         `json:"input,omitempty" jsonschema:"a text, or an object of JSON"`
	Field map[string]any `json:"field,omitempty" jsonschema:"values of parameters and of the context, by name"`
}

// AskResume asks to continue a run.
type AskResume struct {
	Field  map[string]any `json:"field,omitempty" jsonschema:"values of the context, by name"`
	Rerun  bool           `json:"rerun,omitempty" jsonschema:"do the action again that was cut short, though its result is known"`
	Force  bool           `json:"force,omitempty" jsonschema:"though the definition differs"`
	Limits string         `json:"limits,omitempty" jsonschema:"by how much limits are raised, as steps=20"`

	From        string `json:"from,omitempty" jsonschema:"the state to continue in; where the run is if it is absent"`
	Definition  string `json:"definition,omitempty" jsonschema:"recorded: the loop as it was recorded with the run; file: its file as it is now" words:"recorded,file"`
	RetryFailed bool   `json:"retry_failed,omitempty" jsonschema:"do the failed items again of the list that the run is in"`
}

// AskFork asks for a fork.
type AskFork struct {
	At string `json:"at,omitempty" jsonschema:"a step, or a state for its last visit; last if it is absent"`
	AskRetry
}

// AskRetry asks for a new run of a step.
type AskRetry struct {
	Set   string         `json:"set,omitempty" jsonschema:"a line KEY=VALUE for each value of the context"`
	Field map[string]any `json:"field,omitempty" jsonschema:"values of the context, by name"`
	Rerun bool           `json:"rerun,omitempty" jsonschema:"do the step again though its state says idempotent: false"`

	RetryFailed bool `json:"retry_failed,omitempty" jsonschema:"take over the items of the step's list that came to yes, and repeat the others only"`

	Definition string `json:"definition,omitempty" jsonschema:"recorded: the loop as it was recorded with the run; its file as it is now if it is absent" words:"recorded,file"`
}

// AskStop asks to stop a run.
type AskStop struct {
	AfterItem bool `json:"after_item,omitempty" jsonschema:"when the items that are at work have ended"`
}

// AskExtend asks to raise limits.
type AskExtend struct {
	Limits string `json:"limits" jsonschema:"as steps=20,cost=1,wall=30m"`
}

// AskAnswer answers a question.
type AskAnswer struct {
	Choice   string         `json:"choice" jsonschema:"its name, or its number from 1 on"`
	Confirm  string         `json:"confirm,omitempty" jsonschema:"the choice again, by its name, if the question lists it under confirm"`
	Question string         `json:"question,omitempty" jsonschema:"the address of the question; it may be absent while the run has asked one question in all"`
	Field    map[string]any `json:"field,omitempty" jsonschema:"values of the fields of the question, by name"`
}

// AskSignal sends an event.
type AskSignal struct {
	Event string `json:"event" jsonschema:"its name"`
	Data  string `json:"data,omitempty" jsonschema:"JSON"`
}

// AskRemove confirms a removal.
type AskRemove struct {
	Confirm string `json:"confirm" jsonschema:"the id of the run"`
}
