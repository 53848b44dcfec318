package fleet

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// seenServer answers a look as it was set to.
type seenServer struct {
	server
	view membership.View
}

func (s seenServer) Look(context.Context) membership.View { return s.view }

// deletedPods notes which pods were deleted.
type deletedPods struct {
	Effects
	names *[]string
}

func (d deletedPods) DeletePod(_ context.Context, name string, _ bool) error {
	*d.names = append(*d.names, name)
	return nil
}

func (d deletedPods) ConfirmClaim(_ context.Context, _ string, claim types.UID) error {
	if claim != "stays" {
		return ErrClaimGoes
	}
	return nil
}

// The claim of the only member may be deleted after the plan was made: then its pod stays, and users see why.
func TestAPodStaysIfTheOnlyDataWouldGoWithIt(t *testing.T) {
	for _, c := range []struct {
		name  string
		claim types.UID
		needs bool
		goes  bool
	}{
		{"the claim stays", "stays", true, true},
		{"the claim is being deleted", "goes", true, false},
		{"the claim is being deleted, and others have the data", "goes", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var deleted []string
			f := &Fleet{Effects: deletedPods{names: &deleted}}
			f.Members = []membership.Member{{Name: "a-0", Pod: membership.Pod{ClaimUID: c.claim}}}
			step := membership.Step{Do: membership.DeletePod, Member: "a-0", NeedsClaim: c.needs}
			shown, err := Outcome(step, f.doDeletePod(t.Context(), step))
			if err != nil || (len(deleted) == 1) != c.goes || strings.Contains(shown.Message, "the pod stays") == c.goes {
				t.Errorf("deleted %v, shown %q: %v", deleted, shown.Message, err)
			}
		})
	}
}

// A server that was killed may serve again before its kubelet has reported that: then its pod stays, and it is looked at again.
func TestAPodThatFailsStaysIfItsServerAnswersNow(t *testing.T) {
	for _, c := range []struct {
		name   string
		view   membership.View
		asSeen bool
		goes   bool
	}{
		{"it answers", membership.View{Answered: true}, true, false},
		{"it does not accept the operator's login", membership.View{LockedOut: true}, true, false},
		{"it is silent", membership.View{}, true, true},
		{"a restore replaces what it serves", membership.View{Answered: true}, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var deleted []string
			f := &Fleet{Effects: deletedPods{names: &deleted}, servers: map[string]server{"a-2": seenServer{view: c.view}}}
			err := f.doDeletePod(t.Context(), membership.Step{Do: membership.DeletePod, Member: "a-2", AsSeen: c.asSeen})
			if (len(deleted) == 1) != c.goes || errors.Is(err, ErrPodChanged) == c.goes {
				t.Errorf("deleted %v: %v", deleted, err)
			}
		})
	}
}
