package config

import (
	"slices"
	"strings"
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

// IdentityIn reads the identity from the user's Secret, or says what has to be fixed. With clientAuth etcd's gateway for JSON
// shows the members' certificate to the member that it belongs to, as the operator does.
func IdentityIn(spec membership.Spec, data map[string][]byte, now time.Time) (pki.Identity, string) {
	return pki.FromSecret(spec.TLS.SecretName, data, spec.ClientHosts(), spec.RequiresCertificates(), now)
}

// ClientAuthorities names the authorities whose certificates a member that starts now accepts from clients; empty if it asks for none.
func ClientAuthorities(spec membership.Spec, i pki.Identity) string {
	if !spec.RequiresCertificates() {
		return ""
	}
	names := pki.Fingerprints(i.Authorities)
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ",")
}
