package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// read reads what the API server has of the object, once. It returns a pass also with an error.
func (r *Reconciler) read(ctx context.Context, cluster *databasev1alpha1.EtcdCluster, save converge.SaveStatus) (*pass, error) {
	p := &pass{object: &object{Reconciler: r, cluster: cluster, spec: config.Resolve(cluster, &appsv1.StatefulSet{}, r.DefaultImages),
		known: r.memory.Of(cluster)}}
	p.effects = &apiEffects{object: p.object, saveStatus: save}
	if err := p.readInputs(ctx); err != nil {
		return p, err
	}
	p.spec = config.Resolve(cluster, p.in.set, r.DefaultImages) // with the volumes that there are
	return p, nil
}

// readInputs fills in what the object has from the API server.
func (o *object) readInputs(ctx context.Context) (err error) {
	in := &o.in
	var isCopied bool
	if in.certificates, isCopied, err = o.readCertificates(ctx); err != nil { // first: without them no member can be asked
		return err
	}
	if in.logins, err = o.readLogins(ctx); err != nil {
		return err
	}
	if in.set, err = o.GetStatefulSet(ctx, o.cluster); err != nil {
		return err
	}
	if in.pods, in.formerPods, err = o.listPods(ctx); err != nil {
		return err
	}
	in.recallTemplate()
	if in.fetches, err = o.listFetchPods(ctx); err != nil {
		return err
	}
	if in.requests, err = o.listRequests(ctx); err != nil {
		return err
	}
	if in.backups, err = listBackups(ctx, o.Client, o.cluster.Namespace); err != nil {
		return err
	}
	if in.claims, err = o.listClaims(ctx, o.Client); err != nil {
		return err
	}
	if !isCopied {
		in.lost = config.CertificatesLost(o.spec, in.pods, in.certificates.Published, o.clock.Now())
	}
	in.peers, in.peersChange, err = o.peerCertificates(ctx)
	if errors.Is(err, config.ErrTrustLost) {
		in.lost, err = config.TrustLost(o.spec), nil // it is reported
	}
	return err
}

// listPods returns the pods of the members: those of the StatefulSet, and those that a recreated one is yet to take back. Others under
// our labels are no members': former are the names of those that have a member's name.
func (o *object) listPods(ctx context.Context) (own []corev1.Pod, former []string, err error) {
	all, err := o.ListPods(ctx, o.cluster, config.AppName)
	for _, pod := range all {
		ordinal := membership.Ordinal(pod.Name)
		if ordinal < 0 || pod.Name != o.spec.MemberName(ordinal) {
			continue
		}
		if owner := metav1.GetControllerOf(&pod); owner == nil || owner.UID == o.in.set.UID || o.isRecorded(&pod) {
			own = append(own, pod)
		} else {
			former = append(former, pod.Name)
		}
	}
	return own, former, err
}

// isRecorded reports whether a pod was permitted to start as the member that is recorded under its name. Such a pod is the member's,
// whatever owner the cache names.
func (o *object) isRecorded(pod *corev1.Pod) bool {
	permit, permitted := membership.ParsePermit(pod.Annotations[config.AnnotationPermit])
	return permitted && permit.Pod == string(pod.UID) && o.cluster.Status.Membership != nil &&
		slices.ContainsFunc(o.cluster.Status.Membership.Members, func(member databasev1alpha1.EtcdRecordedMember) bool {
			return member.Name == pod.Name && member.DataID == permit.Data
		})
}

// listFetchPods returns the pods of backups, from the cache, but for those that are not ours.
func (o *object) listFetchPods(ctx context.Context) ([]corev1.Pod, error) {
	all, err := o.ListPods(ctx, o.cluster, config.FetchAppName)
	return slices.DeleteFunc(all, func(pod corev1.Pod) bool { return !metav1.IsControlledBy(&pod, o.cluster) }), err
}

// listRequests returns the EtcdRestores of a cluster, from the cache, the oldest first.
func (o *object) listRequests(ctx context.Context) ([]databasev1alpha1.EtcdRestore, error) {
	var list databasev1alpha1.EtcdRestoreList
	if err := o.List(ctx, &list, ctrlclient.InNamespace(o.cluster.Namespace)); err != nil {
		return nil, fmt.Errorf("listing EtcdRestores: %w", err)
	}
	own := slices.DeleteFunc(list.Items, func(r databasev1alpha1.EtcdRestore) bool { return r.Spec.ClusterName != o.cluster.Name })
	slices.SortFunc(own, func(a, b databasev1alpha1.EtcdRestore) int {
		if byAge := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); byAge != 0 {
			return byAge
		}
		return strings.Compare(a.Name, b.Name)
	})
	return own, nil
}
