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
	_, dropped := c.DropFormer(Noon.Add(after))
	return dropped
}

func TestTheStagesOfARotation(t *testing.T) {
	first := rotating()
	if first.Operator != "op" || !slices.Equal(first.OperatorDigests(), DigestsOf("op", "drawn")) || !slices.Equal(first.BackupDigests(), DigestsOf("dump", "drawn")) {
		t.Errorf("at first both are accepted, and the former are used: %+v", first)
	}
	if _, used := first.UseNext(Noon.Add(24 * FilesOverlap)); used || first.RecheckAfter(Noon) != 0 {
		t.Error("the next are used before they are known to be in the Secrets")
	}
	first, changed := first.StartOverlap(Noon)
	if _, again := first.StartOverlap(Noon); !changed || again || first.RecheckAfter(Noon) != FilesOverlap {
		t.Errorf("the stage is counted once: %+v", first.Rotation)
	}
	if _, used := first.UseNext(Noon.Add(FilesOverlap - 1)); used {
		t.Error("the next are used before kubelets have the files")
	}
	second, used := first.UseNext(Noon.Add(FilesOverlap))
	if !used || second.Operator != "drawn" || second.Replication != "drawn" || second.Backup != "drawn" || second.AcceptedDigest() != first.AcceptedDigest() {
		t.Errorf("then the next are used, and servers need not be told again: %+v", second)
	}
	if _, again := second.UseNext(Noon.Add(24 * FilesOverlap)); again || drops(second, 24*FilesOverlap) {
		t.Error("the former are dropped before the next are known to be in the Secrets")
	}
	second, _ = second.StartOverlap(Noon)
	third, _ := second.DropFormer(Noon.Add(FormerOverlap))
	if drops(second, FormerOverlap-1) || !slices.Equal(third.OperatorDigests(), DigestsOf("drawn")) || !third.Rotation.HasRotated() || third.RecheckAfter(Noon) != 0 {
		t.Errorf("the former are dropped after a while: %+v", third)
	}
	if third.StartRotation("now", Drawn).Rotation.IsUnderWay() || !third.StartRotation("later", Drawn).Rotation.IsUnderWay() {
		t.Error("only another value asks again")
	}
	if busy := first.StartRotation("later", Drawn); busy.Rotation != first.Rotation {
		t.Error("one rotation begins before another has ended")
	}
}

// An object that is created with the annotation has never had other passwords.
func TestFirstPasswordsAreNotRotated(t *testing.T) {
	if c := (Credentials{}).StartRotation("now", Drawn).ChooseLogin("", "", Drawn); c.Rotation.IsUnderWay() || c.StartRotation("now", Drawn).Rotation.IsUnderWay() {
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
