package config_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
)

func accepts(t *testing.T, c Credentials, passwords ...string) {
	t.Helper()
	if !slices.Equal(c.AcceptedDigests(), DigestsOf(passwords...)) {
		t.Errorf("want %v, accepted are %v", passwords, c.AcceptedDigests())
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		reason         string
		before         Credentials
		auth, password string
		want           AppLogin
	}{
		{"nothing is known and nothing asked for", Credentials{}, "", "", AppLogin{"drawn", ""}},
		{"the user's", Credentials{}, "theirs", "a", AppLogin{"a", "theirs"}},
		{"the user's is lost and there never was one", Credentials{}, "theirs", "", AppLogin{}},
		{"what was drawn stays", Started("a", ""), "", "", AppLogin{"a", ""}},
		{"the user's changed", Started("a", "theirs"), "theirs", "b", AppLogin{"b", "theirs"}},
		{"the user's was lost", Started("a", "theirs"), "theirs", "", AppLogin{"a", "theirs"}},
		{"another Secret that is not there", Started("a", "theirs"), "other", "", AppLogin{"a", "theirs"}},
		{"the user's is no longer asked for, and may be known to others", Started("a", "theirs"), "", "", AppLogin{"drawn", ""}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			got := c.before.ChooseLogin(c.auth, c.password, Drawn)
			if got.Wanted != c.want || got.Operator == "" || got.Replication == "" || got.Backup == "" || got.Published != c.before.Published {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// A rotation: wanted, accepted as well as the old one, published, overlapping, over.
func TestRotation(t *testing.T) {
	c := Started("old", "s").ChooseLogin("s", "new", Drawn)
	accepts(t, c, "old", "new")
	if !c.IsUnpublished() || c.Published.Password != "old" {
		t.Error("published before any server accepts it")
	}
	before := c.AcceptedDigest()
	c = c.Publish(true)
	accepts(t, c, "old", "new")
	if c.IsUnpublished() || c.AcceptedDigest() != before {
		t.Error("the nodes would be sent it twice")
	}
	if c.RetireExpired(Noon.Add(time.Hour)).AcceptedDigest() != before || c.RecheckAfter(Noon) != 0 || c.FormerJSON() != "" {
		t.Error("the overlap counts before the new one is known to be written")
	}
	c, changed := c.StartOverlap(Noon)
	if _, again := c.StartOverlap(Noon); !changed || again {
		t.Error("the overlap is counted once")
	}
	if c.RecheckAfter(Noon) != PasswordOverlap || c.OverlapEnd() != Noon.Add(PasswordOverlap) {
		t.Errorf("due in %s", c.RecheckAfter(Noon))
	}
	accepts(t, c.RetireExpired(Noon.Add(PasswordOverlap-1)), "old", "new")
	accepts(t, c.RetireExpired(Noon.Add(PasswordOverlap)), "new")
	if c.RetireExpired(Noon.Add(PasswordOverlap)).RecheckAfter(Noon.Add(PasswordOverlap)) != 0 {
		t.Error("something is left to be done at rest")
	}
}

func TestRotationAgain(t *testing.T) {
	c, _ := Started("a", "s").ChooseLogin("s", "b", Drawn).Publish(true).StartOverlap(Noon)
	c, _ = c.ChooseLogin("s", "c", Drawn).Publish(true).StartOverlap(Noon.Add(time.Minute))
	accepts(t, c, "a", "b", "c")
	accepts(t, c.RetireExpired(Noon.Add(PasswordOverlap)), "b", "c")
	c, _ = c.ChooseLogin("s", "a", Drawn).Publish(true).StartOverlap(Noon.Add(2 * time.Minute)) // back to the first
	accepts(t, c, "a", "b", "c")
	accepts(t, c.RetireExpired(Noon.Add(time.Hour)), "a")
	for n := range 20 {
		c = c.ChooseLogin("s", "other"+strings.Repeat("x", n), Drawn).Publish(true)
	}
	if len(c.Former) != MaxFormer {
		t.Errorf("%d are accepted", len(c.Former))
	}
}

func TestNoOneUsesAPasswordBeforeThereIsAMaster(t *testing.T) {
	accepts(t, Started("old", "s").ChooseLogin("s", "new", Drawn).Publish(false), "new")
}

func TestAForgedDigestReachesNoFile(t *testing.T) {
	forged := corev1.Secret{Data: map[string][]byte{FormerKey: []byte(`[{"digest":"x\nuser evil on nopass +@all"}]`)}}
	if file := UsersACL(CredentialsIn(corev1.Secret{}, forged, corev1.Secret{})); strings.Contains(file, "evil") {
		t.Errorf("got\n%s", file)
	}
}

// What else is wrong with a password is the same in every kind.
func TestPasswordIn(t *testing.T) {
	for n, fits := range map[int]bool{MaxPasswordBytes: true, MaxPasswordBytes + 1: false} {
		if _, problem := PasswordIn("theirs", map[string][]byte{"password": []byte(strings.Repeat("x", n))}); (problem == "") != fits {
			t.Errorf("%d bytes: %q", n, problem)
		}
	}
}
