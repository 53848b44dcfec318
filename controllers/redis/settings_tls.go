package redis

import (
	"crypto/tls"
	"path"
	"strconv"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

const (
	certificatesDir = "/etc/redis-tls"
	// tlsConfKey is the file that names the certificates which a server starts with. It comes and goes with
	// them, in one volume.
	tlsConfKey = "tls.conf"
	// versionKey tells the operator which certificates they are.
	versionKey = "version"

	socketDir  = "/run/redis"
	socketPath = socketDir + "/redis.sock"
)

// listenDirectives are where a server listens. With TLS only a socket goes without it, for the probes: they must
// not fail while certificates change over.
func (s spec) listenDirectives() []directive {
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
		{"unixsocket", []string{socketPath}},
		{"unixsocketperm", []string{"700"}},
		{"include", []string{path.Join(certificatesDir, tlsConfKey)}},
	}
}

// identityFiles are where the servers find the identity. Another identity is in other files: a server that names
// them has loaded them.
func identityFiles(i identity) wire.TLSFiles {
	at := path.Join(certificatesDir, i.ContentHash())
	return wire.TLSFiles{Certificate: at + ".crt", Key: at + ".key", Authorities: at + "-ca.crt"}
}

// tlsConf is the part of the configuration that names the identity.
func tlsConf(i identity) string {
	files := identityFiles(i)
	return render([]directive{
		{"tls-cert-file", []string{files.Certificate}},
		{"tls-key-file", []string{files.Key}},
		{"tls-ca-cert-file", []string{files.Authorities}},
	})
}

// identityData is the content of the Secret that hands the identity to the servers.
func identityData(i identity) map[string]string {
	files := identityFiles(i)
	return map[string]string{
		versionKey:                   i.ContentHash(),
		tlsConfKey:                   tlsConf(i),
		path.Base(files.Certificate): string(i.Certificate),
		path.Base(files.Key):         string(i.Key),
		path.Base(files.Authorities): string(i.Authorities),
	}
}

// publishedIn reads what identityData has written.
func publishedIn(data map[string][]byte) identity {
	at := string(data[versionKey])
	found := identity{Certificate: data[at+".crt"], Key: data[at+".key"], Authorities: data[at+"-ca.crt"]}
	if _, err := tls.X509KeyPair(found.Certificate, found.Key); err != nil || found.ContentHash() != at {
		return identity{} // there is none, or somebody wrote into it
	}
	return found
}
