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

func drops(c Credentials, after time.Duration) bool {
	_, dropped := c.RetireFormer(Noon.Add(after))
	return dropped
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

func uses(c Credentials, after time.Duration) bool {
	_, used := c.PublishNext(Noon.Add(after))
	return used
}

func TestTheFirstStageOfARotation(t *testing.T) {
	c := rotating()
	if c.Operator != "op" || !slices.Equal(c.OperatorDigests(), DigestsOf("op", "drawn")) ||
		!slices.Equal(c.BackupDigests(), DigestsOf("dump", "drawn")) {
		t.Errorf("at first both are accepted, and the former are used: %+v", c)
	}
	if uses(c, 24*FilesOverlap) || c.RecheckAfter(Noon) != 0 {
		t.Error("the next are used before they are known to be in the Secrets")
	}
	if c = counted(t, c); c.RecheckAfter(Noon) != FilesOverlap || uses(c, FilesOverlap-1) || drops(c, 24*FilesOverlap) {
		t.Error("the next are used before kubelets have the files, or the former are dropped")
	}
	if busy := c.StartRotation("later", Drawn); busy.Rotation != c.Rotation {
		t.Error("one rotation starts before another has ended")
	}
}

func TestTheSecondStageOfARotation(t *testing.T) {
	first := counted(t, rotating())
	c, used := first.PublishNext(Noon.Add(FilesOverlap))
	if !used || c.Operator != "drawn" || c.Replication != "drawn" || c.Backup != "drawn" || c.AcceptedDigest() != first.AcceptedDigest() {
		t.Errorf("the next are used, and servers need not be sent them again: %+v", c)
	}
	if uses(c, 24*FilesOverlap) || drops(c, 24*FilesOverlap) {
		t.Error("the former are dropped before the next are known to be in the Secrets")
	}
	if c = counted(t, c); drops(c, FormerOverlap-1) {
		t.Error("the former are dropped too soon")
	}
	c, _ = c.RetireFormer(Noon.Add(FormerOverlap))
	if !slices.Equal(c.OperatorDigests(), DigestsOf("drawn")) || !c.Rotation.HasRotated() || c.RecheckAfter(Noon) != 0 {
		t.Errorf("the former are dropped: %+v", c)
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
