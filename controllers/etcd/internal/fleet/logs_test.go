package fleet

import (
	"fmt"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

// logsOf is a fleet of one member that ran, and the clock that it goes by.
func logsOf(t *testing.T) (*Fleet, *clocktesting.FakeClock) {
	t.Helper()
	e := builders.EtcdCluster("a").Build()
	e.Status.Membership = &databasev1alpha1.EtcdMembership{
		Members: []databasev1alpha1.EtcdRecordedMember{{Name: "a-0", DataID: "d0", Ran: true}}}
	now := clocktesting.NewFakeClock(time.Unix(1_000_000, 0))
	f := &Fleet{Cluster: e, Memory: &Memory{}, Clock: now}
	f.Members = []membership.Member{{Name: "a-0", Record: &e.Status.Membership.Members[0],
		Pod: membership.Pod{UID: "p0", Container: "c0", Permit: `{"data":"d0"}`}}}
	return f, now
}

// look has the member show what it knows to be committed, and the term of what it has applied.
func (f *Fleet) look(index, term uint64) {
	f.Members[0].View = membership.View{Answered: true, Leader: 1, Index: index, Term: term}
	f.noteLook()
}

func (f *Fleet) noteLook() {
	f.Memory.logs.note(f.Members)
	f.Cluster.Status.Members = []databasev1alpha1.EtcdMember{{Name: "a-0", Healthy: f.Members[0].IsHealthy()}}
}

// recorded is what the status has of the logs.
func (f *Fleet) recorded() string {
	if len(f.Cluster.Status.DurableLogs) == 0 {
		return "none"
	}
	log := f.Cluster.Status.DurableLogs[0]
	return fmt.Sprintf("%s %s %d/%d", log.Name, log.DataID, log.Index, log.Term)
}

func TestWhatIsDurable(t *testing.T) {
	for _, c := range []struct {
		name  string
		looks func(*Fleet)
		want  string
	}{
		{"one look shows nothing that is on the disk for certain", func(f *Fleet) { f.look(10, 2) }, "none"},
		{"looks that all show the same entry show nothing that is on the disk for certain",
			func(f *Fleet) { f.look(10, 2); f.look(10, 2); f.look(10, 2) }, "none"},
		{"once a later entry is committed, the former is on the disk; its term is not known yet", func(f *Fleet) {
			f.look(10, 2)
			f.look(11, 2)
		}, "a-0 d0 10/0"},
		{"the term was seen before the entry", func(f *Fleet) {
			f.look(10, 2)
			f.look(11, 3)
			f.look(12, 4)
		}, "a-0 d0 11/2"},
		{"a restarted server shows nothing of the former one's last entry", func(f *Fleet) {
			f.look(10, 2)
			f.look(11, 2)
			f.Members[0].Pod.Container = "c1"
			f.look(12, 2)
		}, "a-0 d0 10/0"},
		{"a restarted server shows an entry once it knows of a later one itself", func(f *Fleet) {
			f.look(10, 2)
			f.Members[0].Pod.Container = "c1"
			f.look(12, 2)
			f.look(13, 2)
		}, "a-0 d0 12/0"},
		{"a container that is not known yet shows nothing", func(f *Fleet) {
			f.Members[0].Pod.Container = ""
			f.look(10, 2)
			f.look(11, 2)
		}, "none"},
		{"another member in its place has a log of its own", func(f *Fleet) {
			f.look(10, 2)
			f.look(11, 2)
			f.Cluster.Status.Membership.Members[0].DataID = "d1"
			f.Members[0].Pod = membership.Pod{UID: "p1", Container: "c1", Permit: `{"data":"d1"}`}
			f.look(3, 1)
		}, "none"},
		{"a member that was not seen to run promises nothing", func(f *Fleet) {
			f.Cluster.Status.Membership.Members[0].Ran = false
			f.look(10, 2)
			f.look(11, 2)
		}, "none"},
		{"a server that is silent shows nothing", func(f *Fleet) {
			f.look(10, 2)
			f.Members[0].View = membership.View{Waits: true, Index: 11}
			f.noteLook()
		}, "none"},
		{"a recovery may drop entries, and what was seen before counts no more", func(f *Fleet) {
			f.look(10, 2)
			f.look(11, 2)
			f.Cluster.Status.Membership.Change = &databasev1alpha1.EtcdMembershipChange{Type: databasev1alpha1.EtcdRecover, Recovery: "r"}
			f.RecordLogs()
			f.Cluster.Status.Membership.Change = nil
		}, "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, _ := logsOf(t)
			c.looks(f)
			if f.RecordLogs(); f.recorded() != c.want {
				t.Errorf("got %s", f.recorded())
			}
		})
	}
}

// TestHowOftenLogsAreRecorded looks every 15 s for an hour at a member that accepts writes.
func TestHowOftenLogsAreRecorded(t *testing.T) {
	f, now := logsOf(t)
	written, last := 0, "none"
	for look := range uint64(240) {
		f.look(10*look+10, 2)
		if f.RecordLogs(); f.recorded() != last {
			written, last = written+1, f.recorded()
		}
		now.Step(15 * time.Second)
	}
	if written != 6 {
		t.Errorf("it was written %d times", written)
	}
	f.Members[0].View = membership.View{}
	f.noteLook()
	if f.RecordLogs(); f.recorded() != "a-0 d0 2390/2" {
		t.Errorf("when it no longer answers, %s is recorded", f.recorded())
	}
	f.look(2400, 2)
	now.Step(time.Hour)
	if f.RecordLogs(); f.recorded() != "a-0 d0 2390/2" {
		t.Errorf("when nothing has risen, %s is recorded", f.recorded())
	}
}

// TestWhatIsRecordedOfLogsStays shows that an operator that has restarted takes nothing back, and that the entries of former members go.
func TestWhatIsRecordedOfLogsStays(t *testing.T) {
	f, _ := logsOf(t)
	f.Cluster.Status.DurableLogs = []databasev1alpha1.EtcdDurableLog{
		{Name: "a-0", DataID: "d0", Index: 90, Term: 3}, {Name: "a-1", DataID: "d1", Index: 90, Term: 3}}
	f.look(50, 2)
	f.look(51, 2)
	if f.RecordLogs(); f.recorded() != "a-0 d0 90/3" || len(f.Cluster.Status.DurableLogs) != 1 {
		t.Errorf("got %v", f.Cluster.Status.DurableLogs)
	}
	f.Cluster.Status.Membership = nil
	f.RecordLogs()
}
