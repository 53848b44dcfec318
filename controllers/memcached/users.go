package memcached

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"
)

const (
	// usersKey of a Secret holds a line <user>:<password> each.
	usersKey = "users"
	// revisionKey of ours counts what usersKey has held. It is told to the pods in place
	// of a hash, by which passwords could be guessed.
	revisionKey = "revision"
	// mostKnown lines, and longestLine, are what memcached reads of its file
	// (authfile.c: MAX_ENTRIES and MAX_ENTRY_LEN).
	mostKnown   = 8
	longestLine = 250
	// mostUsers leaves room for as many before.
	mostUsers = mostKnown / 2
)

// known are the lines of memcached's file, and their revision.
type known struct {
	lines    []string
	revision int
}

// users of one Memcached.
type users struct {
	published known    // what pods start with
	wanted    []string // what the user's Secret says
	problem   string   // with it
	settled   bool     // every pod has started with what is wanted and nothing else
}

// next is what pods start with from now on, and whether all have. First the lines before
// are known as well as those that are wanted, so that an application is let in by whichever
// node it meets, before and after it changes over; when every pod knows both, and the last
// has filled up, the wanted alone.
func (u users) next(set *appsv1.StatefulSet) (next known, settled bool) {
	last, told := u.published, told(set)
	everywhere := rolledOut(set) && told == last.revision
	switch {
	case len(last.lines) == 0: // the first, or ours was lost
		return known{u.wanted, told + 1}, false
	case u.missing() && young(set):
		return last, false
	case u.missing():
		before := slices.DeleteFunc(slices.Clone(last.lines), func(line string) bool { return slices.Contains(u.wanted, line) })
		both := slices.Concat(u.wanted, before)
		return known{both[:min(len(both), mostKnown)], last.revision + 1}, false
	case len(last.lines) == len(u.wanted):
		return last, everywhere
	case everywhere && warm(set):
		return known{u.wanted, last.revision + 1}, false
	}
	return last, false
}

// missing is true while pods that start would not let in whom the user's Secret says.
func (u users) missing() bool {
	return slices.ContainsFunc(u.wanted, func(line string) bool { return !slices.Contains(u.published.lines, line) })
}

// told is the revision that the set's pods start with; 0 for none.
func told(set *appsv1.StatefulSet) int {
	revision, _ := strconv.Atoi(set.Spec.Template.Annotations[annotationUsers])
	return revision
}

// rolledOut is true when every pod is of the set's template, and ready.
func rolledOut(set *appsv1.StatefulSet) bool {
	return set.Generation > 0 && set.Status.ObservedGeneration == set.Generation &&
		set.Status.UpdatedReplicas == set.Status.Replicas && set.Status.Replicas == ptr.Deref(set.Spec.Replicas, 1) &&
		set.Status.ReadyReplicas == set.Status.Replicas
}

// warm is true when the pods have been ready for as long as a rollout pauses: the next
// one begins with another node, which would be the second cold one.
func warm(set *appsv1.StatefulSet) bool { return set.Status.AvailableReplicas == set.Status.Replicas }

// young is true when several pods are ready, and not for as long as a rollout pauses: one
// that begins now would replace them all at once, and let nobody in meanwhile.
func young(set *appsv1.StatefulSet) bool {
	return set.Status.ReadyReplicas-set.Status.AvailableReplicas > 1
}

// file is what memcached reads.
func file(lines []string) string { return strings.Join(lines, "\n") + "\n" }

// knownIn reads what we have written.
func knownIn(data map[string][]byte) known {
	lines, problem := parse(data[usersKey], mostKnown)
	revision, err := strconv.Atoi(string(data[revisionKey]))
	if problem != "" || err != nil {
		return known{} // there is none, or somebody wrote into it
	}
	return known{lines, revision}
}

// usersIn tells people what they have to mend.
func usersIn(name string, data map[string][]byte) (lines []string, problem string) {
	if data == nil {
		return nil, fmt.Sprintf("there is no Secret %q; create it with a key %q of lines <user>:<password>", name, usersKey)
	}
	if lines, problem = parse(data[usersKey], mostUsers); problem != "" {
		return nil, fmt.Sprintf("key %q of Secret %q: %s", usersKey, name, problem)
	}
	return lines, ""
}

// parse refuses what memcached would not start with, and never repeats a line.
func parse(text []byte, most int) (lines []string, problem string) {
	lines = strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	if len(lines) > most {
		return nil, fmt.Sprintf("%d lines are more than %d", len(lines), most)
	}
	for i, line := range lines {
		name, password, found := strings.Cut(line, ":")
		switch {
		case !found || name == "" || password == "":
			return nil, fmt.Sprintf("line %d is not <user>:<password>", i+1)
		case len(line) > longestLine:
			return nil, fmt.Sprintf("line %d is longer than %d bytes", i+1, longestLine)
		case strings.ContainsFunc(line, func(r rune) bool { return r <= ' ' || r > '~' }):
			return nil, fmt.Sprintf("line %d holds a space or a character that cannot be printed", i+1)
		case slices.Contains(lines[:i], line):
			return nil, fmt.Sprintf("line %d is there twice", i+1)
		}
	}
	return lines, ""
}
