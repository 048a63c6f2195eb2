// Package trigger has what begins runs without a person: schedules, webhooks, and the queue of submitted runs.
//
// # Schedules
//
// A [Clock] starts the runs of schedules at the times that loop files name, each once, however many servers
// look after one folder or database, and makes up for what was missed as the loop says.
//
// Before a run is started, its time is on record in the ledger, with the id that the run is to have. A server
// that finds a time without its run starts the run of that id, which the store gives away once. So a server may
// be killed at any moment.
//
// # Webhooks
//
// A [Desk] takes what others send to a server: it checks signatures, starts runs, sends events and answers
// questions. It knows no HTTP itself.
//
// What begins a run is on record before its sender is notified that it was taken, with the id of the run, and a
// server that finds it without its run starts that. What was delivered is taken once: a message with the id of
// another, or with what is signed in it, is a copy of that.
//
// # Submitted runs
//
// A [QueueEngine] hands submitted runs to workers. The store has the truth about a run; what a queue holds of
// it may be lost and is made again. A [RiverQueue] is one on River, in tables of the PostgreSQL that holds the
// runs. This package alone imports River.
package trigger
