package main

import "testing"

func TestAnyOf(t *testing.T) {
	if got := anyOf("!has(self.a)", unreadable("self.a"))["rule"]; got != "!has(self.a) || string(self.a).matches('[eE].{4}|.{33}')" {
		t.Errorf("got %s", got)
	}
}
