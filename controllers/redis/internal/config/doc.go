// Package config knows what the servers of a Redis are configured with: the spec with its defaults, the files that a
// server starts with, the settings that it is sent while it runs, its passwords and its certificates. It is pure: it
// takes values and gives values.
package config
