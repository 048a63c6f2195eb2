package engine

// An Operation is something that a user can ask for. A face has a command, a tool or a button for it.
type Operation string

// The operations that remedies name. Others have the names of their commands.
const (
	OpRun      Operation = "run"
	OpSubmit   Operation = "submit"
	OpSign     Operation = "sign"
	OpResume   Operation = "resume"
	OpFork     Operation = "fork"
	OpRetry    Operation = "retry"
	OpStop     Operation = "stop"
	OpUnpause  Operation = "unpause"
	OpAnswer   Operation = "answer"
	OpExtend   Operation = "extend"
	OpRetryNow Operation = "retry-now"
	OpStatus   Operation = "status"
	OpHistory  Operation = "history"
	OpRuns     Operation = "runs"
	OpShow     Operation = "show"
	OpSweep    Operation = "sweep"
	OpUndo     Operation = "undo"
)

// A Setting is a field of the request of an operation, and what it is set to. As a value of a [Text] it stands
// for what a face calls that field, such as a flag.
type Setting struct {
	Name  string // as in "max_steps"
	Value string // "" = it is only switched on, or only named; a word in capitals is for the user to fill in
}

func (s Setting) String() string {
	if s.Value == "" {
		return s.Name
	}
	return s.Name + " " + s.Value
}

// The settings that remedies and texts name.
const (
	SetMaxSteps      = "max_steps"
	SetMaxIterations = "max_iterations"
	SetBudget        = "budget"
	SetExtend        = "extend"
	SetRerun         = "rerun"
	SetAcceptDamage  = "accept-damage"
	SetRetryFailed   = "retry-failed"
	SetAfterItem     = "after-item"
	SetForce         = "force"
	SetDefinition    = "definition" // a file, or Recorded
	SetFrom          = "from"
	SetAt            = "at"
	SetEmpty         = "empty"
	SetContext       = "context"
	SetValue         = "set"
	SetHost          = "host"
	SetPermissions   = "permissions"
	SetWorktree      = "worktree"
	SetWorktreeEnd   = "worktree_end"
	SetDir           = "dir"
	SetQuestion      = "question"
	SetWithdraw      = "withdraw"
	SetYes           = "yes"
	SetSnapshots     = "snapshots"
	SetTo            = "to"
	SetFiles         = "files"
)

// A Remedy is an operation that a user can ask for next. A face writes it as what a user does there, such as a
// command line.
type Remedy struct {
	Operation Operation // "" = there is none
	Target    string    // the run or the loop it is for; "" = none
	With      []Setting
	Help      bool   // not the operation, but the help on it
	Dir       string // the directory of the project, where that is another one now
	Store     string // where its runs are recorded, where that is another place now
	Plain     bool   // it is to be asked for in another directory than the one of the project was
}

// Do returns the remedy of an operation on a run or a loop, "" = on none.
func Do(op Operation, target string, with ...Setting) Remedy {
	return Remedy{Operation: op, Target: target, With: with}
}

// String names the remedy in no face's words.
func (r Remedy) String() string {
	text := string(r.Operation)
	if r.Help {
		text = "help on " + text
	}
	if r.Target != "" {
		text += " " + r.Target
	}
	for i, s := range r.With {
		text += map[bool]string{true: " with ", false: ", "}[i == 0] + s.String()
	}
	if r.Dir != "" {
		text += " in " + r.Dir
	}
	return text
}
