package etcd

import (
	"context"
	"errors"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
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
	peers       peerCertificates
	peersChange string
	// lost says what must be mended before anything is written; nil if there is nothing.
	lost *membership.Step
	// certificates are those that clients are shown, with tls.
	certificates pki.Certificates
	// logins are who may log in, with auth.
	logins logins
}

func (r *Reconciler) readInputs(ctx context.Context, e *databasev1alpha1.EtcdCluster, spec membership.Spec) (in inputs, err error) {
	var isCopied bool
	if in.certificates, isCopied, err = r.readCertificates(ctx, e, spec); err != nil { // first: without them no member can be asked
		return in, err
	}
	if in.logins, err = r.readLogins(ctx, e, spec); err != nil {
		return in, err
	}
	if in.set, err = r.GetStatefulSet(ctx, e); err != nil {
		return in, err
	}
	if in.pods, err = r.listPods(ctx, e, spec, in.set); err != nil {
		return in, err
	}
	in.recallTemplate()
	if in.fetches, err = r.listFetchPods(ctx, e); err != nil {
		return in, err
	}
	if in.requests, err = r.listRequests(ctx, e); err != nil {
		return in, err
	}
	if in.backups, err = listBackups(ctx, r.Client, e.Namespace); err != nil {
		return in, err
	}
	if in.claims, err = converge.ListClaims(ctx, r.Client, ctrlclient.ObjectKeyFromObject(e), appName, dataVolume); err != nil {
		return in, err
	}
	if !isCopied {
		in.lost = certificatesLost(e, in.pods, in.certificates.Published, r.clock.Now())
	}
	in.peers, in.peersChange, err = r.peerCertificates(ctx, e, spec, in.pods)
	if errors.Is(err, errTrustLost) {
		in.lost, err = trustLost(e), nil // it is reported
	}
	return in, err
}

// recallTemplate has the pods of a StatefulSet that is being made anew tell what it was made from.
func (in *inputs) recallTemplate() {
	if in.set.UID == "" && len(in.pods) > 0 {
		in.set.Spec.Template = converge.TemplateOf(&in.pods[0])
	}
}

// resolve returns the spec with every default.
func resolve(e *databasev1alpha1.EtcdCluster, defaultImages []string) membership.Spec {
	spec := membership.Spec{Name: e.Name, Namespace: e.Namespace, Size: ptr.Deref(e.Spec.Size, 3), HasStorage: e.Spec.Storage != nil, Image: e.Spec.Image, DefaultImages: defaultImages,
		RequiresLogin: e.Spec.Auth != nil, FromBackup: e.Spec.Bootstrap != nil, Quota: quota(e, volumeSize(e, &appsv1.StatefulSet{})),
		AllowedRecovery: e.Annotations[databasev1alpha1.EtcdAllowUnsafeRecovery]}
	if e.Spec.Defrag != nil {
		spec.DefragThreshold = e.Spec.Defrag.Threshold
	}
	running, _ := membership.ParseVersion(e.Status.TargetVersion) // none is that of a new cluster
	var err error
	if spec.Wanted, err = membership.ResolveVersion(e.Spec.Version, running); err != nil {
		spec.WantedError = err.Error()
	}
	return spec
}

// listPods returns the pods of the members: those of the StatefulSet, and those that one made anew is yet to take back. Others under
// our labels are nobody's.
func (r *Reconciler) listPods(ctx context.Context, e *databasev1alpha1.EtcdCluster, spec membership.Spec, set *appsv1.StatefulSet) ([]corev1.Pod, error) {
	all, err := r.ListPods(ctx, e, appName)
	var own []corev1.Pod
	for _, pod := range all {
		ordinal := membership.Ordinal(pod.Name)
		if ordinal < 0 || pod.Name != spec.MemberName(ordinal) {
			continue
		}
		if owner := metav1.GetControllerOf(&pod); owner == nil || owner.UID == set.UID || isOnRecord(e, &pod) {
			own = append(own, pod)
		}
	}
	return own, err
}

// isOnRecord reports whether a pod was told to start as the member that is on record under its name. Such a pod is the member's
// whoever the cache says it belongs to.
func isOnRecord(e *databasev1alpha1.EtcdCluster, pod *corev1.Pod) bool {
	permit, told := membership.ParsePermit(pod.Annotations[annotationPermit])
	return told && permit.Pod == string(pod.UID) && e.Status.Membership != nil &&
		slices.ContainsFunc(e.Status.Membership.Members, func(one databasev1alpha1.EtcdRecordedMember) bool {
			return one.Name == pod.Name && one.DataID == permit.Data
		})
}

func (r *Reconciler) childInputs(e *databasev1alpha1.EtcdCluster, f *fleet, in inputs) childInputs {
	version, _ := membership.ParseVersion(e.Status.TargetVersion) // both are set when there is a record, and without one there are no pods
	c := childInputs{spec: f.spec, image: e.Status.TargetImage, version: version, operatorNamespace: r.Account.Namespace,
		peers: in.peers, identity: f.nextIdentity(e, in.certificates, r.clock.Now()),
		launcherImage: parts.RunningImage(in.set.Spec.Template.Spec.InitContainers, "launcher", r.LauncherImage),
		pods:          membership.Situation{Spec: f.spec, Status: &e.Status}.DesiredPods(),
		restartedAt:   in.set.Spec.Template.Annotations[parts.AnnotationRestartedAt],
		logins:        f.nextLogins(e, in.logins),
		volumeSize:    volumeSize(e, in.set)}
	if e.Status.Membership != nil {
		c.initialVersion = e.Status.Membership.InitialVersion
	}
	c.defaults = chooseDefaults(e, c, converge.StatefulSetWorkload(in.set, in.pods, r.PodRefusal(e)))
	return c
}

func chooseDefaults(e *databasev1alpha1.EtcdCluster, c childInputs, live converge.Workload) parts.Defaults {
	return converge.ChooseDefaults(live, func(d parts.Defaults) *corev1ac.PodTemplateSpecApplyConfiguration {
		c.defaults = d
		return statefulSet(e, c).Spec.Template
	})
}

// volumeSize is the size of new members' volumes; 0 without storage.
func volumeSize(e *databasev1alpha1.EtcdCluster, set *appsv1.StatefulSet) resource.Quantity {
	if e.Spec.Storage == nil {
		return resource.Quantity{}
	}
	return volumes.SizeOfNew(set, e.Spec.Storage.Size)
}
