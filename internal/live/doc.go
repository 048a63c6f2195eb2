// Package live shows a run while it is carried: as lines for people, as JSON, and in the log of a job of GitHub
// Actions. [Carried] is a run of this process, shown as an observer of its engine; [Attached] is one of another
// process, shown from its records. An [ActionLog] shows what the actions of a run print. An [Asker] asks at the
// terminal what the run asks a person.
package live
