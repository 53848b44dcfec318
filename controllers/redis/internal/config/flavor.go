package config

import cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"

// Valkey reads the same configuration, speaks the same protocol and runs as the
// same user: only its programs have names of their own.

// ServerProgram is the name of the server on the image's path.
func (s Spec) ServerProgram() string { return s.program() + "-server" }

// ClientProgram is the name of the client on the image's path.
func (s Spec) ClientProgram() string { return s.program() + "-cli" }

func (s Spec) program() string {
	if s.Flavor == cachev1alpha1.FlavorValkey {
		return "valkey"
	}
	return "redis"
}
