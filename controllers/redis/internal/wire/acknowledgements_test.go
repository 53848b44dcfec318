package wire

import (
	"strconv"
	"testing"
	"time"
)

func TestAReplicaThatAcknowledgesNothingIsReported(t *testing.T) {
	a := newAcknowledgements(time.Second)
	at := int64(1000)
	ask := func(offsets ...int64) string {
		words := []string{"master", strconv.FormatInt(at, 10)}
		for i, offset := range offsets {
			words = append(words, "10.0.0."+strconv.Itoa(i+1), "6379", strconv.FormatInt(offset, 10))
		}
		return a.update(words)
	}
	for range 20 { // all is well
		if at += 14; ask(at, at-14) != "" {
			t.Fatal("both acknowledge")
		}
	}
	second := at
	reported := map[string]bool{}
	for range 30 { // the second acknowledges no more
		at += 14
		reported[ask(at, second)] = true
	}
	if len(reported) != 1+maxSilentReports || !reported[", 10.0.0.2 silent 2"] {
		t.Errorf("it is reported %d times: %v", len(reported)-1, reported)
	}
	if at += 14; ask(at, at) != "" {
		t.Error("it acknowledges again")
	}
	for range 30 { // nothing is left to acknowledge
		if ask(at, at) != "" {
			t.Fatal("nothing is written")
		}
	}
	if a.update([]string{"slave", "10.0.0.1", "6379", "connected", "1"}) != "" || len(a.last) != 0 {
		t.Error("a replica has none")
	}
}

// A master that is asked five times a second has nothing new, five times in a row, of a replica that is well.
func TestAReplicaThatIsAskedOfOftenIsNotReported(t *testing.T) {
	a := newAcknowledgements(200 * time.Millisecond)
	for asked := range 50 {
		offset := int64(1000 + asked/5*14)
		if reported := a.update([]string{"master", strconv.FormatInt(offset+14, 10), "10.0.0.1", "6379",
			strconv.FormatInt(offset, 10)}); reported != "" {
			t.Fatalf("after %d questions: %s", asked+1, reported)
		}
	}
}
