package children

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
)

// storedSecrets gives what our Secrets hold, as the API server would give it back.
func storedSecrets(c config.Credentials) (binding, system, files corev1.Secret) {
	r := &cachev1alpha1.Redis{}
	as := func(s *corev1ac.SecretApplyConfiguration) corev1.Secret {
		made := corev1.Secret{Data: s.Data}
		made.Annotations = s.Annotations
		return made
	}
	inputs := Inputs{Redis: r, Spec: config.Resolve(r), Credentials: c}
	return as(bindingSecret(inputs)), as(systemSecret(inputs)), as(filesSecret(inputs))
}

// A backup finds here whose servers it reads.
func TestTheSecretOfBackupsNamesItsRedis(t *testing.T) {
	r := &cachev1alpha1.Redis{}
	r.UID = "one"
	if s := backupSecret(Inputs{Redis: r, Spec: config.Resolve(r), Credentials: fixture.Started("old", "s")}); string(s.Data["uid"]) != "one" {
		t.Errorf("got %v", s.Data)
	}
}

func TestRecalledAtEveryStage(t *testing.T) {
	wanted := fixture.Started("old", "s").ChooseLogin("s", "new", fixture.Drawn)
	published := wanted.Publish(true)
	counted, _ := published.StartOverlap(fixture.Noon)
	for name, c := range map[string]config.Credentials{"wanted": wanted, "published": published, "counted": counted,
		"over": counted.RetireExpired(fixture.Noon.Add(config.PasswordOverlap))} {
		got := config.CredentialsIn(storedSecrets(c)).ChooseLogin("s", "new", fixture.Drawn)
		if got.Operator != c.Operator || got.Replication != c.Replication || got.Backup != c.Backup || got.Published != c.Published ||
			got.Wanted != c.Wanted ||
			got.AcceptedDigest() != c.AcceptedDigest() || got.FormerJSON() != c.FormerJSON() {
			t.Errorf("%s: %+v, want %+v", name, got, c)
		}
	}
}

// An operator that dies between two writes of a rotation leaves the next one passwords that every server accepts.
func TestARotationIsRecalledAtEveryStage(t *testing.T) {
	first := fixture.Started("app", "").StartRotation("now", fixture.Drawn)
	counted, _ := first.StartOverlap(fixture.Noon)
	published, _ := counted.PublishNext(fixture.Noon.Add(config.FilesOverlap))
	ending, _ := published.StartOverlap(fixture.Noon)
	over, _ := ending.RetireFormer(fixture.Noon.Add(config.FormerOverlap))
	stages := []config.Credentials{fixture.Started("app", ""), first, counted, published, ending, over}
	for i, now := range stages {
		binding, system, files := storedSecrets(now)
		if got := config.CredentialsIn(binding, system, files); got.Operator != now.Operator || got.Replication != now.Replication ||
			got.Backup != now.Backup || got.Rotation != now.Rotation {
			t.Errorf("stage %d: %+v, want %+v", i, got, now)
		}
		if i == 0 {
			continue
		}
		before := stages[i-1]
		_, formerSystem, formerFiles := storedSecrets(before)
		for half, got := range map[string]config.Credentials{"files": config.CredentialsIn(binding, formerSystem, files),
			"system": config.CredentialsIn(binding, system, formerFiles)} {
			if !slices.Contains(before.OperatorDigests(), config.Digest(got.Operator)) {
				t.Errorf("stage %d, of which only the Secret %s is written: the operator logs in with %q, which no server accepts", i, half,
					got.Operator)
			}
		}
	}
}

func TestRecalledFromWhatIsLeft(t *testing.T) {
	counted, _ := fixture.Started("old", "s").ChooseLogin("s", "new", fixture.Drawn).Publish(true).StartOverlap(fixture.Noon)
	b, s, f := storedSecrets(counted)
	lost := corev1.Secret{}
	forged := corev1.Secret{Data: map[string][]byte{"_operator": []byte("forged"), "_replication": []byte("forged"),
		"_backup":        []byte("forged"),
		config.FormerKey: []byte(`[{"digest":"x\nuser evil on nopass +@all"}]`)}}
	for _, c := range []struct {
		reason                      string
		binding, system, files      corev1.Secret
		operator, backup, published string
		accepted                    []string
	}{
		{"all", b, s, f, "op", "dump", "new", []string{"old", "new"}},
		{"the system's is lost", b, lost, f, "op", "dump", "new", []string{"old", "new"}},
		{"the system's is forged", b, forged, f, "op", "dump", "new", []string{"old", "new"}},
		{"the files are lost", b, s, lost, "op", "dump", "new", []string{"old", "new"}},
		{"the applications' is lost: the nodes still accept it", lost, s, f, "op", "dump", "", []string{"old", "new"}},
		{"both of the operator's are lost", b, lost, lost, "", "", "new", []string{"new"}},
		{"all are lost", lost, lost, lost, "", "", "", nil},
	} {
		t.Run(c.reason, func(t *testing.T) {
			got := config.CredentialsIn(c.binding, c.system, c.files)
			if got.Operator != c.operator || got.Backup != c.backup || got.Published.Password != c.published {
				t.Errorf("got %+v", got)
			}
			if !slices.Equal(got.AcceptedDigests(), fixture.DigestsOf(c.accepted...)) {
				t.Errorf("want %v, accepted are %v", c.accepted, got.AcceptedDigests())
			}
		})
	}
}
