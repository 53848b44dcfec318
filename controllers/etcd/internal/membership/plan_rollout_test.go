package membership

import "testing"

// Between the look and the deletion of a pod that fails, its server may have started: another pod's data may depend on it by then.
func TestAPodThatFailsIsDeletedOnlyAsItWasSeen(t *testing.T) {
	for _, c := range []struct {
		name  string
		setup func(*scene)
		goes  bool
	}{
		{"it never ran", func(*scene) {}, true},
		{"it was killed for memory", func(s *scene) { s.killForMemory() }, true},
		{"it was killed for memory, and has a volume", func(s *scene) { s.killForMemory(); s.HasStorage = true }, true},
		{"it waits for a majority, though its end was reported", func(s *scene) {
			s.killForMemory()
			s.Members[2].View = View{Waits: true, ID: 102, Index: 50}
		}, false},
		{"it refuses the operator's login, though its end was reported", func(s *scene) {
			s.killForMemory()
			s.Members[2].View.LockedOut = true
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene()
			s.HasStorage = false
			s.failToStart(2)
			c.setup(s)
			step, goes := s.restartFailing()
			if goes != c.goes || goes && (step.Do != DeletePod || !step.AsSeen) {
				t.Errorf("got %+v", step)
			}
		})
	}
}

// killForMemory makes the container of the last member's pod one that has run and has ended.
func (s *scene) killForMemory() {
	last := &s.Members[len(s.Members)-1]
	last.Record.Ran, last.Pod.HasRun, last.Pod.NeverRan, last.Pod.Stopped = true, true, false, true
}

// Before a pod is deleted whose data no other member is known to have, the API server is asked whether the claim stays.
func TestThePodOfTheOnlyDataNeedsItsClaim(t *testing.T) {
	for _, c := range []struct {
		name  string
		setup func(*scene)
		want  bool
	}{
		{"the only member is outdated", func(s *scene) {
			s.forget(2)
			s.forget(1)
			s.Members, s.Size = s.Members[:1], 1
			s.outdate(0)
		}, true},
		{"the others have the data", func(s *scene) { s.silence(2); s.outdate(2); s.Members[2].Pod.Stopped = true }, false},
		{"no majority of others is healthy", func(s *scene) { s.outdateWithoutMajority(2); s.Members[2].Pod.Stopped = true }, true},
		{"the pod never ran", func(s *scene) { s.outdateWithoutMajority(2); s.failToStart(2) }, false},
		{"a recovery continues from its data", func(s *scene) { s.recovering(); s.Members[2].Pod.Permit = `{"data":"d2"}` }, true},
		{"a recovery has given the data up", func(s *scene) { s.recovering(); s.Members[0].Pod = Pod{UID: "x", Permit: "y"} }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene()
			c.setup(s)
			if step := s.Plan(); step.Do != DeletePod || step.NeedsClaim != c.want {
				t.Errorf("got %+v", step)
			}
		})
	}
}
