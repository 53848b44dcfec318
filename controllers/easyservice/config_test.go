package easyservice

import (
	"strings"
	"testing"
)

func TestDigestDistinguishesContentsAndShowsNothingElse(t *testing.T) {
	data := func(pairs ...string) map[string][]byte {
		m := map[string][]byte{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = []byte(pairs[i+1])
		}
		return m
	}
	base := digest("uid", data("a", "1", "b", "2"))
	if base != digest("uid", data("b", "2", "a", "1")) {
		t.Error("the order of the keys changes it")
	}
	for reason, other := range map[string]string{
		"another value":                    digest("uid", data("a", "1", "b", "3")),
		"another key":                      digest("uid", data("a", "1", "c", "2")),
		"a key less":                       digest("uid", data("a", "1")),
		"the border between key and value": digest("uid", data("a", "1b", "", "2")),
		"another object":                   digest("uid2", data("a", "1", "b", "2")),
		"nothing in it":                    digest("uid", data()),
		"none of that name":                digest("uid", nil),
	} {
		if other == base {
			t.Errorf("%s does not change it", reason)
		}
	}
	if digest("uid", data()) == digest("uid", nil) {
		t.Error("an empty one is not a missing one")
	}
	if strings.Contains(digest("uid", data("password", "hunter2")), "hunter2") {
		t.Error("it shows the value")
	}
}
