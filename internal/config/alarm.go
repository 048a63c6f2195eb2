package config

import "time"

// An Alarm says what loops serve raises alarms about, and what it does.
type Alarm struct {
	Stuck   time.Duration // a running run that is silent for so long; 0 = none
	Waiting time.Duration // a question without an answer for so long; 0 = none
	Restart int           // how often a run is resumed whose process died
	Ping    string        // an address that is asked for each minute; "" = none
}
