package source

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
)

func TestTheLastWordsOfAServerAreReported(t *testing.T) {
	t.Setenv("ETCD_NAME", "from the environment")
	runtime.LockOSThread() // for startServer
	defer runtime.UnlockOSThread()
	for _, c := range []struct{ name, script, want, not string }{
		{"a program that succeeds", "exit 0", "", ""},
		{"a program that fails", "echo one; echo two; echo three; printf 'fo\\033[2Jur' >&2; exit 3", "exit status 3: two; three; fo?[2Jur",
			"one"},
		{"a program that is killed", "kill -9 $$", "signal: killed", ""},
		{"a program that prints too much", "head -c 1000000 /dev/zero | tr '\\0' x; exit 1", "exit status 1: xxx", strings.Repeat("x", 300)},
		{"a program that repeats its environment", "echo named $ETCD_NAME, path ${PATH:+there}; exit 1", "named , path there",
			"from the environment"},
	} {
		t.Run(c.name, func(t *testing.T) {
			runtime.LockOSThread() // a subtest has another
			defer runtime.UnlockOSThread()
			s, err := startServer(t.TempDir(), "sh", "-c", c.script)
			if err != nil {
				t.Fatal(err)
			}
			err = s.wait(t.Context())
			switch {
			case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v", err)
			case c.not != "" && strings.Contains(err.Error(), c.not):
				t.Errorf("got %v", err)
			}
		})
	}
	ended, end := context.WithCancel(t.Context())
	end()
	s, err := startServer(t.TempDir(), "sleep", "60")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.wait(ended); !errors.Is(err, context.Canceled) || s.command.ProcessState == nil {
		t.Errorf("after its end: %v", err)
	}
	if _, err := startServer(t.TempDir(), "no-such-program"); err == nil {
		t.Error("it starts")
	}
}
