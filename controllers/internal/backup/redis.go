package backup

// RedisUser is the user as which the runner logs in to the servers of a Redis. It may ask a server what it is, and read all data as
// a dump; it can neither read one key nor change any.
const RedisUser = "_backup"

// RedisSecretName is the Secret of a Redis with what the runner finds in SourceDir: the keys username and password, and ca.crt with
// tls.
func RedisSecretName(redis string) string { return redis + "-backup" }
