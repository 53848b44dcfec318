package membership

import (
	"strings"
	"testing"
)

// neverStart makes it a cluster that forms, of which no server has run.
func (s *scene) neverStart() {
	s.notFormed()
	for i := range s.Members {
		s.failToStart(i)
		s.Members[i].Pod.Outdated = false
	}
}

// failAll has Kubernetes report why no member's pod can start.
func (s *scene) failAll() {
	for i := range s.Members {
		s.Members[i].Pod.Fails = true
	}
}

func TestAClusterThatFormsSaysWhatItFollowsLater(t *testing.T) {
	const (
		forms   = "the cluster is formed by a-0, a-1, a-2 with etcd 3.6.16 (etcd:v3.6.16), as the spec was when it started"
		correct = "correct what keeps the pods from starting, or take the edit back"
		leave   = "or delete this EtcdCluster"
	)
	for _, c := range []struct {
		name    string
		arrange func(*scene)
		says    []string
		not     []string
	}{
		{"without an edit it says nothing more", func(*scene) {}, nil, []string{"the edit of", leave}},
		{"a smaller size follows later", func(s *scene) { s.Size = 1 },
			[]string{forms, "the edit of spec.size to 1 follows once it has formed"}, []string{leave}},
		{"a larger size does not change who forms it", func(s *scene) { s.Size = 5 }, nil, []string{"the edit of", leave}},
		{"another patch follows at once", func(s *scene) {
			s.Wanted, s.Status.TargetVersion = Version{6, 11}, "3.6.11"
			s.Status.TargetImage = "etcd:v3.6.11"
		},
			nil, []string{"the edit of"}},
		{"another minor version follows later", func(s *scene) { s.Wanted = Version{7, 3} },
			[]string{forms, "the edit of spec.version to 3.7.3 follows"}, []string{leave, "spec.image"}},
		{"so does its image", func(s *scene) { s.Wanted, s.Image = Version{7, 3}, "mirror/etcd:v3.7.3" },
			[]string{"the edit of spec.version to 3.7.3, and of spec.image to mirror/etcd:v3.7.3 follows"}, nil},
		{"a version that cannot be run is named", func(s *scene) { s.Wanted, s.WantedError = Version{}, "no etcd 3.9" },
			[]string{"spec.version, which cannot be carried out: no etcd 3.9"}, nil},
		{"no one is advised to delete it while images are being pulled", func(s *scene) { s.Size = 1 },
			[]string{forms}, []string{correct, leave}},
		{"no one is advised to delete it while a majority can still form it", func(s *scene) { s.Size = 1; s.Members[2].Pod.Fails = true },
			[]string{forms}, []string{correct, leave}},
		{"one that cannot form may be deleted, as nothing ran", func(s *scene) { s.Size = 1; s.failAll() }, []string{forms, correct, leave}, nil},
		{"one in which a server ran is not to be deleted", func(s *scene) {
			s.Size = 1
			s.failAll()
			s.Members[1].Pod.HasRun, s.Members[1].Pod.NeverRan = true, false
		}, []string{forms, correct}, []string{leave}},
		{"pods that fail need no advice without an edit", func(s *scene) { s.failAll() }, nil, []string{"the edit of", correct, leave}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene()
			s.neverStart()
			c.arrange(s)
			next := s.Plan()
			if next.Do != Wait || !strings.HasPrefix(next.Message, "waiting for the members to form the cluster") {
				t.Fatalf("got %s: %s", next, next.Message)
			}
			for _, text := range c.says {
				if !strings.Contains(next.Message, text) {
					t.Errorf("it does not say %q: %s", text, next.Message)
				}
			}
			for _, text := range c.not {
				if strings.Contains(next.Message, text) {
					t.Errorf("it says %q: %s", text, next.Message)
				}
			}
		})
	}
}

func TestAClusterThatStartsWithABackupSaysWhatItFollowsLater(t *testing.T) {
	s := newScene()
	s.restoring()
	s.Wanted = Version{7, 3}
	next := s.Plan()
	if !strings.Contains(next.Message, "to start with backup") ||
		!strings.Contains(next.Message, "spec.version to 3.7.3 follows once it has formed") || strings.Contains(next.Message, "spec.size") {
		t.Errorf("got %s: %s", next, next.Message)
	}
}
