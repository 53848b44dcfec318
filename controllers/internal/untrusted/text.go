// Package untrusted bounds what a server of a user's image makes the operator repeat. Such a server may be any
// program: what it sends reaches a status, an event or a log only through this package.
package untrusted

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxQuoted is how many bytes are repeated of a value that is not what it should be.
	maxQuoted = 48
	// maxSanitized is how many bytes are repeated of what a server says in words, such as why it refuses.
	maxSanitized = 256
	ellipsis     = "..."
)

// Quote repeats a value as a Go string literal, cut to 48 bytes.
func Quote(value string) string { return strconv.QuoteToASCII(truncate(value, maxQuoted)) }

// Sanitize repeats what a server says, cut to 256 bytes, on one line. It replaces a character that cannot be printed,
// or is not UTF-8, by "?".
func Sanitize(text string) string { return SanitizeTo(text, maxSanitized) }

// SanitizeTo is Sanitize with at most that many bytes.
func SanitizeTo(text string, most int) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, truncate(strings.TrimSpace(text), most))
}

func truncate(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + ellipsis
}
