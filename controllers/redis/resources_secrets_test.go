package redis

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
)

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
			if !slices.Equal(got.acceptedDigests(), digestsOf(c.accepted...)) {
				t.Errorf("want %v, accepted are %v", c.accepted, got.acceptedDigests())
			}
		})
	}
}
