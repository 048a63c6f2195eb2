package cron

import (
	"fmt"
	"time"
	_ "time/tzdata" // zones are known by name also on machines that have no list of them
)

// Zone returns a time zone by its name, such as Europe/Berlin; "" is that of this machine.
func Zone(name string) (*time.Location, error) {
	if name == "" {
		return time.Local, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("there is no time zone %q", name)
	}
	return zone, nil
}
