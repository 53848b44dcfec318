package backup

// RedisUser is the user as which the runner logs in to the servers of a Redis. It may ask a server what it is, and read all data as
// a dump; it can neither read one key nor change any.
const RedisUser = "_backup"

// SourceUIDKey is the key in the Secret of a Redis that has the UID of that Redis. A pod that waits for its start while the Redis is
// deleted and another one is made under its name finds the other's.
const SourceUIDKey = "uid"

// SanitizeDirective makes a server, if it is yes, check every value of a dump in full while it loads it. Without it, a server checks sizes
// alone: a value that is damaged or forged inside makes it read beyond the value when a client asks for it.
const SanitizeDirective = "sanitize-dump-payload"

// RedisSecretName is the Secret of a Redis with what the runner finds in SourceDir: the keys username, password and uid, and ca.crt
// with tls.
func RedisSecretName(redis string) string { return redis + "-backup" }

// EtcdSecretName is the Secret of an EtcdCluster with auth that has the runner's login: the keys username and password.
func EtcdSecretName(cluster string) string { return cluster + "-backup" }

// CertificatesName is the Secret of an EtcdCluster or a Redis with tls that has the certificate which its servers show, and which the
// runner shows to them.
func CertificatesName(source string) string { return source + "-certificates" }
