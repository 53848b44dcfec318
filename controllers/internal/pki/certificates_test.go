package pki

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

// Whatever changes, those who are a step behind and those who are not trust one
// another, each as a server and as a client.
func TestCertificatesChangeOver(t *testing.T) {
	first, second := authority.New("one"), authority.New("two")
	old, renewed, other, third := identityOf(issue(first)), identityOf(issue(first)), identityOf(issue(second)),
		identityOf(issue(authority.New("three")))
	both := other
	both.Authorities = append(bytes.Clone(second.PEM()), first.PEM()...)
	for _, c := range []struct {
		reason string
		wanted []Identity // one after the other, the next before the last has arrived
		steps  int
	}{
		{"nothing new", []Identity{old}, 0},
		{"renewed", []Identity{renewed}, 1},
		{"by another authority", []Identity{other}, 3},
		{"by another, the old still trusted", []Identity{both}, 2},
		{"the other way in the middle of it", []Identity{other, old}, 2},
		{"a third in the middle of it", []Identity{other, third}, 4},
	} {
		t.Run(c.reason, func(t *testing.T) {
			now, published, steps := time.Now(), old, 0
			for i := 0; i < len(c.wanted) || published.ContentHash() != c.wanted[len(c.wanted)-1].ContentHash(); i++ {
				wanted := c.wanted[min(i, len(c.wanted)-1)]
				next := Certificates{Published: published, Wanted: wanted}.NextPublished(now)
				if !next.Trusts(published, now) || !published.Trusts(next, now) {
					t.Fatalf("step %d: they do not trust one another", steps)
				}
				if next.ContentHash() != published.ContentHash() {
					steps++
				}
				if published = next; steps > 10 {
					t.Fatal("it never ends")
				}
			}
			if steps != c.steps {
				t.Errorf("%d steps, want %d", steps, c.steps)
			}
		})
	}
}

func TestPublishedIsReadAsWritten(t *testing.T) {
	written := identityOf(issue(authority.New("one")))
	data := written.Data()
	if read := PublishedIn(data); !reflect.DeepEqual(read, written) {
		t.Errorf("got %v", read)
	}
	data["tls.key"] = []byte("words")
	if !PublishedIn(data).IsEmpty() || !PublishedIn(nil).IsEmpty() {
		t.Error("what is of no use is taken for a certificate")
	}
}
