package pki

import (
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"
)

// issued returns a new authority, made at one time, and a certificate that it has issued at another.
func issued(t *testing.T, madeAt, issuedAt time.Time) (authority Authority, leaf *x509.Certificate) {
	t.Helper()
	authority, err := NewAuthority("a", madeAt)
	if err != nil {
		t.Fatal(err)
	}
	certificate, _, err := authority.Issue("member", []string{"host"}, issuedAt)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(certificate)
	leaf, err = x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return authority, leaf
}

// An operator whose clock is ahead issues certificates that members with right clocks accept.
func TestACertificateIsValidAsSoonAsItsAuthority(t *testing.T) {
	now := time.Now()
	authority, leaf := issued(t, now, now.Add(48*time.Hour))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.Certificate)
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, DNSName: "host"}); err != nil {
		t.Errorf("a member whose clock is two days behind the operator's refuses it: %v", err)
	}
	if at := IssuedAt(leaf); at.Sub(now.Add(48*time.Hour)).Abs() > time.Second {
		t.Errorf("it was issued at %s", at)
	}
}

func TestWhenACertificateIsDue(t *testing.T) {
	const day = 24 * time.Hour
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	_, ofNewAuthority := issued(t, start, start)
	_, ofOldAuthority := issued(t, start.Add(-5*365*day), start)
	former := *ofNewAuthority // as earlier releases issued them
	former.NotBefore = start.Add(-clockSkew)
	for _, c := range []struct {
		name string
		leaf *x509.Certificate
		now  time.Time
		want bool
	}{
		{"a new one of a new authority is not", ofNewAuthority, start, false},
		{"a new one of an old authority is not", ofOldAuthority, start, false},
		{"one of an old authority is not after half a year", ofOldAuthority, start.Add(180 * day), false},
		{"one of an old authority is when less than a third of a year is left", ofOldAuthority, start.Add(244 * day), true},
		{"one that an earlier release has issued is not after half a year", &former, start.Add(180 * day), false},
		{"one that an earlier release has issued is when less than a third of a year is left", &former, start.Add(244 * day), true},
		{"one of a clock that was a little ahead is not", ofNewAuthority, start.Add(-time.Minute), false},
		{"one of a clock that was far ahead is", ofNewAuthority, start.Add(-time.Hour), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := IsLeafDue(c.leaf, c.now); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
