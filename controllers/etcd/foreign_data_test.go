package etcd

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/client-go/tools/events"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/fleet"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

// A record has room for 32 directories of former members. Once it is saved without the oldest, that is reported.
func TestARecordThatForgetsDataIsReported(t *testing.T) {
	for _, c := range []struct {
		name     string
		former   int
		namesAll bool
		refusal  error // of the save
		reported bool
	}{
		{"a record that still names all", 31, true, nil, false},
		{"a record that forgets the oldest", 32, true, nil, true},
		{"a record that did not name all before", 32, false, nil, false},
		{"a record that was not saved", 32, true, errors.New("conflict"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := builders.EtcdCluster("a").Build()
			e.Status.Membership = &databasev1alpha1.EtcdMembership{NamesAllData: c.namesAll,
				Members: []databasev1alpha1.EtcdRecordedMember{{Name: "a-2", DataID: "d2"}}}
			for i := range c.former {
				e.Status.Membership.FormerDataIDs = append(e.Status.Membership.FormerDataIDs, fmt.Sprint("f", i))
			}
			recorder, o := events.NewFakeRecorder(9), objectAt(time.Unix(0, 0), e)
			o.Converger = converge.Converger{Events: recorder}
			a := &apiEffects{object: o, saveStatus: func(context.Context) error { return c.refusal }}
			p := &pass{object: o, effects: a, fleet: &fleet.Fleet{Cluster: e, Effects: a},
				step: membership.Step{Do: membership.ForgetMember, Member: "a-2"}}
			err := p.act(t.Context())
			if !errors.Is(err, c.refusal) || (len(recorder.Events) == 1) != c.reported {
				t.Errorf("%d events, error: %v", len(recorder.Events), err)
			}
		})
	}
}
