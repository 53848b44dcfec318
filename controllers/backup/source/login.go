package source

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"strings"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// login is how to get into a server.
type login struct {
	user, password string      // both empty without a login
	secure         *tls.Config // nil in the clear
}

// redact takes the password out of an error: servers repeat a command that they do not know. What marks the error is kept.
func (l login) redact(err error) error {
	if err == nil || l.password == "" || !strings.Contains(err.Error(), l.password) {
		return err
	}
	redacted := errors.New(l.redactText(err.Error()))
	if backup.IsPermanent(err) {
		return backup.Permanent(redacted)
	}
	return redacted
}

// redactText returns a text without the password.
func (l login) redactText(text string) string {
	if l.password == "" {
		return text
	}
	return strings.ReplaceAll(text, l.password, "...")
}

// loginOf returns the login whose files are in the directory.
func loginOf(from backup.Source, dir string) (login, error) {
	user, err := readWord(dir, "username")
	if err != nil {
		return login{}, err
	}
	password, err := readWord(dir, "password")
	if err != nil {
		return login{}, err
	}
	if user == "" || password == "" {
		return login{}, backup.Permanent(errors.New("username or password of the source is empty"))
	}
	secure, err := tlsConfig(from, dir)
	return login{user, password, secure}, err
}

// etcdLoginOf is loginOf for a server that may require no login: there is no username then.
func etcdLoginOf(from backup.Source, dir string) (login, error) {
	if _, err := readWord(dir, "username"); errors.Is(err, fs.ErrNotExist) {
		secure, err := tlsConfig(from, dir)
		return login{secure: secure}, err
	}
	return loginOf(from, dir)
}
