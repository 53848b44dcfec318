package config

import (
	"path"
	"strconv"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki/measured"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

const (
	// CertificatesDir is where a server finds its certificates.
	CertificatesDir = "/etc/redis-tls"
	// TLSConfKey is the file that names the certificates which a server starts with. It comes and goes with
	// them, in one volume.
	TLSConfKey = "tls.conf"
	// versionKey identifies the certificates, for the operator.
	versionKey = "version"

	// SocketDir holds the socket of the probes.
	SocketDir = "/run/redis"
	// SocketPath is where the probes reach a server that serves TLS on its port.
	SocketPath = SocketDir + "/redis.sock"
)

// listenDirectives are where a server listens. With TLS only a socket goes without it, for the probes: they must
// not fail while certificates change over.
func (s Spec) listenDirectives() []directive {
	port := strconv.Itoa(wire.Port)
	if !s.TLS {
		return []directive{{"port", []string{port}}}
	}
	return []directive{
		{"port", []string{"0"}},
		{"tls-port", []string{port}},
		{"tls-replication", []string{"yes"}},
		{"tls-auth-clients", []string{map[cachev1alpha1.RedisClientAuth]string{
			cachev1alpha1.RedisClientAuthNone:     "no",
			cachev1alpha1.RedisClientAuthOptional: "optional",
			cachev1alpha1.RedisClientAuthRequired: "yes",
		}[s.ClientAuth]}},
		{"unixsocket", []string{SocketPath}},
		{"unixsocketperm", []string{"700"}},
		{"include", []string{path.Join(CertificatesDir, TLSConfKey)}},
	}
}

// IdentityFiles are where the servers find the identity. Another identity is in other files: a server that names
// them has loaded them.
func IdentityFiles(i Identity) wire.TLSFiles {
	at := path.Join(CertificatesDir, i.ContentHash())
	return wire.TLSFiles{Certificate: at + ".crt", Key: at + ".key", Authorities: at + "-ca.crt"}
}

// tlsConf is the part of the configuration that names the identity.
func tlsConf(i Identity) string {
	files := IdentityFiles(i)
	return render([]directive{
		{"tls-cert-file", []string{files.Certificate}},
		{"tls-key-file", []string{files.Key}},
		{"tls-ca-cert-file", []string{files.Authorities}},
	})
}

// IdentityData is the content of the Secret that hands the identity to the servers.
func IdentityData(i Identity) map[string]string {
	files := IdentityFiles(i)
	return map[string]string{
		versionKey:                   i.ContentHash(),
		TLSConfKey:                   tlsConf(i),
		path.Base(files.Certificate): string(i.Certificate),
		path.Base(files.Key):         string(i.Key),
		path.Base(files.Authorities): string(i.Authorities),
	}
}

// PublishedIn reads what IdentityData has written.
func PublishedIn(data map[string][]byte) Identity {
	at := string(data[versionKey])
	found := Identity{Certificate: data[at+".crt"], Key: data[at+".key"], Authorities: data[at+"-ca.crt"]}
	if _, err := measured.KeyPair(found.Certificate, found.Key); err != nil || found.ContentHash() != at {
		return Identity{} // there is none, or somebody wrote into it
	}
	return found
}
