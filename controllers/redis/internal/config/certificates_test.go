package config_test

import (
	"bytes"
	"crypto/x509"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

func TestOnlyWhereCertificatesAreAskedForIsOursOneForClients(t *testing.T) {
	forServers := Issue(authority.New("one"), func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} })
	for auth, problem := range map[cachev1alpha1.RedisClientAuth]string{
		"":                                    "",
		cachev1alpha1.RedisClientAuthNone:     "",
		cachev1alpha1.RedisClientAuthOptional: "tls.clientAuth",
		cachev1alpha1.RedisClientAuthRequired: "tls.clientAuth",
	} {
		if _, got := Resolve(Secured(auth)).IdentityIn(forServers, time.Now()); !strings.Contains(got, problem) ||
			(got == "") != (problem == "") {
			t.Errorf("%q: got %q, want %q", auth, got, problem)
		}
	}
}

func TestPublishedIsReadAsWritten(t *testing.T) {
	written := IdentityOf(Issue(authority.New("one")))
	data := func() map[string][]byte {
		stored := map[string][]byte{}
		for key, value := range IdentityData(written) {
			stored[key] = []byte(value)
		}
		return stored
	}
	if read := PublishedIn(data()); read.ContentHash() != written.ContentHash() || !bytes.Equal(read.Key, written.Key) {
		t.Errorf("got %v", read)
	}
	for _, key := range slices.Sorted(maps.Keys(data())) {
		broken := data()
		broken[key] = []byte("words")
		if got := PublishedIn(broken); !got.IsEmpty() && key != TLSConfKey { // which is written again
			t.Errorf("with other words in %s it is %v", key, got)
		}
	}
	if !PublishedIn(nil).IsEmpty() {
		t.Error("nothing is something")
	}
}
