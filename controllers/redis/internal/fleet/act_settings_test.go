package fleet

import (
	"context"
	"errors"
	"slices"
	"testing"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// configRecorder notes what it is sent about persistence.
type configRecorder struct {
	server
	commands []string
	fail     error
}

func (c *configRecorder) Configure(_ context.Context, directive, value string) error {
	c.commands = append(c.commands, directive+" "+value)
	return c.fail
}

func (c *configRecorder) SaveSnapshot(context.Context) error {
	c.commands = append(c.commands, "save")
	return c.fail
}

// What was appended is in a snapshot before a server stops appending.
func TestPersistenceChangesInSteps(t *testing.T) {
	const none, rdb, aof = cachev1alpha1.RedisPersistNone, cachev1alpha1.RedisPersistRDB, cachev1alpha1.RedisPersistAOF
	r, was := startOperator(nil), fixture.WithVolumes(fixture.Healthy(2))
	look := func(change func(*topology.Node)) *Fleet {
		f := r.fleetOf(was.Redis)
		f.World = was.World
		f.Nodes = slices.Clone(f.Nodes)
		change(&f.Nodes[1])
		f.memory.fillSettings(f.Spec, &f.World)
		return f
	}
	for _, c := range []struct {
		reason string
		mode   cachev1alpha1.RedisPersistenceMode
		change func(*topology.Node)
		sent   []string
	}{
		{"it appends at once", aof, func(m *topology.Node) { m.AOF = false }, []string{"appendonly yes"}},
		{"with nothing to keep it stops at once", none, func(*topology.Node) {}, []string{"appendonly no"}},
		{"another's snapshot is not ours", rdb, func(m *topology.Node) { m.Saving = true }, nil},
		{"first a snapshot", rdb, func(m *topology.Node) { m.SavedAt = 5 }, []string{"save"}},
		{"which is being taken", rdb, func(m *topology.Node) { m.SavedAt, m.Saving = 5, true }, nil},
		{"a snapshot is taken again where it was not", rdb, func(m *topology.Node) { m.SavedAt = 5 }, []string{"save"}},
		{"it stops after the snapshot", rdb, func(m *topology.Node) { m.SavedAt = 6 }, []string{"appendonly no"}},
	} {
		was.Spec.Persistence = &cachev1alpha1.RedisPersistence{Mode: c.mode}
		f, recorder := look(c.change), &configRecorder{}
		f.servers["a-1"] = recorder
		if err := f.doSetPersistence(t.Context(), topology.Step{NodeNames: []string{"a-1"}}); err != nil ||
			!slices.Equal(recorder.commands, c.sent) {
			t.Errorf("%s: sent %q: %v", c.reason, recorder.commands, err)
		}
	}
	f := look(func(*topology.Node) {})
	f.servers["a-1"] = &configRecorder{fail: errors.New("no answer")}
	if f.doSetPersistence(t.Context(), topology.Step{NodeNames: []string{"a-1"}}) == nil {
		t.Error("who does not answer has not refused")
	}
}

// A set whose Secret was lost starts with what its servers can find again.
func TestSettingsThatAreLostAreThoseOfTheServers(t *testing.T) {
	s := fixture.WithVolumes(fixture.Healthy(3))
	for i := range s.Nodes {
		s.Nodes[i].AOF = false
	}
	f := &Fleet{Spec: config.Resolve(s.Redis), World: s.World}
	if f.takeSettings(config.Settings{}); f.Settings.Live[config.AppendOnly] != "no" {
		t.Errorf("they would start from a file that none has written: %v", f.Settings)
	}
}
