// Package agent knows the agent CLIs: how each is started for a prompt ([CLI]), what its output means, how it
// is stopped, and what its tokens cost ([PriceTable]). A CLI is one file and one folder of recorded streams.
// [FindJSON] reads what a model was asked to answer as JSON, and a [Schema] checks it. Nothing here starts a
// process or looks at a clock.
package agent
