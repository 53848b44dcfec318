package traffic

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
)

var somewhere = Service{Namespace: "shop", Name: "cache", Port: 11211}

// to is a Network with one server behind every Service.
func to(t *testing.T, serve func(net.Conn)) Network {
	t.Helper()
	return networkFunc(func(context.Context, Service) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go serve(theirs)
		t.Cleanup(func() { _ = theirs.Close() })
		return ours, nil
	})
}

// script answers each line that is heard with what is next to it.
func script(answers map[string]string) func(net.Conn) {
	return func(conn net.Conn) {
		lines := bufio.NewScanner(conn)
		for lines.Scan() {
			if answer, known := answers[lines.Text()]; known {
				_, _ = fmt.Fprint(conn, answer)
			}
		}
	}
}

func TestMemcached(t *testing.T) {
	network := to(t, script(map[string]string{
		"one":            "STORED\r\n", // answers the value, not the set
		"full":           "SERVER_ERROR out of memory storing object\r\n",
		"get a":          "VALUE a 0 7\r\none\r\n\r\n\r\nEND\r\n",
		"get none":       "END\r\n",
		"get odd":        "ERROR\r\n",
		"stats settings": "STAT maxbytes 67108864\r\nSTAT tcpport 11211\r\nEND\r\n",
	}))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cache, err := DialMemcached(ctx, network, somewhere)
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close() //nolint:errcheck // the test is over

	if err := cache.Set("a", "one"); err != nil {
		t.Error(err)
	}
	if err := cache.Set("a", "full"); err == nil || !strings.Contains(err.Error(), "out of memory") {
		t.Errorf("a refused set reports %v", err)
	}
	if value, found, err := cache.Get("a"); value != "one\r\n\r\n" || !found || err != nil {
		t.Errorf("get a: %q %v %v", value, found, err)
	}
	if value, found, err := cache.Get("none"); value != "" || found || err != nil {
		t.Errorf("get none: %q %v %v", value, found, err)
	}
	if _, _, err := cache.Get("odd"); err == nil {
		t.Error("an answer that is none must be an error")
	}
	settings, err := cache.Settings()
	if err != nil || settings["maxbytes"] != "67108864" || settings["tcpport"] != "11211" {
		t.Errorf("settings: %v %v", settings, err)
	}
}

func TestGet(t *testing.T) {
	network := to(t, func(conn net.Conn) {
		request, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			return
		}
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n%s at %s", request.URL.Path, request.Host)
		_ = conn.Close()
	})
	answer, err := Get(t.Context(), network, somewhere, "/healthz")
	if err != nil || answer != (Answer{From: "pipe", Status: "200 OK", Code: 200, Body: "/healthz at cache.shop:11211"}) {
		t.Errorf("%+v %v", answer, err)
	}
}

func TestNodePort(t *testing.T) {
	service := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{
		{Port: 53, Protocol: corev1.ProtocolUDP, NodePort: 30053},
		{Port: 53, Protocol: corev1.ProtocolTCP, NodePort: 30054},
		{Port: 80},
	}}}
	if port, err := nodePort(service, 53); port != 30054 || err != nil {
		t.Errorf("TCP and UDP on one number: %d %v", port, err)
	}
	if _, err := nodePort(service, 80); err == nil {
		t.Error("a port without a node port must be an error")
	}
}

func TestNodeAddress(t *testing.T) {
	nodes := []corev1.Node{{}, {Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
		{Type: corev1.NodeHostName, Address: "node-1"}, {Type: corev1.NodeInternalIP, Address: "10.0.0.7"},
	}}}}
	if address, err := nodeAddress(nodes); address != "10.0.0.7" || err != nil {
		t.Errorf("%s %v", address, err)
	}
	if _, err := nodeAddress(nodes[:1]); err == nil {
		t.Error("no address must be an error")
	}
}

func TestChoose(t *testing.T) {
	service := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{
		{Name: "metrics", Port: 9150}, {Name: "memcached", Port: 11211},
	}}}
	endpoint := func(pod string, ready bool) discoveryv1.Endpoint {
		return discoveryv1.Endpoint{
			TargetRef:  &corev1.ObjectReference{Name: pod},
			Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(ready)},
		}
	}
	slices := []discoveryv1.EndpointSlice{{
		Ports: []discoveryv1.EndpointPort{
			{Name: ptr.To("metrics"), Port: ptr.To[int32](9999)}, {Name: ptr.To("memcached"), Port: ptr.To[int32](11311)},
		},
		Endpoints: []discoveryv1.Endpoint{endpoint("cache-0", false), endpoint("cache-1", true)},
	}}
	if pod, port, err := choose(service, slices, somewhere); pod != "cache-1" || port != 11311 || err != nil {
		t.Errorf("%s %d %v", pod, port, err)
	}
	slices[0].Endpoints = slices[0].Endpoints[:1]
	if _, _, err := choose(service, slices, somewhere); err == nil || !strings.Contains(err.Error(), "no ready endpoint") {
		t.Errorf("without a ready endpoint: %v", err)
	}
	if _, _, err := choose(service, slices, Service{Port: 80}); err == nil {
		t.Error("an unknown port must be an error")
	}
}

func TestLoadKeepsItsRateAndCountsFailures(t *testing.T) {
	const rate, enough = 20, 8
	var answers atomic.Int32
	some := make(chan struct{})
	l := StartLoad(to(t, func(conn net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
			return
		}
		status := "200 OK"
		switch answers.Add(1) {
		case 3:
			status = "502 Bad Gateway"
		case enough:
			close(some)
		}
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n", status)
	}), somewhere, "/", rate)
	<-some
	s := l.Stop()
	if s.Requests < enough || float64(s.Requests) > rate*s.Lasted.Seconds()+1 || s.Failed != 1 || len(s.First) != 1 ||
		!strings.Contains(s.First[0], "502") {
		t.Errorf("%+v", s)
	}
}

func TestPlaceMovesNoMoreThanTheNewNodesShare(t *testing.T) {
	const keys = 10_000
	moved := 0
	for i := range keys {
		before, after := Place(strconv.Itoa(i), 3), Place(strconv.Itoa(i), 4)
		if before != after {
			moved++
			if after != 3 {
				t.Fatalf("key %d went from %d to %d, which was there before", i, before, after)
			}
		}
	}
	if moved < keys*23/100 || moved > keys*27/100 {
		t.Errorf("%d of %d keys moved", moved, keys)
	}
}
