// Package membership decides what is done next for an etcd cluster: who is a member, who may start, who is replaced, in what
// order pods are recreated, and which version comes next. It is pure: it has no client, no clock and no context. The same
// situation gives the same step.
package membership
