package redis

import (
	"crypto/x509"
	"slices"
	"time"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func drawn() string { return "drawn" }

func started(password, from string) credentials {
	c := credentials{operator: "op", replication: "repl"}
	c.wanted = appLogin{password: password, from: from}
	return c.publish(false)
}

func oneDirective(name, value string) map[string]cachev1alpha1.RedisConfigValue {
	return map[string]cachev1alpha1.RedisConfigValue{name: cachev1alpha1.RedisConfigValue(value)}
}

func issue(by *authority.Authority, edits ...func(*x509.Certificate)) map[string][]byte {
	return by.Issue("a.ns.svc", edits...)
}

func identityOf(secret map[string][]byte) identity {
	return identity{Certificate: secret["tls.crt"], Key: secret["tls.key"], Authorities: secret["ca.crt"]}
}

func secured(auth cachev1alpha1.RedisClientAuth) *cachev1alpha1.Redis {
	r := sized(3)
	r.Namespace = "ns"
	r.Spec.TLS = &cachev1alpha1.RedisTLS{SecretName: "chosen", ClientAuth: auth}
	return r
}

func sized(size int32) *cachev1alpha1.Redis {
	r := &cachev1alpha1.Redis{}
	r.Name, r.Spec.Size = "a", &size
	return r
}

// digestsOf are the digests of these passwords, as credentials list them.
func digestsOf(passwords ...string) []string {
	var list []string
	for _, p := range passwords {
		list = append(list, digest(p))
	}
	slices.Sort(list)
	return list
}

var passwords = credentials{wanted: appLogin{password: "app-secret"}, published: appLogin{password: "app-secret"}, operator: "op-secret", replication: `re"pl`}
