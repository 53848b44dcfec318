package membership

import (
	"fmt"
	"testing"
	"time"
)

// own gives the cluster an image of the user's, which its members run.
func (s *scene) own(image string) {
	s.Image, s.Status.TargetImage = image, image
	s.pull(image, 0, 1, 2)
}

// pull gives the pods of these members that image.
func (s *scene) pull(image string, ordinals ...int) {
	for _, i := range ordinals {
		s.Members[i].Pod.Image = image
	}
}

// on makes it a cluster that runs and has agreed on that version, with the operator's image.
func (s *scene) on(v Version) {
	s.Status.TargetVersion, s.Status.TargetImage = v.String(), s.defaultImage(v)
	s.pull(s.Status.TargetImage, 0, 1, 2)
	s.run(v, v.MinorString(), 0, 1, 2)
}

func TestWhatPodsAreMadeWithIsChosen(t *testing.T) {
	for _, c := range []row{
		{"E7: the version and its image are chosen together", func(s *scene) { s.Wanted = Version{7, 3} }, "SetVersion ", "3.7.3 etcd:v3.7.3"},
		{"E7: an image of the next version waits for the version before", func(s *scene) {
			s.own("mine:6")
			s.Image, s.Wanted = "mine:7", Version{7, 3}
			s.run(Version{6, 16}, "3.5", 1)
		}, "Wait ", "waiting for a-1 to agree on version 3.6"},
		{"an image of the next version is taken once all agree on the version before",
			func(s *scene) { s.own("mine:6"); s.Image, s.Wanted = "mine:7", Version{7, 3} }, "SetVersion ", "3.7.3 mine:7"},
		{"an image of the same version is a plain roll", func(s *scene) { s.own("mine:6"); s.Image = "mine:6b" },
			"SetVersion ", "3.6.16 mine:6b"},
		{"also while no server runs with the one before", func(s *scene) {
			s.own("wrong:6")
			s.Image = "mine:6"
			s.silence(2)
			s.Members[2].Pod.Stopped = true
		}, "SetVersion ", "3.6.16 mine:6"},
		{"a patch", func(s *scene) { s.Wanted = Version{6, 15} }, "SetVersion ", "3.6.15 etcd:v3.6.15"},
		{"a release with another image of the same version moves nothing", func(s *scene) { s.DefaultImages[1] = "mirror/etcd:v3.6.16" },
			"Idle ", ""},
		{"an image that is dropped moves nothing", func(s *scene) { s.own("mine:6"); s.Image = "" }, "Idle ", ""},
		{"an image that is dropped gives way on the way to the next version", func(s *scene) {
			s.own("mine:6")
			s.Image, s.Wanted = "", Version{7, 3}
		}, "SetVersion ", "3.7.3 etcd:v3.7.3"},
		{"E7: a patch in between is the operator's", func(s *scene) { s.on(Version{5, 30}); s.Wanted = Version{7, 3} },
			"SetVersion ", "3.6.16 etcd:v3.6.16"},
		{"E7: a patch that is too old for the next version is raised", func(s *scene) { s.on(Version{6, 10}); s.Wanted = Version{7, 3} },
			"SetVersion ", "3.6.16 etcd:v3.6.16"},
		{"E7: and waited for", func(s *scene) { s.run(Version{6, 10}, "3.6", 2); s.Wanted = Version{7, 3} },
			"Wait ", "waiting for all members to run 3.6.16"},
		{"E7: what the image holds counts, not what its version says", func(s *scene) {
			s.own("mine:6")
			s.run(Version{6, 10}, "3.6", 0, 1, 2)
			s.Image, s.Wanted = "mine:7", Version{7, 3}
		}, "Block ", "etcd 3.6.16 comes between"},
		{"an image of one's own serves one version", func(s *scene) {
			s.on(Version{5, 35})
			s.Image, s.Wanted = "mine:7", Version{7, 3}
		}, "Block ", "drop image"},
		{"E7: an image that holds a later version goes no further", func(s *scene) {
			s.own("mine:6")
			s.pull("before:6", 0, 1)
			s.outdate(0, 1)
			s.run(Version{7, 3}, "3.6", 2)
		}, "Block ", "mine:6 was to hold etcd 3.6, and a-2 runs 3.7.3"},
		{"another image in its place is taken", func(s *scene) {
			s.own("mine:6")
			s.Image, s.Wanted = "mine:6b", Version{7, 3}
			s.run(Version{5, 35}, "3.6", 2)
		}, "SetVersion ", "3.6.16 mine:6b"},
		{"the version that an image holds is taken when the others have agreed on the one before", func(s *scene) {
			s.own("mine:7")
			s.pull("before:6", 0, 1)
			s.outdate(0, 1)
			s.run(Version{7, 3}, "3.6", 2)
			s.Wanted = Version{7, 3}
		}, "SetVersion ", "3.7.3 mine:7"},
		{"a member that is yet to be recreated runs what it ran", func(s *scene) {
			s.own("mine:6")
			s.pull("before:5", 0, 1, 2)
			s.run(Version{5, 35}, "3.5", 0, 1, 2)
			s.outdate(0, 1, 2)
		}, "EvictPod a-2", "outdated"},
	} {
		t.Run(c.name, c.test)
	}
}

func TestDefaultImage(t *testing.T) {
	for _, c := range []struct {
		newest string
		v      Version
		want   string
	}{
		{"quay.io/coreos/etcd@sha256:aa", newest[6], "quay.io/coreos/etcd@sha256:aa"},
		{"quay.io/coreos/etcd@sha256:aa", Version{6, 3}, "quay.io/coreos/etcd:v3.6.3"},
		{"host:5000/etcd:v3.6.16", Version{6, 3}, "host:5000/etcd:v3.6.3"},
		{"host:5000/etcd", Version{6, 3}, "host:5000/etcd:v3.6.3"},
		{"etcd", Version{4, 3}, ""},
		{"etcd", Version{7, 3}, ""},
	} {
		t.Run(fmt.Sprint(c.newest, " ", c.v), func(t *testing.T) {
			if got := (Spec{DefaultImages: []string{"five", c.newest}}).defaultImage(c.v); got != c.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestLooksAgainSoonUntilMembersAgreeOnTheirVersion(t *testing.T) {
	s := newScene()
	if next := s.Plan(); next.Do != Idle || next.RequeueAfter != 0 {
		t.Errorf("they have agreed: %+v", next)
	}
	for _, agreed := range []string{"", "3.0", "3.5"} {
		s.run(Version{6, 16}, agreed, 2)
		if next := s.Plan(); next.Do != Idle || next.RequeueAfter != time.Second {
			t.Errorf("one knows %q: %+v", agreed, next)
		}
	}
}

// A server may say that it is etcd "3.7", which is no exact version, and that the members have agreed on any.
func TestAMemberWhoseVersionIsNotKnown(t *testing.T) {
	for _, c := range []row{
		{"an upgrade waits for it", func(s *scene) { s.Wanted = Version{7, 3}; s.run(Version{}, "3.6", 1) }, "Wait ",
			"waiting for a-1 to agree on version 3.6"},
		{"no version follows it", func(s *scene) { s.run(Version{}, "3.7", 0, 1, 2) }, "Idle ", ""},
		{"it does not prove that the members can return to the former version",
			func(s *scene) { s.lowerVersion(1, 2); s.run(Version{}, "3.6", 0) }, "MoveLeader a-0", ""},
	} {
		t.Run(c.name, c.test)
	}
	s := newScene()
	s.run(Version{}, "3.7", 2)
	if next := s.Plan(); next.Do != Idle || next.RequeueAfter != 0 {
		t.Errorf("at rest it is looked at again and again: %+v", next)
	}
}
