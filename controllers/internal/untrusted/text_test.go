package untrusted

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestQuote(t *testing.T) {
	for value, want := range map[string]string{
		"":                                `""`,
		"10.0.0.1":                        `"10.0.0.1"`,
		"\xff\x00\u202e":                  `"\xff\x00\u202e"`,
		strings.Repeat("a", maxQuoted+1):  `"` + strings.Repeat("a", maxQuoted) + `..."`,
		strings.Repeat("ä", maxQuoted/2):  `"` + strings.Repeat(`\u00e4`, maxQuoted/2) + `"`,
		strings.Repeat("ä", maxQuoted):    `"` + strings.Repeat(`\u00e4`, maxQuoted/2) + `..."`,
		strings.Repeat("\x80", maxQuoted): `"` + strings.Repeat(`\x80`, maxQuoted) + `"`,
	} {
		if got := Quote(value); got != want {
			t.Errorf("%q: %s", value, got)
		}
	}
}

func TestSanitize(t *testing.T) {
	for text, want := range map[string]string{
		" ERR no such directive \r\n":       "ERR no such directive",
		"größer":                            "größer",
		"a\nb\x00c\xff\u2028\x1b[31m":       "a?b?c???[31m",
		strings.Repeat("x", maxSanitized+9): strings.Repeat("x", maxSanitized) + ellipsis,
	} {
		if got := Sanitize(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		for _, printed := range []string{Quote(text), Sanitize(text)} {
			if !utf8.ValidString(printed) || strings.ContainsFunc(printed, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("not to be printed: %q", printed)
			}
			if len(printed) > 3*maxSanitized+len(ellipsis) || utf8.RuneCountInString(printed) > 6*maxQuoted+maxSanitized {
				t.Errorf("%d bytes", len(printed))
			}
		}
	})
}
