package etcd

import (
	"context"
	"errors"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

// inputs are what the API server has of an object, by the caches.
type inputs struct {
	set      *appsv1.StatefulSet // empty when there is none or it is not ours
	pods     []corev1.Pod
	fetches  []corev1.Pod                             // that have fetched backups
	requests []databasev1alpha1.EtcdRestore           // of this cluster, the oldest first
	backups  []databasev1alpha1.EtcdBackup            // in the namespace, by name
	claims   map[string]*corev1.PersistentVolumeClaim // by the pod's name
	// peers are the certificates to publish now; peersChange says why they are others than before.
	peers       config.PeerCertificates
	peersChange string
	// lost says what must be repaired before anything is written; nil if there is nothing.
	lost *membership.Step
	// certificates are those that clients are shown, with tls.
	certificates pki.Certificates
	// logins are who may log in, with auth.
	logins config.Logins
}

// read reads what the API server has of the object, once. It returns a pass also with an error.
func (r *Reconciler) read(ctx context.Context, cluster *databasev1alpha1.EtcdCluster, save converge.SaveStatus) (*pass, error) {
	p := &pass{Reconciler: r, known: r.memory.Of(cluster),
		fleet: &fleet{cluster: cluster, spec: config.Resolve(cluster, &appsv1.StatefulSet{}, r.DefaultImages)}}
	p.outside = &apiEffects{pass: p, saveStatus: save}
	p.effects = p.outside
	if err := p.readInputs(ctx); err != nil {
		return p, err
	}
	p.spec = config.Resolve(cluster, p.in.set, r.DefaultImages) // with the volumes that there are
	return p, nil
}

// recheck is when to read again after an error, which time alone may end.
func (p *pass) recheck() ctrl.Result {
	return ctrl.Result{RequeueAfter: p.in.certificates.RecheckAfter}
}

func (p *pass) readInputs(ctx context.Context) (err error) {
	in := &p.in
	var isCopied bool
	if in.certificates, isCopied, err = p.readCertificates(ctx); err != nil { // first: without them no member can be asked
		return err
	}
	if in.logins, err = p.readLogins(ctx); err != nil {
		return err
	}
	if in.set, err = p.GetStatefulSet(ctx, p.cluster); err != nil {
		return err
	}
	if in.pods, err = p.listPods(ctx); err != nil {
		return err
	}
	in.recallTemplate()
	if in.fetches, err = p.listFetchPods(ctx); err != nil {
		return err
	}
	if in.requests, err = p.listRequests(ctx); err != nil {
		return err
	}
	if in.backups, err = listBackups(ctx, p.Client, p.cluster.Namespace); err != nil {
		return err
	}
	if in.claims, err = converge.ListClaims(ctx, p.Client, ctrlclient.ObjectKeyFromObject(p.cluster), config.AppName,
		config.DataVolume); err != nil {
		return err
	}
	if !isCopied {
		in.lost = config.CertificatesLost(p.spec, in.pods, in.certificates.Published, p.clock.Now())
	}
	in.peers, in.peersChange, err = p.peerCertificates(ctx)
	if errors.Is(err, config.ErrTrustLost) {
		in.lost, err = config.TrustLost(p.spec), nil // it is reported
	}
	return err
}

// recallTemplate has the pods of a StatefulSet that is being recreated say what it was made from.
func (i *inputs) recallTemplate() {
	if i.set.UID == "" && len(i.pods) > 0 {
		i.set.Spec.Template = converge.TemplateOf(&i.pods[0])
	}
}

// listPods returns the pods of the members: those of the StatefulSet, and those that a recreated one is yet to take back. Others under
// our labels are no members'.
func (p *pass) listPods(ctx context.Context) ([]corev1.Pod, error) {
	all, err := p.ListPods(ctx, p.cluster, config.AppName)
	var own []corev1.Pod
	for _, pod := range all {
		ordinal := membership.Ordinal(pod.Name)
		if ordinal < 0 || pod.Name != p.spec.MemberName(ordinal) {
			continue
		}
		if owner := metav1.GetControllerOf(&pod); owner == nil || owner.UID == p.in.set.UID || p.isRecorded(&pod) {
			own = append(own, pod)
		}
	}
	return own, err
}

// isRecorded reports whether a pod was permitted to start as the member that is recorded under its name. Such a pod is the member's,
// whatever owner the cache names.
func (p *pass) isRecorded(pod *corev1.Pod) bool {
	permit, permitted := membership.ParsePermit(pod.Annotations[config.AnnotationPermit])
	return permitted && permit.Pod == string(pod.UID) && p.cluster.Status.Membership != nil &&
		slices.ContainsFunc(p.cluster.Status.Membership.Members, func(one databasev1alpha1.EtcdRecordedMember) bool {
			return one.Name == pod.Name && one.DataID == permit.Data
		})
}

// allPods are those of the members and of backups.
func (i *inputs) allPods() []corev1.Pod {
	return slices.Concat(i.fetches, i.pods)
}
