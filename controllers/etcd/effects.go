package etcd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// effects are what a step depends on besides the servers. A test that simulates these and the servers controls every decision
// about the members.
type effects interface {
	// save writes the object's status, if no one has changed the object since it was read, and leaves the server's answer in
	// the object.
	save(ctx context.Context) error
	// deletePod deletes exactly the pod that was looked at; asSeen, only if nothing about it has changed since, else it returns
	// errPodChanged.
	deletePod(ctx context.Context, name string, asSeen bool) error
	// evictPod does the same if the budget has one to spare; else it returns errNoneToSpare, or an evictionBlockedError.
	evictPod(ctx context.Context, name string) error
	// writePermit writes on a pod that it may start, and how, if its volume is that of the claim that was looked at. The claim then
	// says that it has data.
	writePermit(ctx context.Context, name, permit string, claim types.UID) error
	// createFetchPod makes the pod that fetches the backup which the cluster starts with. One of ours that is there is taken.
	createFetchPod(ctx context.Context, s membership.Situation, source types.UID) error
	// deleteFetchPod deletes exactly the one that was looked at.
	deleteFetchPod(ctx context.Context, pod types.UID) error
	// confirmRequest returns errWithdrawn if an EtcdRestore may not start any more. It asks the API server.
	confirmRequest(ctx context.Context, request types.UID) error
	// readBackups asks the API server for the EtcdBackups in the namespace.
	readBackups(ctx context.Context) ([]membership.Backup, error)
	// createUpgradeBackup makes an EtcdBackup without a schedule, into the store of another. One of ours that is there is taken.
	createUpgradeBackup(ctx context.Context, name, like string) error
	// deleteUpgradeBackup deletes exactly the EtcdBackup that was looked at.
	deleteUpgradeBackup(ctx context.Context, name string) error
	// newID names a data directory or a cluster as no other.
	newID() string
}

// apiEffects has the effects on a real API server.
type apiEffects struct {
	*pass
	saveStatus converge.SaveStatus
	unsaved    bool // the object holds what is not known to be saved
}

func (a *apiEffects) save(ctx context.Context) error {
	err := a.saveStatus(ctx)
	a.unsaved = err != nil
	return err
}

func (*apiEffects) newID() string { return strings.ToLower(rand.Text()) }

// errPodChanged says that a pod is not as it was when its deletion was decided: it may have started.
var errPodChanged = errors.New("the pod has changed since the operator looked at it: looking again")

func (a *apiEffects) deletePod(ctx context.Context, name string, asSeen bool) error {
	return a.removePod(name, func(pod *corev1.Pod, exactly metav1.Preconditions) error {
		if !asSeen {
			exactly.ResourceVersion = nil
		}
		err := a.Delete(ctx, pod, ctrlclient.Preconditions(exactly))
		if asSeen && apierrors.IsConflict(err) {
			return errPodChanged
		}
		return err
	})
}

// removePod removes exactly the pod that was looked at. One that is gone is no error.
func (a *apiEffects) removePod(name string, remove func(*corev1.Pod, metav1.Preconditions) error) error {
	for i := range a.in.pods {
		if a.in.pods[i].Name != name {
			continue
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: a.cluster.Namespace, Name: name}}
		if err := ctrlclient.IgnoreNotFound(remove(pod, metav1.Preconditions{UID: &a.in.pods[i].UID,
			ResourceVersion: &a.in.pods[i].ResourceVersion})); err != nil {
			return err
		}
		a.known.noteDeleted(a.in.pods[i].UID, a.clock.Now())
	}
	return nil
}

func (a *apiEffects) writePermit(ctx context.Context, name, permit string, claim types.UID) error {
	if err := a.markClaim(ctx, name, claim); err != nil {
		return err
	}
	for i := range a.in.pods {
		if a.in.pods[i].Name != name {
			continue
		}
		next := a.in.pods[i].DeepCopy()
		if next.Annotations == nil {
			next.Annotations = map[string]string{}
		}
		next.Annotations[config.AnnotationPermit] = permit
		// The version in the patch keeps it from a pod that has come in its place.
		patch := ctrlclient.MergeFromWithOptions(&a.in.pods[i], ctrlclient.MergeFromWithOptimisticLock{})
		err := a.Patch(ctx, next, patch, ctrlclient.FieldOwner(converge.FieldManager))
		if ctrlclient.IgnoreNotFound(err) != nil {
			return fmt.Errorf("permitting pod %q to start: %w", name, err)
		}
	}
	return nil
}

// markClaim notes on the claim that a member starts on its volume. It asks the API server, as the cache may have the claim that was
// there before.
func (a *apiEffects) markClaim(ctx context.Context, pod string, want types.UID) error {
	if a.cluster.Spec.Storage == nil {
		return nil
	}
	claim, key := &corev1.PersistentVolumeClaim{}, ctrlclient.ObjectKey{Namespace: a.cluster.Namespace,
		Name: converge.ClaimName(config.DataVolume, pod)}
	if err := a.APIReader.Get(ctx, key, claim); err != nil {
		return fmt.Errorf("reading the claim of pod %q: %w", pod, err)
	}
	if claim.UID != want {
		return fmt.Errorf("permitting pod %q to start: the cache is behind at PersistentVolumeClaim %q", pod, claim.Name)
	}
	token := a.cluster.Status.Membership.Token
	if claim.Annotations[config.AnnotationData] == token {
		return nil
	}
	next := claim.DeepCopy()
	metav1.SetMetaDataAnnotation(&next.ObjectMeta, config.AnnotationData, token)
	return a.PatchClaim(ctx, claim, next)
}
