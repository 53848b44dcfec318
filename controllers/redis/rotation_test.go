package redis

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func drawn() string { return "drawn" }

func started(password, from string) credentials {
	c := credentials{operator: "op", replication: "repl"}
	c.wanted = appLogin{password: password, from: from}
	return c.publish(false)
}

func accepts(t *testing.T, c credentials, passwords ...string) {
	t.Helper()
	var want []string
	for _, p := range passwords {
		want = append(want, digest(p))
	}
	slices.Sort(want)
	if !slices.Equal(c.acceptedDigests(), want) {
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

// storedSecrets gives what our Secrets hold, as the API server would give it back.
func storedSecrets(c credentials) (binding1, system1, files1 corev1.Secret) {
	r := &cachev1alpha1.Redis{}
	as := func(s *corev1ac.SecretApplyConfiguration) corev1.Secret {
		made := corev1.Secret{Data: s.Data}
		made.Annotations = s.Annotations
		return made
	}
	inputs := childInputs{spec: resolve(r), credentials: c}
	return as(bindingSecret(r, inputs)), as(systemSecret(r, inputs)), as(filesSecret(r, inputs))
}

func TestRecalledAtEveryStage(t *testing.T) {
	wanted := started("old", "s").chooseLogin("s", "new", drawn)
	told := wanted.publish(true)
	counted, _ := told.startOverlap(noon)
	for name, c := range map[string]credentials{"wanted": wanted, "told": told, "counted": counted, "over": counted.dropExpired(noon.Add(passwordOverlap))} {
		got := credentialsIn(storedSecrets(c)).chooseLogin("s", "new", drawn)
		if got.operator != c.operator || got.replication != c.replication || got.published != c.published || got.wanted != c.wanted ||
			got.digest() != c.digest() || got.retiredJSON() != c.retiredJSON() {
			t.Errorf("%s: %+v, want %+v", name, got, c)
		}
	}
}

func TestRecalledFromWhatIsLeft(t *testing.T) {
	counted, _ := started("old", "s").chooseLogin("s", "new", drawn).publish(true).startOverlap(noon)
	b, s, f := storedSecrets(counted)
	lost := corev1.Secret{}
	forged := corev1.Secret{Data: map[string][]byte{"_operator": []byte("forged"), "_replication": []byte("forged"),
		retiredKey: []byte(`[{"digest":"x\nuser evil on nopass +@all"}]`)}}
	for _, c := range []struct {
		reason                 string
		binding, system, files corev1.Secret
		operator, told         string
		accepted               []string
	}{
		{"all", b, s, f, "op", "new", []string{"old", "new"}},
		{"the system's is lost", b, lost, f, "op", "new", []string{"old", "new"}},
		{"the system's is forged", b, forged, f, "op", "new", []string{"old", "new"}},
		{"the files are lost", b, s, lost, "op", "new", []string{"old", "new"}},
		{"the applications' is lost: the nodes still accept it", lost, s, f, "op", "", []string{"old", "new"}},
		{"both of the operator's are lost", b, lost, lost, "", "new", []string{"new"}},
		{"all are lost", lost, lost, lost, "", "", nil},
	} {
		t.Run(c.reason, func(t *testing.T) {
			got := credentialsIn(c.binding, c.system, c.files)
			if got.operator != c.operator || got.published.password != c.told {
				t.Errorf("got %+v", got)
			}
			accepts(t, got, c.accepted...)
		})
	}
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
