package config_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
)

// rotating are credentials at the first stage of a rotation.
func rotating() Credentials { return Started("app", "").StartRotation("now", Drawn) }

func retires(c Credentials, after time.Duration) bool {
	_, retired := c.RetireFormer(Noon.Add(after))
	return retired
}

// counted are the same once the Secrets have them: the end of the stage is known.
func counted(t *testing.T, c Credentials) Credentials {
	t.Helper()
	c, changed := c.StartOverlap(Noon)
	if _, again := c.StartOverlap(Noon); !changed || again {
		t.Errorf("the stage is counted once: %+v", c.Rotation)
	}
	return c
}

func publishes(c Credentials, after time.Duration) bool {
	_, published := c.PublishNext(Noon.Add(after))
	return published
}

func TestTheFirstStageOfARotation(t *testing.T) {
	c := rotating()
	if c.Operator != "op" || !slices.Equal(c.OperatorDigests(), DigestsOf("op", "drawn")) ||
		!slices.Equal(c.BackupDigests(), DigestsOf("dump", "drawn")) {
		t.Errorf("at first both are accepted, and the former are used: %+v", c)
	}
	if publishes(c, 24*FilesOverlap) || c.RecheckAfter(Noon) != 0 {
		t.Error("the next are used before they are known to be in the Secrets")
	}
	if c = counted(t, c); c.RecheckAfter(Noon) != FilesOverlap || publishes(c, FilesOverlap-1) || retires(c, 24*FilesOverlap) {
		t.Error("the next are used before kubelets have the files, or the former are retired")
	}
	if busy := c.StartRotation("later", Drawn); busy.Rotation != c.Rotation {
		t.Error("one rotation starts before another has ended")
	}
}

func TestTheSecondStageOfARotation(t *testing.T) {
	first := counted(t, rotating())
	c, published := first.PublishNext(Noon.Add(FilesOverlap))
	if !published || c.Operator != "drawn" || c.Replication != "drawn" || c.Backup != "drawn" || c.AcceptedDigest() != first.AcceptedDigest() {
		t.Errorf("the next are used, and servers need not be sent them again: %+v", c)
	}
	if publishes(c, 24*FilesOverlap) || retires(c, 24*FilesOverlap) {
		t.Error("the former are retired before the next are known to be in the Secrets")
	}
	if c = counted(t, c); retires(c, FormerOverlap-1) {
		t.Error("the former are retired too soon")
	}
	c, _ = c.RetireFormer(Noon.Add(FormerOverlap))
	if !slices.Equal(c.OperatorDigests(), DigestsOf("drawn")) || !c.Rotation.HasRotated() || c.RecheckAfter(Noon) != 0 {
		t.Errorf("the former are retired: %+v", c)
	}
	if c.StartRotation("now", Drawn).Rotation.IsUnderWay() || !c.StartRotation("later", Drawn).Rotation.IsUnderWay() {
		t.Error("only another value asks again")
	}
}

// An object that is created with the annotation has never had other passwords.
func TestFirstPasswordsAreNotRotated(t *testing.T) {
	if c := (Credentials{}).StartRotation("now", Drawn).ChooseLogin("", "", Drawn); c.Rotation.IsUnderWay() ||
		c.StartRotation("now", Drawn).Rotation.IsUnderWay() {
		t.Errorf("got %+v", c.Rotation)
	}
}

func TestUsersDuringARotation(t *testing.T) {
	for _, user := range []string{"_operator", "_backup"} {
		for line := range strings.Lines(UsersACL(rotating())) {
			if strings.HasPrefix(line, "user "+user+" ") && strings.Count(line, "#") != 2 {
				t.Errorf("got %s", line)
			}
		}
	}
}
