package fleet

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// takeOver saves that this process is in charge of the object. A Redis server cannot decide which of two operators is in
// charge. Nor can an operator that was stopped: its clocks do not show for how long. Three rules keep both from commanding,
// whatever the clocks say:
//
//   - an operator that dials asks the API server after that, and before it commands a server, whether the object is unchanged;
//   - an operator that takes over changes the object first, and then closes the connections of all others;
//   - no connection is replaced by a new one between the question and the command.
//
// So an operator that was replaced asks too late, or what it has dialled is closed.
func (f *Fleet) takeOver(ctx context.Context) error {
	if err := f.effects.CheckStamps(ctx); err != nil { // a cache that was just filled may be older than the stamps
		return err
	}
	// Before the save, which may succeed although its reply is lost. Another operator has commanded the servers since, so
	// what they were sent no longer counts.
	f.memory.forgetServers()
	for _, m := range f.addressable() {
		m.SentCommands = topology.SentCommands{}
	}
	former := f.Redis.Status.HolderIdentity
	f.Redis.Status.HolderIdentity = f.operator.Identity
	if err := f.effects.Save(ctx); err != nil {
		f.Redis.Status.HolderIdentity = former // or a later save of this pass takes over
		return err
	}
	if f.Redis.Status.HolderIdentity != f.operator.Identity {
		return errors.New("the API server does not keep status.holderIdentity: apply the CustomResourceDefinitions of this release")
	}
	return nil
}

// killOtherOperators closes the connections of every other operator at the servers where this one has not done so since
// it took over: this ends what an operator that was replaced has started there. Where it fails, the server counts as
// silent for the rest of the pass, and the others are not held up. It reports whether it tried at any server: then look again.
func (f *Fleet) killOtherOperators(ctx context.Context) (tried bool) {
	for _, m := range f.addressable() {
		if m.Answer != wire.Reached || m.OthersKilled {
			continue
		}
		tried = true
		if err := f.serverOf(m).KillOtherOperators(ctx); err != nil {
			log.FromContext(ctx).Info("connections of other operators could not be closed; the server counts as silent", "node", m.Name, "error",
				err.Error())
			m.OthersRemain = true
			continue
		}
		f.memory.noteOthersKilled(m.RunID)
		m.OthersKilled = true
	}
	return tried
}
