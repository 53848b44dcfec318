// Package config knows what the members of an EtcdCluster are configured with: the spec with its defaults, certificates and logins. It is
// pure.
package config
