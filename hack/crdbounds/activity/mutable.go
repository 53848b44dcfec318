// Package activity says which fields of an Activity may change: crdbounds writes the rules that refuse all other changes, and
// test/releases asks an API server about each.
package activity

// MutableFields are the fields of an Activity's spec that may change. No other field may: an Activity is the record of one run,
// and with another command or image it would report a run that never was. Messages of released rules list them in this order.
var MutableFields = []string{
	// It holds back what has not started yet. Who suspends a run means to resume it.
	"suspend",
	// It bounds the wait for the start and says nothing about what runs. Who waits may come to have more time, or less.
	"startDeadline",
	// It says what the next attempt's pod may take, and nothing about what runs. An attempt that a quota refuses needs others.
	"resources",
	// It is a request to end the run, which comes after its start. A rule of its own refuses to take it back, since the command may
	// have got its SIGTERM already.
	"cancel",
	// It says how long the record is kept. What the record says stays the same.
	"ttlSecondsAfterFinished",
}
