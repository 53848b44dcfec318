package redis

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func accepts(t *testing.T, c credentials, passwords ...string) {
	t.Helper()
	if !slices.Equal(c.acceptedDigests(), digestsOf(passwords...)) {
		t.Errorf("want %v, accepted are %v", passwords, c.acceptedDigests())
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		reason         string
		before         credentials
		auth, password string
		want           appLogin
	}{
		{"nothing is known and nothing asked for", credentials{}, "", "", appLogin{"drawn", ""}},
		{"the user's", credentials{}, "theirs", "a", appLogin{"a", "theirs"}},
		{"the user's is lost and there never was one", credentials{}, "theirs", "", appLogin{}},
		{"what was drawn stays", started("a", ""), "", "", appLogin{"a", ""}},
		{"the user's changed", started("a", "theirs"), "theirs", "b", appLogin{"b", "theirs"}},
		{"the user's was lost", started("a", "theirs"), "theirs", "", appLogin{"a", "theirs"}},
		{"another Secret that is not there", started("a", "theirs"), "other", "", appLogin{"a", "theirs"}},
		{"the user's is no longer asked for, and may be known to others", started("a", "theirs"), "", "", appLogin{"drawn", ""}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			got := c.before.chooseLogin(c.auth, c.password, drawn)
			if got.wanted != c.want || got.operator == "" || got.replication == "" || got.published != c.before.published {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// A rotation: wanted, accepted beside the old one, told, overlapping, over.
func TestRotation(t *testing.T) {
	c := started("old", "s").chooseLogin("s", "new", drawn)
	accepts(t, c, "old", "new")
	if !c.isUnpublished() || c.published.password != "old" {
		t.Error("told before anybody accepts it")
	}
	before := c.digest()
	c = c.publish(true)
	accepts(t, c, "old", "new")
	if c.isUnpublished() || c.digest() != before {
		t.Error("the nodes would be told twice")
	}
	if c.dropExpired(noon.Add(time.Hour)).digest() != before || c.recheckAfter(noon) != 0 || c.retiredJSON() != "" {
		t.Error("the overlap counts before the new one is known to be written")
	}
	c, changed := c.startOverlap(noon)
	if _, again := c.startOverlap(noon); !changed || again {
		t.Error("the overlap is counted once")
	}
	if c.recheckAfter(noon) != passwordOverlap || c.overlapEnd() != noon.Add(passwordOverlap) {
		t.Errorf("due in %s", c.recheckAfter(noon))
	}
	accepts(t, c.dropExpired(noon.Add(passwordOverlap-1)), "old", "new")
	accepts(t, c.dropExpired(noon.Add(passwordOverlap)), "new")
	if c.dropExpired(noon.Add(passwordOverlap)).recheckAfter(noon.Add(passwordOverlap)) != 0 {
		t.Error("something is left to be done at rest")
	}
}

func TestRotationAgain(t *testing.T) {
	c, _ := started("a", "s").chooseLogin("s", "b", drawn).publish(true).startOverlap(noon)
	c, _ = c.chooseLogin("s", "c", drawn).publish(true).startOverlap(noon.Add(time.Minute))
	accepts(t, c, "a", "b", "c")
	accepts(t, c.dropExpired(noon.Add(passwordOverlap)), "b", "c")
	c, _ = c.chooseLogin("s", "a", drawn).publish(true).startOverlap(noon.Add(2 * time.Minute)) // back to the first
	accepts(t, c, "a", "b", "c")
	accepts(t, c.dropExpired(noon.Add(time.Hour)), "a")
	for n := range 20 {
		c = c.chooseLogin("s", "other"+strings.Repeat("x", n), drawn).publish(true)
	}
	if len(c.retired) != maxRetired {
		t.Errorf("%d are accepted", len(c.retired))
	}
}

func TestNobodyUsesAPasswordBeforeThereIsAMaster(t *testing.T) {
	accepts(t, started("old", "s").chooseLogin("s", "new", drawn).publish(false), "new")
}

func TestAForgedDigestReachesNoFile(t *testing.T) {
	forged := corev1.Secret{Data: map[string][]byte{retiredKey: []byte(`[{"digest":"x\nuser evil on nopass +@all"}]`)}}
	if file := usersACL(credentialsIn(corev1.Secret{}, forged, corev1.Secret{})); strings.Contains(file, "evil") {
		t.Errorf("got\n%s", file)
	}
}

func TestPasswordIn(t *testing.T) {
	for _, c := range []struct {
		reason, problem string
		data            map[string][]byte
	}{
		{"none", "there is no Secret", nil},
		{"no key", `no key "password"`, map[string][]byte{"pass": []byte("x")}},
		{"empty", `no key "password"`, map[string][]byte{"password": {}}},
		{"a newline", "control character", map[string][]byte{"password": []byte("x\n")}},
		{"too long", "longer", map[string][]byte{"password": []byte(strings.Repeat("x", maxPasswordBytes+1))}},
		{"a password", "", map[string][]byte{"password": []byte("sécret \x80")}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			password, problem := passwordIn("theirs", c.data)
			if (c.problem == "") != (problem == "") || !strings.Contains(problem, c.problem) || (password == "") != (problem != "") {
				t.Errorf("got %q, %q", password, problem)
			}
			if problem != "" && !strings.Contains(problem, `"theirs"`) {
				t.Errorf("which Secret? %s", problem)
			}
		})
	}
}
