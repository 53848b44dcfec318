package main

import "testing"

func TestATakenPortIsNamed(t *testing.T) {
	for log, want := range map[string]string{
		`"command failed" err="failed to listen on 0.0.0.0:6443: listen tcp 0.0.0.0:6443: bind: address already in use"`: "0.0.0.0:6443",
		`{"level":"fatal","error":"listen tcp 127.0.0.1:2379: bind: address already in use"}`:                            "127.0.0.1:2379",
		`"Failed to listen" err="listen tcp 127.0.0.1:10248: bind: permission denied"`:                                   "",
		"": "",
	} {
		if got := takenAddress(log); got != want {
			t.Errorf("got %q, want %q, from %s", got, want, log)
		}
	}
}
