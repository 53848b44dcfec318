package backup

import "errors"

// permanentError is met again by every attempt, until a human changes something.
type permanentError struct{ error }

func (p permanentError) Unwrap() error { return p.error }

// Permanent marks an error as one that another attempt would meet again, until a human changes something.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanentError{err}
}

// IsPermanent reports whether an error is marked by Permanent.
func IsPermanent(err error) bool {
	_, is := errors.AsType[permanentError](err)
	return is
}
