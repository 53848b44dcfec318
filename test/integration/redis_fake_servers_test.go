package integration

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	attacks "github.com/mainstay-operator/mainstay-operator/test/hostile"
)

// fakeServer is what listens where a redis-server should: it holds one connection.
type fakeServer func(conn net.Conn)

// fakeServers of every sort that makes a client wait, or ask again and again.
var fakeServers = map[string]fakeServer{
	"takes connections and is silent": func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) },
	"answers without end, one byte each 50 ms": func(conn net.Conn) {
		for tick := time.NewTicker(50 * time.Millisecond); ; <-tick.C {
			if _, err := conn.Write([]byte("+")); err != nil {
				tick.Stop()
				return
			}
		}
	},
	"hangs up at once": func(net.Conn) {},
	"does not know our password": respondWith(func([]string) string {
		return "-WRONGPASS invalid username-password pair or user " +
			"is disabled.\r\n"
	}),
	"is slow to answer anything": respondWith(func(words []string) string {
		<-time.After(400 * time.Millisecond)
		return usurper(words)
	}),
	"is another master each time":          respondWith(usurper),
	"is a replica, and silent to commands": respondWith(ignoreCommands),
	"is a master, and silent to commands": respondWith(func(words []string) string {
		if commands[strings.ToUpper(words[0])] {
			<-time.After(time.Second)
		}
		return usurper(words)
	}),
}

// commands that change what a server is.
var commands = map[string]bool{"REPLICAOF": true, "ACL": true, "CLIENT": true, "MULTI": true}

// startFakeServer runs one at an address of this machine until the spec ends.
func startFakeServer(p fakeServer) (address string) {
	GinkgoHelper()
	address = freeAddress()
	listener, err := net.Listen("tcp", address+":6379")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(listener.Close)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				p(conn)
			}()
		}
	}()
	return address
}

// respondWith gives each command an answer.
func respondWith(answer func(words []string) string) fakeServer {
	return func(conn net.Conn) {
		asked := bufio.NewReader(conn)
		for {
			words, err := attacks.ReadCommand(asked)
			if err != nil {
				return
			}
			if _, err := conn.Write([]byte(answer(append(words, "")))); err != nil {
				return
			}
		}
	}
}

// usurper is another process in another history each time that it is asked, always master, and
// does as it is asked.
func usurper(words []string) string {
	lot := strconv.FormatUint(rand.Uint64(), 16)
	return infoOrRole(words, "role:master\r\nmaster_replid:"+lot, "*3\r\n+master\r\n:"+strconv.Itoa(rand.IntN(1000))+"\r\n*1\r\n*3\r\n+"+
		fmt.Sprintf("127.0.%d.%d", rand.IntN(256), rand.IntN(256))+"\r\n+6379\r\n+1\r\n")
}

// ignoreCommands is a fenced replica that answers no command.
func ignoreCommands(words []string) string {
	if commands[strings.ToUpper(words[0])] {
		<-time.After(time.Second)
	}
	return infoOrRole(words, "role:slave\r\nmaster_host:127.0.0.1\r\nmaster_replid:one",
		"*5\r\n+slave\r\n+127.0.0.1\r\n:1\r\n+connect\r\n:1\r\n")
}

func infoOrRole(words []string, info, role string) string {
	switch strings.ToUpper(words[0]) {
	case "INFO":
		info += "\r\nrun_id:" + strconv.FormatUint(rand.Uint64(), 16) + "\r\nredis_version:8.0.0\r\nrepl_backlog_active:1\r\n"
		return fmt.Sprintf("$%d\r\n%s\r\n", len(info), info)
	case "ROLE":
		return role
	case "PING":
		return "+PONG\r\n"
	case "CONFIG":
		return fmt.Sprintf("*2\r\n+%s\r\n+1\r\n", words[2])
	}
	return "+OK\r\n"
}
