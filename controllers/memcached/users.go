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
	// usersKey is the key of a Secret that holds a line <user>:<password> for each user.
	usersKey = "users"
	// revisionKey of our own Secret counts the changes of usersKey. The pods are annotated with it in place of a
	// hash, by which passwords could be guessed.
	revisionKey = "revision"
	// maxLines and maxLineBytes bound what memcached reads of its file
	// (authfile.c: MAX_ENTRIES and MAX_ENTRY_LEN).
	maxLines     = 8
	maxLineBytes = 250
	// maxUsers leaves room in the file for as many users from before.
	maxUsers = maxLines / 2
)

// userList is the lines of memcached's file, and their revision.
type userList struct {
	lines    []string
	revision int
}

// userRotation is how far the users of one Memcached have been changed.
type userRotation struct {
	published userList // what pods start with
	wanted    []string // what the user's Secret says
	problem   string   // what is wrong with that Secret
	completed bool     // every pod has started with what is wanted and nothing else
}

// nextPublished returns the users that pods start with from now on, and whether all have started with just the wanted
// ones. At first these are the lines published before and the wanted ones, so that an application is let in by whichever node it
// meets, before and after it changes its password; when every pod knows both, and the last has filled up, only the
// wanted ones.
func (u userRotation) nextPublished(set *appsv1.StatefulSet) (next userList, settled bool) {
	last, current := u.published, templateRevision(set)
	everywhere := rolledOut(set) && current == last.revision
	switch {
	case len(last.lines) == 0: // the first, or ours was lost
		return userList{u.wanted, current + 1}, false
	case u.hasUnpublished() && severalUnavailable(set):
		return last, false
	case u.hasUnpublished():
		before := slices.DeleteFunc(slices.Clone(last.lines), func(line string) bool { return slices.Contains(u.wanted, line) })
		both := slices.Concat(u.wanted, before)
		return userList{both[:min(len(both), maxLines)], last.revision + 1}, false
	case len(last.lines) == len(u.wanted):
		return last, everywhere
	case everywhere && allAvailable(set):
		return userList{u.wanted, last.revision + 1}, false
	}
	return last, false
}

// hasUnpublished reports whether pods that start now would refuse a user of the user's Secret.
func (u userRotation) hasUnpublished() bool {
	return slices.ContainsFunc(u.wanted, func(line string) bool { return !slices.Contains(u.published.lines, line) })
}

// templateRevision is the revision of the users that the set's pods start with; 0 is none.
func templateRevision(set *appsv1.StatefulSet) int {
	revision, _ := strconv.Atoi(set.Spec.Template.Annotations[annotationUsers])
	return revision
}

// rolledOut reports whether every pod is of the set's template, and ready.
func rolledOut(set *appsv1.StatefulSet) bool {
	return set.Generation > 0 && set.Status.ObservedGeneration == set.Generation &&
		set.Status.UpdatedReplicas == set.Status.Replicas && set.Status.Replicas == ptr.Deref(set.Spec.Replicas, 1) &&
		set.Status.ReadyReplicas == set.Status.Replicas
}

// allAvailable reports whether all pods have been ready for minReadySeconds: before, the next rollout would replace
// another node, and that would be the second cold one.
func allAvailable(set *appsv1.StatefulSet) bool {
	return set.Status.AvailableReplicas == set.Status.Replicas
}

// severalUnavailable reports whether several pods are ready, but not yet for minReadySeconds: a rollout that starts now
// would replace them all at once, and no client could log in meanwhile.
func severalUnavailable(set *appsv1.StatefulSet) bool {
	return set.Status.ReadyReplicas-set.Status.AvailableReplicas > 1
}

// usersFile is the file of users that memcached reads.
func usersFile(lines []string) string { return strings.Join(lines, "\n") + "\n" }

// publishedUsers parses the data that authSecret wrote.
func publishedUsers(data map[string][]byte) userList {
	lines, problem := parseLines(data[usersKey], maxLines)
	revision, err := strconv.Atoi(string(data[revisionKey]))
	if problem != "" || err != nil {
		return userList{} // there is none, or somebody wrote into it
	}
	return userList{lines, revision}
}

// requestedUsers parses the user's Secret. The problem says what users have to fix.
func requestedUsers(name string, data map[string][]byte) (lines []string, problem string) {
	if data == nil {
		return nil, fmt.Sprintf("there is no Secret %q; create it with a key %q of lines <user>:<password>", name, usersKey)
	}
	if lines, problem = parseLines(data[usersKey], maxUsers); problem != "" {
		return nil, fmt.Sprintf("key %q of Secret %q: %s", usersKey, name, problem)
	}
	return lines, ""
}

// parseLines refuses what memcached would not start with. The problem never quotes a line: it holds a password.
func parseLines(text []byte, maxCount int) (lines []string, problem string) {
	lines = strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	if len(lines) > maxCount {
		return nil, fmt.Sprintf("%d lines are more than %d", len(lines), maxCount)
	}
	for i, line := range lines {
		name, password, found := strings.Cut(line, ":")
		switch {
		case !found || name == "" || password == "":
			return nil, fmt.Sprintf("line %d is not <user>:<password>", i+1)
		case len(line) > maxLineBytes:
			return nil, fmt.Sprintf("line %d is longer than %d bytes", i+1, maxLineBytes)
		case strings.ContainsFunc(line, func(r rune) bool { return r <= ' ' || r > '~' }):
			return nil, fmt.Sprintf("line %d holds a space or a character that cannot be printed", i+1)
		case slices.Contains(lines[:i], line):
			return nil, fmt.Sprintf("line %d is there twice", i+1)
		}
	}
	return lines, ""
}
