package main

import "strings"

// A rule that searches the text, as those on our own quantities do, costs in proportion to its length. The API server
// estimates the cost of each rule before it takes a CRD, by the longest text in the largest map that 3 MiB can hold, and
// refuses more than 10 million. So these rules have a cost that does not depend on the text:
//
//   - size() bounds the length.
//   - A long text with an exponent is one that does not end in a letter and that double() cannot distinguish from zero or
//     cannot hold, since double() ends at 5e-324 and 1.8e308. Five characters have room for an exponent of three digits.
//   - An error, as of size() on a number or of double() on 1Ki, does not matter where another alternative is true.

// mostProperties is more than an object can have: etcd stores at most 1.5 MiB in one, and a property takes six bytes at
// least. Without it the API server expects 449,389, for which the rule of resources would be too expensive.
const mostProperties = 256 << 10

const (
	shortText   = "V >= 0 || size(V) <= 32"
	shortNumber = "V == 0 || double(V) > 0.0 || size(V) <= 5 || V.charAt(size(V) - 1) > '9'"
	divisor     = "V >= 0 || size(V) <= 5"

	costly = ": write it as 100m or 2Gi, with at most 32 characters and without an exponent of more than three digits"
)

func of(rule, value string) string { return strings.ReplaceAll(rule, "V", value) }

// resources are those of a pod, by their name.
func resources(name string) []any {
	all := func(r string) string { return "self.all(k, " + of(r, "self[k]") + ")" }
	return []any{
		rule(all(shortText), name+costly),
		rule(all(shortNumber), name+costly),
	}
}

// claims are the resources of a volume claim, of which Kubernetes knows only storage. A list has many of them, so that a
// rule about all would be too expensive.
func claims(name string) []any {
	storage := func(r string) string { return "!('storage' in self) || " + of(r, "self['storage']") }
	return []any{
		rule("size(self) == 0 || size(self) == 1 && 'storage' in self", name+": storage is all that a volume claim can have"),
		rule(storage(shortText), name+".storage"+costly),
		rule(storage(shortNumber), name+".storage"+costly),
	}
}

// value is a quantity by itself. One in a list without a limit is a divisor, with which a field of the container's
// resources is written into a file: Kubernetes knows only those of at most two characters.
func value(at place) []any {
	if at.inLists {
		return []any{rule(of(divisor, "self"), at.name+": write it as 1m or 1Mi, with at most 5 characters")}
	}
	return []any{
		rule(of(shortText, "self"), at.name+costly),
		rule(of(shortNumber, "self"), at.name+costly),
	}
}
