package memcached

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/netip"
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

// Whatever a node answers, the pass continues, and a condition says what is known of the node.
func TestCommandsToAHostileNode(t *testing.T) {
	for _, c := range []struct {
		sort hostile.Behavior
		why  string
	}{
		{hostile.Length, "cannot load the certificate: x$9223372036854775800"},
		{hostile.Line, "does not answer"},
		{hostile.Depth, "cannot load the certificate: *1"},
		{hostile.Count, "cannot load the certificate: :1"},
		{hostile.Encoding, "cannot load the certificate: ???"},
		{hostile.Drip, "does not answer"},
		{hostile.Silence, "does not answer"},
		{hostile.Push, "cannot load the certificate: "},
		{hostile.Replicas, "does not answer"},
		{hostile.Labels, "cannot load the certificate: "},
	} {
		t.Run(string(c.sort), func(t *testing.T) {
			t.Parallel()
			liar := hostile.Start(t, c.sort, "")
			conn, err := net.Dial("tcp", liar.Address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close() //nolint:errcheck // a test's
			timeout := time.Minute
			if c.sort == hostile.Drip || c.sort == hostile.Silence {
				timeout = nodeTimeout
			}
			ctx, done := context.WithTimeout(t.Context(), timeout)
			defer done()
			got := probeProblem(reloadCertificates(ctx, conn, nil))
			if !strings.HasPrefix(got, c.why) {
				t.Errorf("it is reported as %q", got)
			}
			checkPrintable(t, got)
		})
	}
}

// The node takes the connection, and speaks no TLS.
func TestASilentNodeHoldsNothingUp(t *testing.T) {
	liar := hostile.Start(t, hostile.Silence, "")
	node, err := netip.ParseAddrPort(liar.Address)
	if err != nil {
		t.Fatal(err)
	}
	m := newSecured(nil)
	m.Spec.Port = int32(node.Port())
	r := &Reconciler{clock: clock.RealClock{}}
	given := secrets{certificate: certificate{Identity: identityOf(authority.New("one").Issue(host))}}
	late, recheckAfter := r.refreshCertificates(t.Context(), m, given, []corev1.Pod{podAt("a-0", node.Addr().String())})
	if len(late) != 1 || recheckAfter != firstProbeBackoff || late[0] != "a-0 (does not answer)" {
		t.Errorf("%q, again in %s", late, recheckAfter)
	}
}

// checkPrintable checks that what a condition says can be printed, and has at most 1024 bytes.
func checkPrintable(t *testing.T, text string) {
	t.Helper()
	if len(text) > 1024 || !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("%d bytes: %.200q", len(text), text)
	}
}

func TestNoNameIsDialled(t *testing.T) {
	for _, address := range []string{"localhost:11211", ":11211"} {
		if _, err := dialTLS(t.Context(), address, &tls.Config{MinVersion: tls.VersionTLS12}); probeProblem(err) != "has no IP address" {
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
		err := reloadCertificates(ctx, ours, []string{"app:one", "app:two"})
		_ = ours.Close()
		<-asked
		if err != nil {
			checkPrintable(t, probeProblem(err))
			return
		}
		if !strings.Contains(string(answers), "OK") {
			t.Errorf("it took %q for a yes", answers)
		}
	})
}
