package testenv

import "time"

// Pass lets time pass by the clock of the bubble of testing/synctest that the caller is in. It panics outside
// one: a test waits for what happens, see [Wait]. Any number of goroutines may call it.
func Pass(d time.Duration) {
	if time.Now().Year() > 2010 { // the clock of a bubble begins with the year 2000
		panic("testenv.Pass is called outside a bubble of testing/synctest")
	}
	time.Sleep(d)
}
