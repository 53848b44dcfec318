package redis

import (
	"cmp"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
)

// Valkey reads the same configuration, speaks the same protocol and runs as the
// same user: only its programs have names of their own.

func flavor(r *cachev1alpha1.Redis) cachev1alpha1.RedisFlavor {
	return cmp.Or(r.Spec.Flavor, cachev1alpha1.FlavorRedis)
}

// serverProgram and clientProgram return the names of programs on the image's path.
func serverProgram(r *cachev1alpha1.Redis) string { return program(r) + "-server" }
func clientProgram(r *cachev1alpha1.Redis) string { return program(r) + "-cli" }

func program(r *cachev1alpha1.Redis) string {
	if flavor(r) == cachev1alpha1.FlavorValkey {
		return "valkey"
	}
	return "redis"
}
