package membership

import (
	"strings"
	"testing"
)

// schedule has the cluster go to 3.7 while it is backed up by a schedule, and these are the EtcdBackups other than that one.
func (s *scene) schedule(others ...Backup) {
	s.Wanted = Version{7, 3}
	s.Backups = append(others, Backup{Name: "nightly", Scheduled: true})
}

// upgradeBackup is the backup before 3.7.
func (s *scene) upgradeBackup() Backup {
	return Backup{UID: "b", Name: "a-before-3-7", Own: true, Token: s.Status.Membership.Token, Progress: "attempt 1"}
}

func TestTheBackupBeforeAnUpgrade(t *testing.T) {
	ofUpgrade := func(change func(*scene, *Backup)) func(*scene) {
		return func(s *scene) {
			b := s.upgradeBackup()
			s.schedule(b)
			change(s, &b)
			s.Backups[0] = b
		}
	}
	complete := func(_ *scene, b *Backup) { b.Complete, b.Progress = true, "" }
	for _, c := range []row{
		{"E13: it is made before the next minor version", func(s *scene) { s.schedule() }, "CreateUpgradeBackup ",
			"etcd cannot go back from 3.7.3"},
		{"E13: before each of them", func(s *scene) { s.schedule(); s.on(Version{5, 35}) }, "CreateUpgradeBackup ",
			"etcd cannot go back from 3.6.16"},
		{"not without a schedule", func(s *scene) { s.schedule(); s.Backups = nil }, "SetVersion ", "3.7.3"},
		{"not into the store of what was made once, or is another's", func(s *scene) { s.schedule(); s.Backups[0].Scheduled = false },
			"SetVersion ", "3.7.3"},
		{"not before a patch", func(s *scene) { s.schedule(); s.Wanted = Version{6, 15} }, "SetVersion ", "3.6.15"},
		{"no backup is awaited before the patch that comes before the next minor version", func(s *scene) { s.schedule(); s.on(Version{6, 10}) },
			"SetVersion ", "3.6.16"},
		{"not before all have agreed on the version before", func(s *scene) { s.schedule(); s.run(Version{6, 16}, "3.5", 2) },
			"Wait ", "to agree"},
		{"not once a member runs the next minor version", func(s *scene) {
			s.schedule()
			s.own("mine:7")
			s.pull("before:6", 0, 1)
			s.outdate(0, 1)
			s.run(Version{7, 3}, "3.6", 2)
		}, "SetVersion ", "3.7.3 mine:7"},
		{"an upgrade that has started continues", func(s *scene) {
			s.schedule()
			s.Status.TargetVersion, s.Status.TargetImage = "3.7.3", "etcd:v3.7.3"
			s.outdate(0, 1, 2)
		}, "EvictPod a-2", "outdated"},
		{"E13: it is waited for", ofUpgrade(func(*scene, *Backup) {}), "Wait ", `waiting for EtcdBackup "a-before-3-7" before 3.7.3: attempt 1`},
		{"members are looked after meanwhile", ofUpgrade(func(s *scene, _ *Backup) { s.loseData(1) }), "RemoveMember a-1", ""},
		{"E13: then comes the next minor version", ofUpgrade(complete), "SetVersion ", "3.7.3"},
		{"E13: also if something else is wrong with it", ofUpgrade(func(s *scene, b *Backup) { complete(s, b); b.Problem = "NotDeleted" }),
			"SetVersion ", "3.7.3"},
		{"E13: not if it fails", ofUpgrade(func(_ *scene, b *Backup) { b.Problem = "AccessDenied" }),
			"Block ", "AccessDenied. Fix that and delete"},
		{"members are looked after when it has failed", ofUpgrade(func(s *scene, b *Backup) { b.Problem = "AccessDenied"; s.loseData(1) }),
			"RemoveMember a-1", ""},
		{"without the schedule one that fails is none", ofUpgrade(func(s *scene, b *Backup) {
			b.Problem = "AccessDenied"
			s.Backups[1].Scheduled = false
		}), "SetVersion ", "3.7.3"},
		{"E13: a stranger's of its name is not taken for it", ofUpgrade(func(s *scene, b *Backup) { complete(s, b); b.Own = false }), "Block ",
			`EtcdBackup "a-before-3-7" has the name`},
		{"E13: nor one of the data before a restore", ofUpgrade(func(s *scene, b *Backup) { complete(s, b); b.Token = "former" }),
			"DeleteUpgradeBackup ", "before a restore replaced the data"},
		{"E13: nor one that goes", ofUpgrade(func(s *scene, b *Backup) { complete(s, b); b.Deleting = true }), "Wait ",
			"the previous EtcdBackup"},
		{"it is deleted when its upgrade is done", ofUpgrade(func(s *scene, b *Backup) { complete(s, b); s.on(Version{7, 3}) }),
			"DeleteUpgradeBackup ", "no upgrade"},
		{"E13: and when that is asked for no more: the next has one of its own", ofUpgrade(func(s *scene, b *Backup) {
			complete(s, b)
			s.Wanted = Version{6, 16}
		}), "DeleteUpgradeBackup ", "no upgrade"},
		{"not while its upgrade is under way", ofUpgrade(func(s *scene, b *Backup) {
			complete(s, b)
			s.Status.TargetVersion, s.Status.TargetImage = "3.7.3", "etcd:v3.7.3"
			s.outdate(0)
		}), "MoveLeader a-0", ""},
		{"no other is deleted", func(s *scene) { s.schedule(Backup{Name: "mine"}); s.on(Version{7, 3}) }, "Idle ", ""},
		{"not twice", ofUpgrade(func(s *scene, b *Backup) { b.Deleting = true; s.on(Version{7, 3}) }), "Idle ", ""},
	} {
		t.Run(c.name, c.test)
	}
}

func TestTheBackupBeforeAnUpgradeIsLikeTheFirstByASchedule(t *testing.T) {
	s := newScene()
	s.schedule(Backup{Name: "daily", Scheduled: true})
	if got := s.Plan(); got.Backup != "a-before-3-7" || got.Like != "daily" {
		t.Errorf("got %q like %q", got.Backup, got.Like)
	}
}

func TestUpgradeBackupName(t *testing.T) {
	for _, c := range []struct{ cluster, want string }{
		{"a", "a-before-3-7"},
		{strings.Repeat("a", 41), strings.Repeat("a", 41) + "-before-3-7"},
		{strings.Repeat("a", 48), strings.Repeat("a", 32) + "-97daac0e-before-3-7"},
	} {
		if got := (Spec{Name: c.cluster}).upgradeBackupName(Version{7, 3}); got != c.want || len(got) > maxBackupName {
			t.Errorf("got %s", got)
		}
	}
}
