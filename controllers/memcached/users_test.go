package memcached

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

func TestWhatUsersMustBe(t *testing.T) {
	long := strings.Repeat("p", maxLineBytes-2)
	for _, c := range []struct {
		reason, text, problem string
		lines                 int
	}{
		{"one", "app:secret", "", 1},
		{"with the newline that echo adds", "app:secret\n", "", 1},
		{"four, one of them twice", "a:1\na:2\nb:1\nc:1\n", "", 4},
		{"a colon in the password", "a:b:c", "", 1},
		{"as long as may be", "a:" + long, "", 1},
		{"too long", "a:" + long + "p", "line 1 is longer than 250 bytes", 0},
		{"too many", "a:1\nb:1\nc:1\nd:1\ne:1", "5 lines are more than 4", 0},
		{"none", "", "line 1 is not", 0},
		{"an empty line, at which memcached stops", "a:1\n\nb:1", "line 2 is not <user>:<password>", 0},
		{"no password", "a:", "line 1 is not", 0},
		{"no user", ":a", "line 1 is not", 0},
		{"a space", "a:b c", "line 1 holds a space", 0},
		{"lines of another system", "a:b\r\nc:d", "line 1 holds a space or", 0},
		{"a character outside of ASCII", "a:ü", "line 1 holds", 0},
		{"one twice", "a:b\na:b", "line 2 is there twice", 0},
	} {
		t.Run(c.reason, func(t *testing.T) {
			lines, problem := requestedUsers("chosen", map[string][]byte{usersKey: []byte(c.text)})
			if len(lines) != c.lines || !strings.Contains(problem, c.problem) || (problem == "") != (c.problem == "") {
				t.Errorf("got %d lines and %q", len(lines), problem)
			}
			if strings.Contains(problem, "secret") || strings.Contains(problem, long) {
				t.Error("a password is in the message")
			}
		})
	}
	if _, problem := requestedUsers("chosen", nil); !strings.Contains(problem, `no Secret "chosen"`) {
		t.Error(problem)
	}
}

// statefulSetAt is a set with a revision of the users, with which all pods have started (out) or not.
func statefulSetAt(revision string, out bool) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Generation: 3}, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](2)}}
	set.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{annotationUsers: revision}}}
	set.Status = appsv1.StatefulSetStatus{ObservedGeneration: 3, Replicas: 2, ReadyReplicas: 2, AvailableReplicas: 2, UpdatedReplicas: 2,
		CurrentRevision: "a", UpdateRevision: "a"}
	if !out {
		set.Status.UpdatedReplicas = 1 // maybe of the revision before, to which it was taken back
	}
	return set
}

// withUnavailable makes so many pods of a set ready, but not yet for minReadySeconds.
func withUnavailable(pods int32, set *appsv1.StatefulSet) *appsv1.StatefulSet {
	set.Status.AvailableReplicas -= pods
	return set
}

func TestPasswordsOverlap(t *testing.T) {
	of := func(text string) []string { return strings.Fields(text) }
	for _, c := range []struct {
		reason    string
		published userList
		wanted    string
		set       *appsv1.StatefulSet
		next      string
		revision  int
		settled   bool
	}{
		{"the first", userList{}, "a:1", &appsv1.StatefulSet{}, "a:1", 1, false},
		{"ours was lost", userList{}, "a:1", statefulSetAt("7", true), "a:1", 8, false},
		{"the published one is not rolled out", userList{of("a:1"), 1}, "a:1", statefulSetAt("1", false), "a:1", 1, false},
		{"the published one is rolled out", userList{of("a:1"), 1}, "a:1", statefulSetAt("1", true), "a:1", 1, true},
		{"the published one is rolled out, which is said while the last is cold", userList{of("a:1"), 1}, "a:1",
			withUnavailable(1, statefulSetAt("1", true)), "a:1", 1, true},
		{"in another order", userList{of("a:1 b:1"), 1}, "b:1 a:1", statefulSetAt("1", true), "a:1 b:1", 1, true},
		{"a new password is known next to the old", userList{of("a:1"), 1}, "a:2", statefulSetAt("1", true), "a:2 a:1", 2, false},
		{"a new password is known while one node is cold", userList{of("a:1"), 1}, "a:2", withUnavailable(1, statefulSetAt("1", true)), "a:2 a:1",
			2, false},
		{"a new password waits while all nodes are cold: they would be replaced at once", userList{of("a:1"), 1}, "a:2",
			withUnavailable(2, statefulSetAt("1", true)), "a:1", 1,
			false},
		{"an old password is kept while the nodes roll", userList{of("a:2 a:1"), 2}, "a:2", statefulSetAt("2", false), "a:2 a:1", 2, false},
		{"an old password is kept while the StatefulSet does not have the new list", userList{of("a:2 a:1"), 2}, "a:2", statefulSetAt("1", true),
			"a:2 a:1", 2, false},
		{"an old password is kept while the last node is cold", userList{of("a:2 a:1"), 2}, "a:2", withUnavailable(1, statefulSetAt("2", true)),
			"a:2 a:1",
			2, false},
		{"an old password goes once all nodes know the new one", userList{of("a:2 a:1"), 2}, "a:2", statefulSetAt("2", true), "a:2", 3, false},
		{"a third in the middle", userList{of("a:2 a:1"), 2}, "a:3", statefulSetAt("2", false), "a:3 a:2 a:1", 3, false},
		{"a change of mind", userList{of("a:2 a:1"), 2}, "a:1", statefulSetAt("2", false), "a:2 a:1", 2, false},
		{"no more than memcached reads", userList{of("a:1 b:1 c:1 d:1 e:1 f:1"), 2}, "a:2 b:2 c:2 d:2", statefulSetAt("2", false),
			"a:2 b:2 c:2 d:2 a:1 b:1 c:1 d:1", 3, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			next, settled := userRotation{published: c.published, wanted: of(c.wanted)}.nextPublished(c.set)
			if !slices.Equal(next.lines, of(c.next)) || next.revision != c.revision || settled != c.settled {
				t.Errorf("got %v, %t", next, settled)
			}
		})
	}
}

func TestWhatIsSaidOfUsers(t *testing.T) {
	for _, c := range []struct {
		users  userRotation
		reason string
		says   string
	}{
		{userRotation{published: userList{lines: []string{"a:1"}}, wanted: []string{"a:2"}}, commonv1.ReasonRotating, "rollout.minReadySeconds"},
		{userRotation{published: userList{lines: []string{"a:2", "a:1"}}, wanted: []string{"a:2"}}, commonv1.ReasonPasswordsOverlap,
			"know those before"},
		{userRotation{published: userList{lines: []string{"a:2"}}, wanted: []string{"a:2"}}, commonv1.ReasonRotating, "alone"},
		{userRotation{published: userList{lines: []string{"a:2"}}, wanted: []string{"a:2"}, completed: true}, commonv1.ReasonPasswordsAccepted,
			"every node"},
	} {
		m := newMemcached(func(s *cachev1alpha1.MemcachedSpec) { s.Auth = &cachev1alpha1.MemcachedAuth{SecretName: "chosen"} })
		credentialsInSync(m, c.users)
		said := meta.FindStatusCondition(m.Status.Conditions, commonv1.ConditionCredentialsInSync)
		if said.Reason != c.reason || !strings.Contains(said.Message, c.says) {
			t.Errorf("got %s: %s", said.Reason, said.Message)
		}
	}
}

// A user who may read a pod or a StatefulSet learns nothing of the passwords.
func TestUsersAreNowhereButInSecrets(t *testing.T) {
	m := newMemcached(func(s *cachev1alpha1.MemcachedSpec) { s.Auth = &cachev1alpha1.MemcachedAuth{SecretName: "chosen"} })
	c := inputs{image: image, users: userList{[]string{"app:canary"}, 3}}
	for _, child := range desired(m, c) {
		if text := encode(t, child); *child.GetKind() != "Secret" && strings.Contains(text, "canary") {
			t.Error(text)
		}
	}
	written := authSecret(m, c.users).Data
	if read := publishedUsers(written); !slices.Equal(read.lines, c.users.lines) || read.revision != 3 {
		t.Errorf("got %v", read)
	}
	written[usersKey] = []byte("words")
	if len(publishedUsers(written).lines) != 0 || len(publishedUsers(nil).lines) != 0 {
		t.Error("what is of no use is taken for users")
	}
}
