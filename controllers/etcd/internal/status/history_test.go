package status

import (
	"testing"
	"time"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

func TestOneSlowLookIsNoNews(t *testing.T) {
	now := time.Unix(100, 0)
	lately, before := now.Add(-silenceLimit+1), now.Add(-silenceLimit)
	for _, c := range []struct {
		name    string
		full    time.Time
		arrange func(*seen)
		want    bool
	}{
		{"all was seen", lately, func(*seen) {}, false},
		{"one did not answer in time", lately, func(s *seen) { s.silence(2) }, true},
		{"no member listed the members in time", lately, func(s *seen) { s.w.Listed = false }, true},
		{"it has been silent for a while", before, func(s *seen) { s.silence(2) }, false},
		{"it never answered", time.Time{}, func(s *seen) { s.silence(2) }, false},
		{"its container ended", lately, func(s *seen) { s.silence(2); s.w.Members[2].Pod.Stopped = true }, false},
		{"its pod is going", lately, func(s *seen) { s.silence(2); s.w.Members[2].Pod.Deleting = true }, false},
		{"its pod is gone", lately, func(s *seen) { s.silence(2); s.w.Members[2].Pod = membership.Pod{} }, false},
		{"it may not start yet", lately, func(s *seen) { s.silence(2); s.w.Members[2].Pod.Permit = "" }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSeen()
			c.arrange(s)
			if got := (&History{full: c.full}).isFleeting(s.w, now); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestAnElectionCallsNoHuman(t *testing.T) {
	now := time.Unix(100, 0)
	for _, c := range []struct {
		name, reason string
		listed       time.Time
		want         membership.Verb
	}{
		{"a majority was there a moment ago", commonv1.ReasonNoQuorum, now.Add(-silenceLimit + 1), membership.Wait},
		{"it has been away for a while", commonv1.ReasonNoQuorum, now.Add(-silenceLimit), membership.Block},
		{"what no election ends", commonv1.ReasonUnknownMember, now, membership.Block},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := (&History{listed: c.listed}).excuse(membership.Step{Do: membership.Block, Reason: c.reason}, now); got.Do != c.want {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestWhatWasSeenIsRemembered(t *testing.T) {
	var h History
	s, first := newSeen(), time.Unix(100, 0)
	h.noteLook(s.w, first)
	s.silence(2)
	second := first.Add(time.Second)
	if h.noteLook(s.w, second); h != (History{full: first, listed: second}) {
		t.Errorf("one was silent: got %v", h)
	}
	s.w.Listed = false
	if h.noteLook(s.w, second.Add(time.Second)); h != (History{full: first, listed: second}) {
		t.Errorf("no member listed the members: got %v", h)
	}
}
