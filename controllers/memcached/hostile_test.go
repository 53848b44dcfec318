package memcached

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/mainstay-operator/mainstay-operator/test/authority"
	"github.com/mainstay-operator/mainstay-operator/test/hostile"
)

// Whatever answers, the pass goes on, and a condition says of the node what can be said.
func TestAHostileNodeIsNotKnownToServeTheCertificate(t *testing.T) {
	by := authority.New("one")
	old, renewed := by.Issue(host), by.Issue(host)
	for _, c := range []struct {
		sort hostile.Sort
		why  string
	}{
		{hostile.Length, "it cannot be loaded: x$9223372036854775800"},
		{hostile.Line, "no answer"},
		{hostile.Depth, "it cannot be loaded: *1"},
		{hostile.Count, "it cannot be loaded: :1"},
		{hostile.Encoding, "it cannot be loaded: ???"},
		{hostile.Drip, "no answer"},
		{hostile.Silence, "no answer"},
		{hostile.Push, "it cannot be loaded: "},
		{hostile.Replicas, "no answer"},
		{hostile.Labels, "it cannot be loaded: "},
	} {
		t.Run(string(c.sort), func(t *testing.T) {
			t.Parallel()
			pair, err := tls.X509KeyPair(old["tls.crt"], old["tls.key"])
			if err != nil {
				t.Fatal(err)
			}
			listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}})
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = hostile.Serve(listener, c.sort)
			}()
			t.Cleanup(func() {
				_ = listener.Close()
				<-ended
			})
			m := secured(nil)
			m.Spec.Port = int32(listener.Addr().(*net.TCPAddr).Port)
			r := &Reconciler{clock: clock.RealClock{}}
			given := secrets{certificate: certificate{Identity: identityOf(renewed)}}
			late, due := r.refresh(t.Context(), m, given, []corev1.Pod{at("a-0", "127.0.0.1")})
			if len(late) != 1 || due != soon || !strings.HasPrefix(late[0], "a-0 ("+c.why) {
				t.Fatalf("%q, again in %s", late, due)
			}
			fitToTell(t, late[0])
		})
	}
}

// fitToTell holds what a condition says to what can be printed, and to a few lines.
func fitToTell(t *testing.T, text string) {
	t.Helper()
	if len(text) > 1024 || !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("%d bytes: %.200q", len(text), text)
	}
}

func TestNoNameIsDialled(t *testing.T) {
	for _, address := range []string{"localhost:11211", ":11211"} {
		if _, err := connect(t.Context(), address, &tls.Config{MinVersion: tls.VersionTLS12}); why(err) != "has no address" {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func FuzzAnswers(f *testing.F) {
	f.Fuzz(func(t *testing.T, answers []byte) {
		ours, theirs := net.Pipe()
		asked := make(chan struct{})
		go func() {
			defer close(asked)
			_, _ = io.Copy(io.Discard, theirs)
		}()
		go func() {
			_, _ = theirs.Write(answers)
			_ = theirs.Close()
		}()
		ctx, done := context.WithTimeout(t.Context(), time.Minute)
		defer done()
		err := command(ctx, ours, []string{"app:one", "app:two"})
		_ = ours.Close()
		<-asked
		if err != nil {
			fitToTell(t, why(err))
			return
		}
		if !strings.Contains(string(answers), "OK") {
			t.Errorf("it took %q for a yes", answers)
		}
	})
}
