package fleet

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// Effects are what a step depends on besides the servers. A test that simulates these and the servers controls every decision
// about the members.
type Effects interface {
	// Save writes the object's status, if no one has changed the object since it was read, and leaves the server's answer in
	// the object.
	Save(ctx context.Context) error
	// Confirm returns nil if the object is as the API server has it.
	Confirm(ctx context.Context) error
	// DeletePod deletes exactly the pod that was looked at; asSeen, only if nothing about it has changed since, else it returns
	// ErrPodChanged.
	DeletePod(ctx context.Context, name string, asSeen bool) error
	// ConfirmClaim returns nil if the volume of a pod is that of the claim that was looked at, and the claim stays; ErrClaimGoes if it does
	// not. It asks the API server.
	ConfirmClaim(ctx context.Context, pod string, claim types.UID) error
	// EvictPod evicts exactly the pod that was looked at. It returns ErrNoDisruptionAllowed while the budget allows none, or an
	// EvictionBlockedError if only a human can change that.
	EvictPod(ctx context.Context, name string) error
	// WritePermit writes on a pod that it may start, and how, if its volume is that of the claim that was looked at. The claim then
	// says that it has data.
	WritePermit(ctx context.Context, name, permit string, claim types.UID) error
	// StampClaims writes the stamp on each claim of the members, former ones included, that has another. It returns an error if a claim
	// has a later one.
	StampClaims(ctx context.Context, stamp membership.Stamp) error
	// ReadClaims asks the API server for the claims of the members, former ones included, by name.
	ReadClaims(ctx context.Context) ([]membership.Claim, error)
	// CreateFetchPod makes the pod that fetches the backup which the cluster starts with. An existing one that this
	// object controls is kept.
	CreateFetchPod(ctx context.Context, s membership.Situation, source types.UID) error
	// DeleteFetchPod deletes exactly the one that was looked at.
	DeleteFetchPod(ctx context.Context, pod types.UID) error
	// ConfirmRequest returns ErrWithdrawn if an EtcdRestore may not start any more. It asks the API server.
	ConfirmRequest(ctx context.Context, request types.UID) error
	// ReadBackups asks the API server for the EtcdBackups in the namespace.
	ReadBackups(ctx context.Context) ([]membership.Backup, error)
	// CreateUpgradeBackup makes an EtcdBackup without a schedule, into the store of another. An existing one that this
	// object controls is kept.
	CreateUpgradeBackup(ctx context.Context, name, like string) error
	// DeleteUpgradeBackup deletes exactly the EtcdBackup that was looked at.
	DeleteUpgradeBackup(ctx context.Context, name string) error
	// WarnOfSource reports a backup of which nothing shows whose data it is.
	WarnOfSource(warning string)
	// NewID names a data directory or a cluster as no other.
	NewID() string
}

// ErrPodChanged says that a pod is not as it was when its deletion was decided: it may have started.
var ErrPodChanged = errors.New("the pod has changed since the operator looked at it: looking again")

// ErrClaimGoes says that data would go with a pod, which the cache is yet to show.
var ErrClaimGoes = errors.New("the PersistentVolumeClaim of the pod is being deleted, or is not the one that the operator has seen, " +
	"and no other member is known to have its data: the pod stays")

// ErrNoDisruptionAllowed says that the PodDisruptionBudget allows no disruption now.
var ErrNoDisruptionAllowed = errors.New("the PodDisruptionBudget spares no pod yet")

// EvictionBlockedError says that budgets keep a pod from being recreated, and that time alone does not end it.
type EvictionBlockedError struct {
	Message    string
	RetryAfter time.Duration // to be asked again that soon
}

func (e *EvictionBlockedError) Error() string { return e.Message }

// step returns the step that shows the blocked eviction to users.
func (e *EvictionBlockedError) step() membership.Step {
	return membership.Step{Do: membership.Block, Reason: commonv1.ReasonEvictionBlocked, Message: e.Message, RequeueAfter: e.RetryAfter}
}

// ErrWithdrawn says that an EtcdRestore may not start any more.
var ErrWithdrawn = errors.New("the EtcdRestore is gone, has ended, or is too late to start")
