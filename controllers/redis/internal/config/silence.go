package config

import (
	"strconv"
	"time"
)

const (
	// BusyReplyThreshold is the directive that says for how many milliseconds a script keeps a server from answering any client.
	// After them it answers BUSY.
	BusyReplyThreshold = "busy-reply-threshold"
	// defaultBusyReply is its default in Redis 7 and 8 and in Valkey (config.c).
	defaultBusyReply = 5 * time.Second
	// MaxBusyReply is how much of a higher threshold is waited for, and of 0, with which a server answers no client until the
	// script ends. Otherwise a server that hangs would be replaced only after as long as the user allows a script.
	MaxBusyReply = time.Minute
	// busyReplyMargin is the time until the answer BUSY reaches the operator: a connection that was given up is retried every
	// 0.1 s (redialInterval of package wire). The last answer before the script may be a ProbeInterval older than the script.
	busyReplyMargin = time.Second
)

// longestScriptSilence returns how long a server with that threshold may not answer because it runs a script. It goes by the
// default if the value is none that a server accepts: the servers keep what they had.
func (s Spec) longestScriptSilence(threshold string) time.Duration {
	silent := defaultBusyReply
	if millis, err := strconv.ParseInt(threshold, 10, 64); err == nil && millis >= 0 {
		silent = MaxBusyReply
		if millis > 0 && millis < MaxBusyReply.Milliseconds() {
			silent = time.Duration(millis) * time.Millisecond
		}
	}
	return silent + s.ProbeInterval + busyReplyMargin
}

// AllowingFor returns the spec with a SilenceLimit that allows also for the threshold that the servers run with, which may
// be another than the spec's while a change is being applied.
func (s Spec) AllowingFor(accepted Settings) Spec {
	s.SilenceLimit = max(s.SilenceLimit, s.longestScriptSilence(accepted.Live[BusyReplyThreshold]))
	return s
}
