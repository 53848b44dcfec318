package main

import (
	"fmt"
	"strings"
)

// anyOf returns a rule that holds when one of the terms does. The server evaluates them in this order and stops at the first that
// holds, so terms that exclude a missing field come first.
func anyOf(terms ...string) map[string]any {
	return map[string]any{"rule": strings.Join(terms, " || ")}
}

// unreadable returns the term that a quantity is written in a way that CEL cannot compute with. Another rule refuses it.
func unreadable(quantity string) string {
	return fmt.Sprintf("string(%s).matches('[eE].{4}|.{33}')", quantity)
}

// enoughMemory returns the rule that a Memcached's limit has room for its items, their overhead and its connections.
func enoughMemory() map[string]any {
	const (
		limit  = "self.resources.limits['memory']"
		items  = "int(quantity(string(self.memory)).asApproximateFloat() + 0.5)"
		buffer = "(has(self.connections) ? self.connections : 1024) * 32768"
	)
	return anyOf(
		"!has(self.memory)",
		"!has(self.resources)",
		"!has(self.resources.limits)",
		"!('memory' in self.resources.limits)",
		unreadable("self.memory"),
		unreadable(limit),
		"quantity(string("+limit+")).asApproximateFloat() + 0.5 >= double("+items+" * 7 / 6 + 67108864 + "+buffer+")",
	)
}

// halfOfMemory returns the rule that two of a Memcached's largest items fit into its memory.
func halfOfMemory() map[string]any {
	const item = "quantity(string(self.maxItemSize))"
	return anyOf(
		"!has(self.memory)",
		"!has(self.maxItemSize)",
		unreadable("self.memory"),
		unreadable("self.maxItemSize"),
		item+".add("+item+").compareTo(quantity(string(self.memory))) <= 0",
	)
}

// notOwnSecret returns the term that a field names none of the Secrets that the operator writes for the object.
func notOwnSecret(field string, ends []string) string {
	var own []string
	for _, end := range ends {
		own = append(own, "self.metadata.name + '-"+end+"'")
	}
	return "!has(self.spec." + field + ") || !(self.spec." + field + ".secretName in [" + strings.Join(own, ", ") + "])"
}

// probeNamesAction returns the rule that a probe of an EasyService says what to ask, unless a TCP port does.
func probeNamesAction(probe string) map[string]any {
	terms := []string{"!has(self.probes)", "!has(self.probes." + probe + ")"}
	for _, action := range []string{"exec", "httpGet", "tcpSocket", "grpc"} {
		terms = append(terms, "has(self.probes."+probe+"."+action+")")
	}
	return anyOf(append(terms, "(has(self.ports) && self.ports.exists(p, p.protocol == 'TCP'))")...)
}
