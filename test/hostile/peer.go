package hostile

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// Serve all clients that connect, as that sort does, until the listener is closed. No connection outlives it.
func Serve(listener net.Listener, sort Behavior) error {
	answer, is := answers[sort]
	if !is {
		return fmt.Errorf("there is no hostile server of sort %q, only %q", sort, Behaviors())
	}
	var all sync.WaitGroup
	defer all.Wait()
	ended := make(chan struct{})
	defer close(ended)
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		p := &peer{Conn: conn, lines: bufio.NewReader(conn), ended: ended, gone: make(chan struct{})}
		all.Go(func() { p.talk(answer) })
		all.Go(func() {
			select {
			case <-ended:
			case <-p.gone:
			}
			_ = conn.Close()
		})
	}
}

// peer is who has connected.
type peer struct {
	net.Conn
	lines *bufio.Reader
	ended <-chan struct{} // the server
	gone  chan struct{}
}

func (p *peer) talk(answer func(*peer, string) bool) {
	defer close(p.gone)
	for {
		command, err := p.command()
		if err != nil {
			return
		}
		if !answer(p, command) && p.say(honest(command)) != nil {
			return
		}
	}
}

// command that comes next, its first word in capitals: of RESP, or of a line.
func (p *peer) command() (string, error) {
	words, err := ReadCommand(p.lines)
	if err != nil || len(words) == 0 {
		return "", err
	}
	if words[0] == "set" { // memcached's, whose data is a line of its own
		_, err = p.lines.ReadString('\n')
	}
	return strings.ToUpper(words[0]), err
}

// say it. An error is of who has gone.
func (p *peer) say(text string) error {
	_, err := p.Write([]byte(text))
	return err
}

// flood who has connected until he goes.
func (p *peer) flood(first, more string) {
	for text := first; ; text = more {
		if p.say(text) != nil {
			return
		}
	}
}

// wait is false when the server ends before.
func (p *peer) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.ended:
		return false
	}
}

// honest is the unobjectionable reply of a server.
func honest(command string) string {
	switch command {
	case "INFO", "ROLE":
		return state(command, strings.Repeat("a", 40), nil)
	case "HELLO":
		return "-ERR unknown command 'HELLO'\r\n"
	case "PING":
		return "+PONG\r\n"
	case "CONFIG":
		return "*0\r\n"
	case "SET":
		return "STORED\r\n"
	case "REFRESH_CERTS":
		return "OK\r\n"
	}
	return "+OK\r\n"
}

// state of a master with an id and replicas, as INFO or ROLE shows it; for memcached the replicas alone.
func state(command, id string, replicas []string) string {
	var text strings.Builder
	switch command {
	case "INFO":
		fmt.Fprintf(&text, "# Server\r\nredis_version:8.0.%d\r\nrun_id:%s\r\nrole:master\r\nmaster_replid:%s\r\nmaster_repl_offset:1\r\n",
			len(replicas), id, id)
		for i, address := range replicas {
			fmt.Fprintf(&text, "slave%d:ip=%s,port=6379,state=online,offset=1,lag=0\r\n", i, address)
		}
		return bulk(text.String())
	case "ROLE":
		fmt.Fprintf(&text, "*3\r\n%s:1\r\n*%d\r\n", bulk("master"), len(replicas))
		for _, address := range replicas {
			fmt.Fprintf(&text, "*3\r\n%s%s%s", bulk(address), bulk("6379"), bulk("1"))
		}
		return text.String()
	}
	return strings.Join(replicas, " ") + "\r\n"
}

func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }
