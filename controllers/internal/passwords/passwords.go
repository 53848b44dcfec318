// Package passwords judges the passwords that users choose for their applications. It is pure.
package passwords

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"
)

const (
	// SecretField is the field that names the Secret with the password, as messages name it.
	SecretField = "auth.secretName"
	// Overlap is how long a login is accepted as well as the one that replaced it. Kubelet brings a changed Secret into mounted
	// files within its sync period, 1 min, and the delay of its cache,
	// https://kubernetes.io/docs/concepts/configuration/secret/#using-secrets-as-files-from-a-pod;
	// the rest is for applications that look at the file now and then.
	Overlap = 5 * time.Minute
	// SecretReread is how soon a Secret that could not be read is tried again.
	SecretReread = 5 * time.Second
)

// FromSecret returns the password in the data of a user's Secret of that name, of at most so many bytes, or says what users
// have to fix. Nil data means that there is no such Secret.
func FromSecret(name string, data map[string][]byte, maxBytes int) (password, problem string) {
	password = string(data[corev1.BasicAuthPasswordKey])
	switch {
	case data == nil:
		problem = fmt.Sprintf("there is no Secret %q; create it with a key \"password\"", name)
	case password == "":
		problem = fmt.Sprintf("Secret %q has no key \"password\", or an empty one", name)
	case strings.ContainsFunc(password, unicode.IsControl):
		problem = fmt.Sprintf("key \"password\" of Secret %q holds a control character, such as the newline that echo adds; use echo -n", name)
	case len(password) > maxBytes:
		problem = fmt.Sprintf("key \"password\" of Secret %q is longer than %d bytes", name, maxBytes)
	default:
		return password, ""
	}
	return "", problem
}
