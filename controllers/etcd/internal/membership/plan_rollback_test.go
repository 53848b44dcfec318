package membership

import "testing"

// lowerVersion has the spec ask for 3.6 again while pods are made with 3.7, which these members run already.
func (s *scene) lowerVersion(later ...int) {
	s.Status.TargetVersion, s.Status.TargetImage = "3.7.3", "etcd:v3.7.3"
	s.outdate(0, 1, 2)
	for _, i := range later {
		s.Members[i].Pod.Outdated = false
	}
	s.pull("etcd:v3.7.3", later...)
	s.run(Version{7, 3}, "3.6", later...)
}

// waitForMajority has a member be one that was restarted without a majority.
func (s *scene) waitForMajority(i int) {
	m := &s.Members[i]
	m.View = View{Waits: true, ID: m.View.ID, Index: m.View.Index, Revision: 7, Version: m.View.Version, ClusterVersion: m.View.ClusterVersion}
	m.Pod.Ready = false
}

func TestAnUpgradeIsRolledBack(t *testing.T) {
	for _, c := range []row{
		{"E19: an upgrade is rolled back while one member runs the former version",
			func(s *scene) { s.lowerVersion(1, 2) }, "SetVersion ",
			"the upgrade is rolled back3.6.16 etcd:v3.6.16"},
		{"an upgrade is rolled back before any member runs the next version",
			func(s *scene) { s.lowerVersion() }, "SetVersion ", "3.6.16 etcd:v3.6.16"},
		{"E19: an upgrade is rolled back to the patch and image that run, not to the newest patch", func(s *scene) {
			s.lowerVersion(2)
			s.run(Version{6, 12}, "3.6", 0, 1)
			s.pull("mirror/etcd:v3.6.12", 0, 1)
		}, "SetVersion ", "3.6.12 mirror/etcd:v3.6.12"},
		{"an upgrade is rolled back to the image that the spec names",
			func(s *scene) { s.lowerVersion(2); s.Image = "mine:6" }, "SetVersion ", "3.6.16 mine:6"},
		{"E19: an upgrade is rolled back without a majority, as the image of the next version may be why there is none", func(s *scene) {
			s.lowerVersion()
			s.outdateWithoutMajority(0)
			s.Members[0].View.Leader = 0
		}, "SetVersion ", "3.6.16"},
		{"E19: a member that waits for a majority proves that the members can return", func(s *scene) {
			s.lowerVersion()
			s.outdateWithoutMajority(0)
			s.waitForMajority(0)
		}, "SetVersion ", "3.6.16"},
		{"E19: an upgrade stays once the members have agreed on it", func(s *scene) {
			s.lowerVersion(0, 1, 2)
			s.run(Version{7, 3}, "3.7", 0, 1, 2)
		}, "Block ", `version: a-0, a-1, a-2 have agreed on etcd 3.7, and etcd 3.6 cannot read their data: set version to "3.7" again`},
		{"E19: an upgrade stays if one member says that they have agreed on it",
			func(s *scene) { s.lowerVersion(1, 2); s.run(Version{7, 3}, "3.7", 1) }, "MoveLeader a-0", ""},
		{"an upgrade stays if one member does not say what they have agreed on",
			func(s *scene) { s.lowerVersion(1, 2); s.run(Version{7, 3}, "", 1) },
			"MoveLeader a-0", ""},
		{"E19: a learner, which may be removed, does not prove that the members can return",
			func(s *scene) { s.lowerVersion(0, 1, 2); s.addLearner() },
			"PromoteMember a-3", ""},
		{"E19: a member that is not recorded does not prove that the members can return",
			func(s *scene) { s.lowerVersion(1, 2); s.forget(0) }, "Wait ",
			"waiting for the server of the former member of a-0 to end"},
		{"E19: an upgrade stays while no member of the former version answers", func(s *scene) { s.lowerVersion(0, 1, 2) }, "Block ",
			"no member answers that runs etcd 3.6, so whether the members can return to it is not known"},
		{"a wait for a member says why the version stays", func(s *scene) { s.lowerVersion(1, 2); s.silence(0) }, "Wait ",
			"waiting for a-0; version: no member answers that runs etcd 3.6"},
		{"a missing majority says why the version stays",
			func(s *scene) { s.lowerVersion(1, 2); s.outdateWithoutMajority(2); s.silence(0) }, "Block ",
			"0 of 3 members answer and know a leader; without a majority etcd takes no writes; version: no member answers that runs etcd 3.6"},
		{"an upgrade is not rolled back by two minor versions",
			func(s *scene) { s.lowerVersion(0, 1, 2); s.Wanted = Version{5, 35} }, "Block ",
			"no member answers that runs etcd 3.5"},
		{"an upgrade is not rolled back to a version that is not known",
			func(s *scene) { s.lowerVersion(2); s.WantedError = "this release knows no etcd 3.9" },
			"EvictPod a-1", ""},
		{"E19: the backup before the upgrade is deleted first: the next attempt makes its own", func(s *scene) {
			s.schedule(s.upgradeBackup())
			s.Wanted = Version{6, 16}
			s.lowerVersion(2)
		}, "DeleteUpgradeBackup ", "the upgrade is rolled back"},
		{"a backup before the upgrade that is being deleted holds up nothing", func(s *scene) {
			b := s.upgradeBackup()
			b.Deleting = true
			s.schedule(b)
			s.Wanted = Version{6, 16}
			s.lowerVersion(2)
		}, "SetVersion ", "3.6.16"},
	} {
		t.Run(c.name, c.test)
	}
}

func TestWhatTheMembersHaveAgreedOnIsFollowed(t *testing.T) {
	for _, c := range []row{
		{"E19: no further pod is made with an earlier version", func(s *scene) {
			s.run(Version{7, 2}, "3.7", 0, 1, 2)
			s.pull("etcd:v3.7.2", 0, 1, 2)
			s.outdate(0, 1, 2)
		}, "SetVersion ", "the members have agreed on etcd 3.73.7.2 etcd:v3.7.2"},
		{"E19: no further pod is made with an earlier version, also without a majority", func(s *scene) {
			s.outdateWithoutMajority(1)
			s.run(Version{7, 3}, "3.7", 0)
			s.pull("etcd:v3.7.3", 0)
		}, "SetVersion ", "3.7.3 etcd:v3.7.3"},
		{"not to a version that is not known", func(s *scene) { s.run(Version{99, 0}, "3.99", 1) }, "Block ", "a-1 runs 3.99.0"},
		{"E19: a pod of the earlier version that has not started is deleted", func(s *scene) {
			s.on(Version{7, 3})
			s.Wanted = Version{7, 3}
			s.replacePod(0)
			s.pull("etcd:v3.6.16", 0)
		}, "DeletePod a-0", "may hold an earlier version"},
		{"a pod of the earlier version stays if its claim would go with it", func(s *scene) {
			s.on(Version{7, 3})
			s.Wanted = Version{7, 3}
			s.replacePod(0)
			s.pull("etcd:v3.6.16", 0)
			s.Members[0].Pod.ClaimGoes = true
		}, "Wait ", "waiting for a-0"},
		{"a pod whose image others run with starts", func(s *scene) {
			s.replacePod(0)
			s.pull("before:6", 0, 1)
		}, "Wait ", "waiting for a-0"},
		{"a pod of the former version starts while the members have not agreed on the next", func(s *scene) {
			s.lowerVersion(1, 2)
			s.Wanted = Version{7, 3}
			s.replacePod(0)
			s.pull("etcd:v3.6.16", 0)
		}, "Wait ", "waiting for a-0"},
		{"one member that runs a later version does not decide for the others", func(s *scene) {
			s.run(Version{7, 3}, "3.6", 2)
			s.pull("before:7", 2)
		}, "Idle ", ""},
	} {
		t.Run(c.name, c.test)
	}
}

func TestNoPodOfAnEarlierVersionIsPermittedToStart(t *testing.T) {
	for _, c := range []struct {
		name    string
		arrange func(*scene)
		starts  bool
	}{
		{"E19: pods are made with the version that the members have agreed on by now", func(s *scene) { s.on(Version{7, 3}) }, false},
		{"E19: pods are yet to be made with it",
			func(s *scene) { s.run(Version{7, 3}, "3.7", 1, 2); s.pull("etcd:v3.7.3", 1, 2) }, false},
		{"the members have not agreed on it", func(s *scene) { s.lowerVersion(1, 2) }, true},
		{"the others run the same version", func(*scene) {}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene()
			c.arrange(s)
			s.replacePod(0)
			s.pull("etcd:v3.6.16", 0)
			if _, starts := s.MissingPermits()["a-0"]; starts != c.starts {
				t.Errorf("it starts: %t", starts)
			}
		})
	}
}
