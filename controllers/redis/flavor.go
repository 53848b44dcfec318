package redis

import cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"

// Valkey reads the same configuration, speaks the same protocol and runs as the
// same user: only its programs have names of their own.

// serverProgram and clientProgram return the names of programs on the image's path.
func (s spec) serverProgram() string { return s.program() + "-server" }
func (s spec) clientProgram() string { return s.program() + "-cli" }

func (s spec) program() string {
	if s.Flavor == cachev1alpha1.FlavorValkey {
		return "valkey"
	}
	return "redis"
}
