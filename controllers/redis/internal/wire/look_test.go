package wire

import (
	"bufio"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// runScript has the server run a script that ends only when it is killed, and returns once it answers BUSY.
func (p *process) runScript(t *testing.T) {
	t.Helper()
	must(t, p.do(t.Context(), "CONFIG", "SET", "busy-reply-threshold", "50"))
	c := redis.NewClient(&redis.Options{Addr: p.hostport, MaxRetries: -1, DisableIdentity: true, ReadTimeout: -1})
	t.Cleanup(func() { _ = c.Close() })
	go func() { _ = c.Eval(t.Context(), "while true do end", nil).Err() }()
	eventually(t, "the server is busy", func() bool { return errorCode(p.client.Ping(t.Context()).Err()) == Busy })
}

func (p *process) killScript(t *testing.T) {
	t.Helper()
	eventually(t, "the script is killed", func() bool { return p.do(t.Context(), "SCRIPT", "KILL") == nil })
}

// A server that answers BUSY lives, and is the same when the script has ended.
func TestABusyServerLives(t *testing.T) {
	p := start(t)
	p.runScript(t)
	fresh := openWithin(p.hostport, password, nil, time.Minute)
	defer fresh.Close()
	for name, s := range map[string]*Server{"the same connection": p.Server, "a new one": fresh} {
		if v := s.Look(t.Context()); v.Answer != ErrorReply || v.ErrorCode != Busy || v.RunID != "" {
			t.Errorf("%s: got %+v", name, v)
		}
	}
	p.killScript(t)
	eventually(t, "it answers after the script", func() bool { // which continues for a moment after SCRIPT KILL
		v := p.Look(t.Context())
		return v.Answer == Reached && v.ErrorCode == ""
	})
}

// A watch reports the start and the end of a script once each, by one connection.
func TestAWatchSurvivesAScript(t *testing.T) {
	p := start(t)
	news := p.watched(t, 200*time.Millisecond, WatchHandler{})
	<-news // it is there
	p.runScript(t)
	<-news // it is busy
	watching := func() string {
		list, err := p.client.Do(t.Context(), "CLIENT", "LIST").Text()
		must(t, err)
		for line := range strings.Lines(list) {
			if strings.Contains(line, "user="+Probe) {
				return strings.Fields(line)[0]
			}
		}
		return ""
	}
	p.killScript(t)
	<-news // it is back
	before := watching()
	p.runScript(t)
	<-news
	p.killScript(t)
	<-news
	if after := watching(); before == "" || after != before {
		t.Errorf("the watch's connection was %q, and is %q", before, after)
	}
}

// Rights that somebody took from the operator by hand do not end the server.
func TestARefusedOperatorSeesLife(t *testing.T) {
	p := start(t)
	must(t, p.do(t.Context(), "ACL", "SETUSER", Operator, "-info"))
	if v := p.Look(t.Context()); v.Answer != ErrorReply || v.ErrorCode != "NOPERM" {
		t.Errorf("got %+v", v)
	}
}

// An error proves life only by a server that has accepted the login, and only one that reports its state.
func TestWhatAnErrorProves(t *testing.T) {
	for _, c := range []struct {
		reason, login, info string
		want                Answer
	}{
		{"BUSY after the login is life", "+OK\r\n", "-BUSY running a script\r\n", ErrorReply},
		{"LOADING after the login is life", "+OK\r\n", "-LOADING the dataset\r\n", ErrorReply},
		{"BUSY to the login is no answer", "-BUSY running a script\r\n", "-BUSY running a script\r\n", Silent},
		{"BUSY without an error's mark is no answer", "+OK\r\n", "+BUSY running a script\r\n", Silent},
		{"a word that starts like BUSY is no answer", "+OK\r\n", "-BUSYKEY there is one\r\n", Silent},
		{"an unknown command is no answer", "+OK\r\n", "-ERR unknown command\r\n", Silent},
		{"NOAUTH after the login is another's server", "+OK\r\n", "-NOAUTH Authentication required.\r\n", AuthFailed},
		{"WRONGPASS is another's server", "-WRONGPASS invalid\r\n", "", AuthFailed},
		{"what is not RESP is no answer", "+OK\r\n", "BUSY\r\n", Silent},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := openWithin(serveReplies(t, c.login, c.info), password, nil, time.Minute)
			defer s.Close()
			if got := s.Look(t.Context()); got.Answer != c.want {
				t.Errorf("got %+v, want %v", got, c.want)
			}
		})
	}
}

// serveReplies starts a server that gives one reply to each HELLO and AUTH, and another to all else.
func serveReplies(t *testing.T, login, rest string) (hostport string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		words := 0
		for lines := bufio.NewReader(conn); ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			reply := ""
			switch strings.ToUpper(strings.TrimSpace(line)) { // a command's name is a line of its own
			case "HELLO":
				reply = "-NOPROTO unsupported\r\n" // so that AUTH follows
			case "AUTH":
				if words++; words == 2 { // HELLO has an argument of that name
					reply = login
				}
			case "INFO":
				reply = rest
			}
			if _, err := conn.Write([]byte(reply)); err != nil {
				return
			}
		}
	}()
	return listener.Addr().String()
}
