package api

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Answers are what the API of serve answers with, by name; Requests what it takes. Where a command prints the
// same object, its type is the same.
var Answers = []Output{
	{"projects", "the projects that are served", of[[]servedProject]()},
	{"runs", "a page of the runs of all projects, newest first", of[servedRuns]()},
	{"alarms", "alarms of all projects that are not over, the oldest of each project first", of[[]servedAlarm]()},
	{"loops", "the loops of a project, as `list` prints them", of[[]listed]()},
	{"definition", "a loop, as `show` prints it; `loops schema` has its schema", of[map[string]any]()},
	{"status", "the status of a run, as `status` prints it; a shorter object for a waiter in the queue", append(of[status](), of[queuedStatus]()...)},
	{"explanation", "why a run is where it is, as `explain` prints it", of[explanation]()},
	{"events", "events of a run, in their order", of[servedEvents]()},
	{"cost", "what a run used, as `cost` prints it", of[runCostByState]()},
	{"comparison", "two runs step by step, as `diff` prints it", of[comparison]()},
	{"schedules", "schedules, as `schedule list` prints them", of[[]listedSchedule]()},
	{"scheduled", "what became of a schedule", of[scheduled]()},
	{"workers", "workers, as `workers` prints them", of[[]worker]()},
	{"drained", "the worker that was asked to end", of[drained]()},
	{"costs", "what prompts and judges used since a time, by loop, host or model, and by day", of[spentSince]()},
	{"findings", "what `doctor` finds, as it prints it", of[[]finding]()},
	{"words", "what may stand in a loop file: the word of the file by an empty name, and those that others name", of[map[string]*fileWord]()},
	{"text", "the text of a loop's file", of[loopText]()},
	{"problems", "what is wrong with a text", of[[]textProblem]()},
	{"saved", "a text that was saved", of[savedText]()},
	{"made", "a loop that was made", of[madeLoop]()},
	{"questions", "questions that are open, as `answer` prints them", of[[]question]()},
	{"queue", "waiters, as `queue list` prints them", of[[]waiter]()},
	{"begun", "a run that another process carries", of[begun]()},
	{"stopped", "what became of the runs, as `stop` prints it", of[wereStopped]()},
	{"paused", "what became of the runs, as `pause` prints it", of[werePaused]()},
	{"unpaused", "what became of the runs, as `unpause` prints it", of[wereUnpaused]()},
	{"extended", "what became of the runs, as `extend` prints it", of[wereExtended]()},
	{"woken", "the runs whose wait ended", of[wereWoken]()},
	{"removed", "how many records were removed", of[wereRemoved]()},
	{"answered", "the question that was answered, as `answer` prints it", of[answered]()},
	{"sent", "the event that was sent, as `signal` prints it", of[sent]()},
	{"error", "why a request was not answered", of[refused]()},
}

// Requests are the bodies that the API of serve takes, by name.
var Requests = []Output{
	{"start", "which loop is started, and with what", of[askStart]()},
	{"check", "a text", of[askCheck]()},
	{"new", "which loop is made, and what it starts from", of[askNew]()},
	{"text", "a text, and what it takes the place of", of[askText]()},
	{"schedule", "the schedule", of[askSchedule]()},
	{"worker", "the worker", of[askWorker]()},
	{"resume", "how a run continues", of[askResume]()},
	{"retry", "how a new run begins", of[askRetry]()},
	{"fork", "where a new run begins", of[askFork]()},
	{"stop", "when a run stops", of[askStop]()},
	{"pause", "nothing", of[struct{}]()},
	{"unpause", "nothing", of[struct{}]()},
	{"retry-now", "nothing", of[struct{}]()},
	{"extend", "by how much limits are raised", of[askExtend]()},
	{"answer", "what is answered", of[askAnswer]()},
	{"signal", "an event", of[askSignal]()},
	{"remove", "that it is meant", of[askRemove]()},
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

type servedProject struct {
	Name string `json:"name" jsonschema:"in addresses"`
	Dir  string `json:"dir" jsonschema:"absolute"`
}

type askSchedule struct {
	Loop string `json:"loop" jsonschema:"the name of its loop"`
}

type askNew struct {
	Loop    string `json:"loop" jsonschema:"its name"`
	Pattern string `json:"pattern" jsonschema:"one of those that loops new --list prints"`
}

type madeLoop struct {
	Loop string `json:"loop"`
	File string `json:"file" jsonschema:"absolute"`
}

type askWorker struct {
	Worker string `json:"worker" jsonschema:"its id, as workers prints it"`
}

type scheduled struct {
	Loop       string  `json:"loop"`
	Changed    bool    `json:"changed" jsonschema:"whether it was different before"`
	InstanceID *string `json:"instance_id" jsonschema:"of the run that began; null for none"`
}

type spentSince struct {
	Since  string      `json:"since"`
	By     string      `json:"by" jsonschema:"loop, host or model"`
	Partly bool        `json:"partly" jsonschema:"not all runs were read yet: ask again"`
	Total  spentAmount `json:"total"`
	Names  []spentName `json:"names" jsonschema:"what cost most comes first"`
}

type spentName struct {
	Name string `json:"name" jsonschema:"empty where it is not on record"`
	spentAmount
	Days []spentDay `json:"days" jsonschema:"those on which anything was used"`
}

type spentDay struct {
	Day string `json:"day" jsonschema:"a date in the time zone of the server"`
	spentAmount
}

type spentAmount struct {
	Prompts    int     `json:"prompts"`
	Judges     int     `json:"judges"`
	Input      int     `json:"input_tokens"`
	Output     int     `json:"output_tokens"`
	CacheRead  int     `json:"cache_read_tokens"`
	CacheWrite int     `json:"cache_creation_tokens"`
	CostUSD    float64 `json:"cost_usd" jsonschema:"of those whose cost is known"`
	Unknown    int     `json:"unknown" jsonschema:"prompts and judges whose cost is not known"`
}

type fileWord struct {
	About  string         `json:"about,omitempty"`
	Values []string       `json:"values,omitempty"`
	Keys   map[string]any `json:"keys,omitempty" jsonschema:"of an object: a word for each"`
	Any    map[string]any `json:"any,omitempty" jsonschema:"the word below any other key, and in a list"`
	Of     string         `json:"of,omitempty" jsonschema:"the name of a word that says more"`
}

type loopText struct {
	Loop string `json:"loop"`
	File string `json:"file" jsonschema:"absolute"`
	Text string `json:"text" jsonschema:"with line feeds"`
	Hash string `json:"sha256" jsonschema:"of the file as it is, to save another text in its place"`
}

type textProblem struct {
	Line     int    `json:"line" jsonschema:"from 1; 0 in another file that the loop is made of"`
	Column   int    `json:"column" jsonschema:"in characters, from 1"`
	Severity string `json:"severity" jsonschema:"error or warning"`
	Rule     string `json:"rule"`
	Message  string `json:"message"`
}

type savedText struct {
	Loop     string        `json:"loop"`
	Hash     string        `json:"sha256" jsonschema:"of the file now"`
	Problems []textProblem `json:"problems"`
}

type askCheck struct {
	Text string `json:"text"`
}

type askText struct {
	Text    string `json:"text"`
	Hash    string `json:"sha256" jsonschema:"of the file as it was read; a file that was changed since is left as it is"`
	Despite bool   `json:"despite,omitempty" jsonschema:"save it though it has mistakes"`
}

type servedAlarm struct {
	Project    string  `json:"project"`
	Kind       string  `json:"kind" jsonschema:"stuck, dead, waiting or schedule"`
	InstanceID *string `json:"instance_id" jsonschema:"of the run; null for a schedule"`
	Loop       string  `json:"loop"`
	Text       string  `json:"text" jsonschema:"one sentence"`
	Since      string  `json:"since"`
	Restarts   int     `json:"restarts" jsonschema:"how often the run was resumed because its process died"`
}

type servedRuns struct {
	Runs []servedRun `json:"runs"`
	Next string      `json:"next" jsonschema:"what skip is for the next page; empty if this is the last"`
	More bool        `json:"more" jsonschema:"whether there is another page"`
}

type servedRun struct {
	run
	Project string `json:"project"`
	Alive   bool   `json:"alive" jsonschema:"whether it is running"`
}

type servedEvents struct {
	Instance string  `json:"instance_id" jsonschema:"the id of the run"`
	Events   []event `json:"events"`
	Next     int     `json:"next_after" jsonschema:"for after, to read on"`
	More     bool    `json:"more" jsonschema:"whether there are more now"`
}

type begun struct {
	Instance string `json:"instance_id" jsonschema:"the id of the run"`
}

type wereStopped struct {
	Stopped []any `json:"stopped"`
}

type werePaused struct {
	Paused []paused `json:"paused"`
}

type wereUnpaused struct {
	Unpaused []unpaused `json:"unpaused"`
}

type wereExtended struct {
	Extended []extended `json:"extended"`
}

type wereWoken struct {
	Woken []string `json:"woken" jsonschema:"the ids of the runs"`
}

type wereRemoved struct {
	Removed int `json:"removed"`
}

type refused struct {
	Error string `json:"error"`
}

type askStart struct {
	Loop  string         `json:"loop" jsonschema:"its name in the project"`
	Input string         `json:"input,omitempty" jsonschema:"a text, or an object of JSON"`
	Field map[string]any `json:"field,omitempty" jsonschema:"values of parameters and of the context, by name"`
}

type askResume struct {
	Field  map[string]any `json:"field,omitempty" jsonschema:"values of the context, by name"`
	Rerun  bool           `json:"rerun,omitempty" jsonschema:"do the action again that was cut short, though its result is known"`
	Force  bool           `json:"force,omitempty" jsonschema:"though the definition differs"`
	Limits string         `json:"limits,omitempty" jsonschema:"by how much limits are raised, as steps=20"`

	From        string `json:"from,omitempty" jsonschema:"the state to continue in; where the run is if it is absent"`
	Definition  string `json:"definition,omitempty" jsonschema:"recorded: the loop as it was recorded with the run; file: its file as it is now" words:"recorded,file"`
	RetryFailed bool   `json:"retry_failed,omitempty" jsonschema:"do the failed items again of the list that the run is in"`
}

type askFork struct {
	At string `json:"at,omitempty" jsonschema:"a step, or a state for its last visit; last if it is absent"`
	askRetry
}

type askRetry struct {
	Set   string         `json:"set,omitempty" jsonschema:"a line KEY=VALUE for each value of the context"`
	Field map[string]any `json:"field,omitempty" jsonschema:"values of the context, by name"`
	Rerun bool           `json:"rerun,omitempty" jsonschema:"do the step again though its state says idempotent: false"`

	RetryFailed bool `json:"retry_failed,omitempty" jsonschema:"take over the items of the step's list that came to yes, and repeat the others only"`

	Definition string `json:"definition,omitempty" jsonschema:"recorded: the loop as it was recorded with the run; its file as it is now if it is absent" words:"recorded,file"`
}

type askStop struct {
	AfterItem bool `json:"after_item,omitempty" jsonschema:"when the items that are at work have ended"`
}

type askExtend struct {
	Limits string `json:"limits" jsonschema:"as steps=20,cost=1,wall=30m"`
}

type askAnswer struct {
	Choice   string         `json:"choice" jsonschema:"its name, or its number from 1 on"`
	Confirm  string         `json:"confirm,omitempty" jsonschema:"the choice again, by its name, if the question lists it under confirm"`
	Question string         `json:"question,omitempty" jsonschema:"the address of the question; it may be absent while the run has asked one question in all"`
	Field    map[string]any `json:"field,omitempty" jsonschema:"values of the fields of the question, by name"`
}

type askSignal struct {
	Event string `json:"event" jsonschema:"its name"`
	Data  string `json:"data,omitempty" jsonschema:"JSON"`
}

type askRemove struct {
	Confirm string `json:"confirm" jsonschema:"the id of the run"`
}
