package fleet

import (
	"context"
	"net"
	"testing"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/event"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// The context of a pass ends with the pass. A watch continues until the process no longer leads, or the object is gone.
func TestAWatchOutlivesThePassThatStartedIt(t *testing.T) {
	const address = "127.83.19.4" // of this host alone, as all of 127.0.0.0/8, and no one else's
	listener, err := net.Listen("tcp", address+":6379")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	accept := func() net.Conn {
		t.Helper()
		conn, err := listener.Accept() // the test's own deadline ends it
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	leading, stopLeading := context.WithCancel(t.Context())
	passing, endPass := context.WithCancel(leading)
	r := startOperator(clock.RealClock{})
	r.Watching.Wakeups = make(chan event.GenericEvent, 100)
	if err := r.Watching.NoteLeading(leading, nil); err != nil {
		t.Fatal(err)
	}
	redis := &cachev1alpha1.Redis{}
	redis.UID = "1"
	f := r.fleetOf(redis)
	f.Spec.ProbeInterval, f.Nodes = time.Minute, []topology.Node{{Address: address}}
	f.watchServers(passing)
	first := accept()
	endPass()
	_ = first.Close()
	second := accept() // so it is watched still
	stopLeading()
	for buffer := make([]byte, 1024); err == nil; { // what it asks, and the end
		_, err = second.Read(buffer)
	}
	_ = second.Close()
}
