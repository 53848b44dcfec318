package wire

import (
	"bufio"
	"net"
	"strings"
	"testing"
	"time"
)

// askForDump asks the server for a dump as a backup does, and returns the connection and the last reply.
func (p *process) askForDump(t *testing.T) (net.Conn, string) {
	t.Helper()
	conn, err := net.Dial("tcp", p.hostport)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	replies := bufio.NewReader(conn)
	var last string
	for _, line := range []string{"AUTH " + Backup + " word", "REPLCONF capa eof capa psync2", "PSYNC ? -1"} {
		_, err := conn.Write([]byte(line + "\r\n"))
		must(t, err)
		for last = ""; strings.TrimSpace(last) == ""; { // a server that prepares its dump sends empty lines
			last, err = replies.ReadString('\n')
			must(t, err)
		}
	}
	return conn, last
}

// startWithBackups starts a master that knows the backups' password, and may have replicas or not.
func startWithBackups(t *testing.T) *process {
	t.Helper()
	p := start(t)
	must(t, p.DefineUser(t.Context(), Backup, []string{Login{Password: "word"}.Digest()}, "+ping", "+info", "+replconf", "+psync|?"))
	must(t, p.Promote(t.Context(), 0))
	return p
}

// One that may ask a master for a dump may also confirm its writes. So only a master without replicas gives one.
func TestAMasterWithReplicasGivesNoDump(t *testing.T) {
	master := startWithBackups(t)
	must(t, master.Admit(t.Context(), []string{"one"}, nil, true))
	conn, reply := master.askForDump(t)
	if !strings.HasPrefix(reply, "+FULLRESYNC") {
		t.Fatalf("a master without replicas answers %q", reply)
	}

	must(t, master.Admit(t.Context(), []string{"one"}, []Login{{User: "one", Password: "first"}}, false))
	must(t, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
	for buffer, err := make([]byte, 4096), error(nil); err == nil; {
		if _, err = conn.Read(buffer); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Error("one that was sent a dump before stays connected")
		}
	}
	if _, reply := master.askForDump(t); !strings.HasPrefix(reply, "-NOPERM") {
		t.Errorf("a master with replicas answers %q", reply)
	}
}

// A replica confirms no write to a client, also one that was master before.
func TestAReplicaGivesADump(t *testing.T) {
	former := startWithBackups(t)
	must(t, former.Admit(t.Context(), []string{"one"}, nil, false))
	must(t, former.Follow(t.Context(), "127.0.0.1", Login{User: "one", Password: "first"}))
	if rights := former.user(t, Backup); !strings.Contains(rights, "+replconf") || !strings.Contains(rights, "+psync|?") {
		t.Errorf("its rights are %s", rights)
	}
}
