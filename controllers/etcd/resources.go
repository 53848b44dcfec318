package etcd

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/launcher"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
)

const (
	// appName is the value of app.kubernetes.io/name on all children.
	appName = "etcd"
	// clientPort, peerPort and metricsPort name the ports in pods and Services.
	clientPort, peerPort, metricsPort = "client", "peer", "metrics"
	// etcdUID is the UID that etcd runs as: any will do, as the official image brings no user.
	etcdUID = 65532

	// dataVolume is where a member keeps its data.
	dataVolume = "data"
	// annotationPermit holds what a pod is told when it may start.
	annotationPermit = "mainstay-operator.io/etcd-permit"
	// annotationData is set on a claim before a member begins on its volume, and on an EtcdBackup that is made before an upgrade. It
	// names the cluster, by the token of its record.
	annotationData = "mainstay-operator.io/etcd-data"

	// peersDir is where a pod finds the members' certificates.
	peersDir = "/etc/etcd/peers"

	// maxDefaultQuota is the largest default of quota, in bytes. It is etcd's own default.
	maxDefaultQuota = 2 << 30
	// corruptCheckTime is the time between two comparisons of all data by the leader. Each compaction compares the members,
	// too, a minute later.
	corruptCheckTime = "12h"
)

// childInputs is what the children depend on beside the object.
type childInputs struct {
	spec                 membership.Spec
	image, launcherImage string
	defaults             parts.Defaults
	version              membership.Version // that pods are made with
	initialVersion       string             // that the cluster was formed with
	pods                 int32
	volumeSize           resource.Quantity // of new members: a StatefulSet cannot change it
	peers                peerCertificates
	identity             pki.Identity // that members show to clients, with tls
	logins               logins       // with auth; published is what <name>-binding is to have
	restartedAt          string       // when a human asked for new pods, to be kept as they wrote it
	operatorNamespace    string       // namespace of the manager; empty where it runs in no pod
}

// desiredChildren are all children. What pods need to start comes before them.
func desiredChildren(e *databasev1alpha1.EtcdCluster, c childInputs) []converge.Child {
	children := []converge.Child{authoritySecret(e, c.peers), peersSecret(e, c.peers)}
	if e.Spec.TLS != nil {
		children = append(children, certificatesSecret(e, c.identity))
	}
	children = append(children, headlessService(e, c.spec), clientService(e))
	if e.Spec.Auth != nil {
		children = append(children, systemSecret(e, c), tokensSecret(e, c), backupSecret(e, c))
	}
	if hasBinding(e, c.logins) {
		children = append(children, bindingSecret(e, c))
	}
	if max(c.spec.Size, c.pods) >= 3 {
		children = append(children, parts.DisruptionBudget(appName, e.Name, disruption(e), policyv1.IfHealthyBudget))
	}
	children = append(children, statefulSet(e, c))
	if e.Spec.NetworkPolicy != nil {
		children = append(children, networkPolicy(e, c.operatorNamespace))
	}
	if m := e.Spec.Metrics; m != nil {
		children = append(children, parts.ServiceMonitor(appName, e.Name, &m.ServiceMonitor, metricsPort, "/metrics"))
	}
	return children
}

// disruption is none while there are fewer than three voters: of two, each is needed.
func disruption(e *databasev1alpha1.EtcdCluster) *commonv1.Disruption {
	if len(votersOnRecord(e)) >= 3 {
		return nil
	}
	none := intstr.FromInt32(0)
	return &commonv1.Disruption{MaxUnavailable: &none}
}

// votersOnRecord are the names of the members on record that count for the majority.
func votersOnRecord(e *databasev1alpha1.EtcdCluster) []string {
	var names []string
	if e.Status.Membership != nil {
		for _, m := range e.Status.Membership.Members {
			if m.Ran || !m.Joined {
				names = append(names, m.Name)
			}
		}
	}
	return names
}

// statefulSet leaves it to the plan when pods restart (OnDelete): one at a time, and the leader is moved before.
func statefulSet(e *databasev1alpha1.EtcdCluster, c childInputs) *appsv1ac.StatefulSetApplyConfiguration {
	template := parts.WithRestartedAt(parts.PodTemplate(appName, e.Name, e.Spec.PodOptions), c.restartedAt).
		WithAnnotations(c.peers.trustAnnotation())
	parts.MarkDefaults(template, c.defaults)
	template.Spec.
		WithSecurityContext(parts.RestrictedPod(etcdUID)).
		WithInitContainers(launcherInstaller(e, c)).
		WithContainers(container(e, c)).
		WithVolumes(
			corev1ac.Volume().WithName("program").WithEmptyDir(corev1ac.EmptyDirVolumeSource()),
			corev1ac.Volume().WithName("permit").WithDownwardAPI(corev1ac.DownwardAPIVolumeSource().WithItems(corev1ac.DownwardAPIVolumeFile().
				WithPath(launcher.PermitFile).WithFieldRef(corev1ac.ObjectFieldSelector().WithFieldPath("metadata.annotations['"+annotationPermit+"']")))),
			corev1ac.Volume().WithName("peers").WithSecret(corev1ac.SecretVolumeSource().WithSecretName(peersName(e)).WithDefaultMode(0o440)))
	if e.Spec.TLS != nil {
		withCertificates(e, c.identity, template)
	}
	if e.Spec.Auth != nil {
		withTokenKey(e, c.logins, template)
	}
	spec := appsv1ac.StatefulSetSpec().
		WithReplicas(c.pods).
		WithServiceName(c.spec.HeadlessName()).
		WithPodManagementPolicy(appsv1.ParallelPodManagement).
		WithUpdateStrategy(appsv1ac.StatefulSetUpdateStrategy().WithType(appsv1.OnDeleteStatefulSetStrategyType)).
		WithSelector(parts.LabelSelector(appName, e.Name)).
		WithTemplate(template)
	if e.Spec.Storage == nil {
		template.Spec.WithVolumes(corev1ac.Volume().WithName(dataVolume).WithEmptyDir(corev1ac.EmptyDirVolumeSource()))
	} else {
		claim := parts.ClaimTemplate(appName, e.Name, dataVolume, c.volumeSize, e.Spec.Storage.StorageClassName)
		spec.WithVolumeClaimTemplates(claim).WithPersistentVolumeClaimRetentionPolicy(volumes.RetentionPolicy())
	}
	return appsv1ac.StatefulSet(e.Name, "").WithLabels(parts.Labels(appName, e.Name)).WithSpec(spec)
}

func newSecret(e *databasev1alpha1.EtcdCluster, name string, data map[string][]byte) *corev1ac.SecretApplyConfiguration {
	return corev1ac.Secret(name, "").WithLabels(parts.Labels(appName, e.Name)).WithType(corev1.SecretTypeOpaque).WithData(data)
}
