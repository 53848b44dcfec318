// Package topology decides what the servers of a Redis are to each other: who is master, who may confirm writes, and
// what is to be done next. World is what one pass saw, Situation adds what is asked for and what is recorded, and
// Situation.Plan gives the one step that follows. It is pure: the same situation gives the same step.
package topology
