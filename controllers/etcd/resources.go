package etcd

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	networkingv1 "k8s.io/api/networking/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/launcher"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
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
		spec.WithVolumeClaimTemplates(claim).WithPersistentVolumeClaimRetentionPolicy(retentionPolicy(e))
	}
	return appsv1ac.StatefulSet(e.Name, "").WithLabels(parts.Labels(appName, e.Name)).WithSpec(spec)
}

// launcherInstaller copies the program into the pod that starts etcd when the operator allows it.
func launcherInstaller(e *databasev1alpha1.EtcdCluster, c childInputs) *corev1ac.ContainerApplyConfiguration {
	return parts.Container("launcher", c.launcherImage, e.Spec.PodOptions).
		WithCommand("/"+launcher.ProgramFile, launcher.InstallCommand, launcher.ProgramDir).
		WithSecurityContext(parts.RestrictedContainer()).
		WithVolumeMounts(corev1ac.VolumeMount().WithName("program").WithMountPath(launcher.ProgramDir))
}

func container(e *databasev1alpha1.EtcdCluster, c childInputs) *corev1ac.ContainerApplyConfiguration {
	field := func(name, path string) *corev1ac.EnvVarApplyConfiguration {
		return corev1ac.EnvVar().WithName(name).WithValueFrom(corev1ac.EnvVarSource().WithFieldRef(corev1ac.ObjectFieldSelector().WithFieldPath(path)))
	}
	port := func(name string, number int32) *corev1ac.ContainerPortApplyConfiguration {
		return corev1ac.ContainerPort().WithName(name).WithContainerPort(number).WithProtocol(corev1.ProtocolTCP)
	}
	probe := func(path string) *corev1ac.ProbeApplyConfiguration {
		return corev1ac.Probe().WithHTTPGet(corev1ac.HTTPGetAction().WithPath(path).WithPort(intstr.FromString(metricsPort)).WithScheme(corev1.URISchemeHTTP))
	}
	return parts.Container(appName, c.image, e.Spec.PodOptions).
		WithCommand(launcher.ProgramDir+"/"+launcher.ProgramFile, launcher.StartCommand).
		WithArgs(arguments(e, c)...).
		WithEnv(field("POD_NAME", "metadata.name"), field(launcher.PodUIDEnv, "metadata.uid")).
		WithPorts(port(clientPort, wire.ClientPort), port(peerPort, wire.PeerPort), port(metricsPort, wire.MetricsPort)).
		WithResources(parts.ToApplyConfig[corev1ac.ResourceRequirementsApplyConfiguration](e.Spec.Resources)).
		WithSecurityContext(parts.RestrictedContainer()).
		WithVolumeMounts(
			corev1ac.VolumeMount().WithName(dataVolume).WithMountPath(launcher.DataDir),
			corev1ac.VolumeMount().WithName("program").WithMountPath(launcher.ProgramDir),
			corev1ac.VolumeMount().WithName("permit").WithMountPath(launcher.PermitDir).WithReadOnly(true),
			corev1ac.VolumeMount().WithName("peers").WithMountPath(peersDir).WithReadOnly(true)).
		// A leader that is asked to go serves on until another leads.
		WithLifecycle(corev1ac.Lifecycle().WithPreStop(corev1ac.LifecycleHandler().WithExec(corev1ac.ExecAction().WithCommand(
			launcher.ProgramDir+"/"+launcher.ProgramFile, launcher.HandoverCommand, fmt.Sprintf("%ds", parts.PreStopSeconds(e.Spec.PodOptions)))))).
		// A pod may wait for its start for as long as it takes, and a member without a majority is not restarted for it.
		WithStartupProbe(probe("/livez").WithPeriodSeconds(1).WithTimeoutSeconds(5).WithFailureThreshold(1 << 30)).
		WithLivenessProbe(probe("/livez").WithPeriodSeconds(livenessPeriod).WithTimeoutSeconds(livenessPeriod).WithFailureThreshold(livenessFailures(c.spec.Quota))).
		WithReadinessProbe(probe("/readyz").WithPeriodSeconds(2).WithTimeoutSeconds(5).WithFailureThreshold(2))
}

const (
	// livenessPeriod is the time between two probes, in seconds.
	livenessPeriod = 10
	// slowestDisk is how much a disk writes at least that etcd can live with, in bytes per second.
	slowestDisk = 16 << 20
)

// livenessFailures is how often a server may fail its probe before it is restarted: for a minute, and for as long as a slow disk
// takes to write all data anew, since a server that is being defragmented reads nothing.
func livenessFailures(quota int64) int32 {
	return int32(60/livenessPeriod + quota/(slowestDisk*livenessPeriod)) //nolint:gosec // a quota is some GiB
}

// arguments are etcd's, beside those of the permit: https://etcd.io/docs/v3.6/op-guide/configuration/
func arguments(e *databasev1alpha1.EtcdCluster, c childInputs) []string {
	host := c.spec.Host("$(POD_NAME)")
	args := []string{
		"/usr/local/bin/etcd",
		"--name=$(POD_NAME)",
		fmt.Sprintf("--listen-client-urls=%s://0.0.0.0:%d", clientScheme(e), wire.ClientPort),
		"--advertise-client-urls=" + clientURL(e, host),
		fmt.Sprintf("--listen-peer-urls=https://0.0.0.0:%d", wire.PeerPort),
		"--initial-advertise-peer-urls=" + c.spec.PeerURL("$(POD_NAME)"),
		fmt.Sprintf("--listen-metrics-urls=http://0.0.0.0:%d", wire.MetricsPort),
		"--peer-client-cert-auth",
		"--peer-trusted-ca-file=" + peersDir + "/ca.crt",
		"--peer-cert-file=" + peersDir + "/" + corev1.TLSCertKey,
		"--peer-key-file=" + peersDir + "/" + corev1.TLSPrivateKeyKey,
		"--peer-client-cert-file=" + peersDir + "/client.crt",
		"--peer-client-key-file=" + peersDir + "/client.key",
		fmt.Sprintf("--quota-backend-bytes=%d", c.spec.Quota),
	}
	args = append(append(args, clientTLSArguments(e)...), authArguments(e)...)
	if initial, _ := membership.ParseVersion(c.initialVersion); c.version.Minor == 6 && initial.Minor < 6 {
		args = append(args, fmt.Sprintf("--snapshot-count=%d", membership.SnapshotCount))
	}
	if c.version.Minor == 5 {
		args = append(args, "--experimental-compact-hash-check-enabled=true", "--experimental-corrupt-check-time="+corruptCheckTime)
	} else {
		args = append(args, "--feature-gates=CompactHashCheck=true", "--corrupt-check-time="+corruptCheckTime)
	}
	if a := e.Spec.AutoCompaction; a != nil {
		mode := map[databasev1alpha1.EtcdCompactionMode]string{databasev1alpha1.EtcdPeriodic: "periodic", databasev1alpha1.EtcdRevision: "revision"}[a.Mode]
		args = append(args, "--auto-compaction-mode="+mode, "--auto-compaction-retention="+a.Retention)
	}
	return args
}

// quota leaves room on a volume of that size for a defragmentation, which writes all data anew before it drops the old. One that
// was asked for together with a larger volume waits for it.
func quota(e *databasev1alpha1.EtcdCluster, volume resource.Quantity) int64 {
	switch asked := e.Spec.Quota; {
	case asked != nil && e.Spec.Storage != nil:
		return min(asked.Value(), volume.Value())
	case asked != nil:
		return asked.Value()
	case e.Spec.Storage != nil:
		return min(maxDefaultQuota, volume.Value()/2)
	}
	return maxDefaultQuota
}

// retentionPolicy tells what becomes of volumes that no member needs.
func retentionPolicy(e *databasev1alpha1.EtcdCluster) *appsv1ac.StatefulSetPersistentVolumeClaimRetentionPolicyApplyConfiguration {
	kept := appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	if e.Spec.Storage.Retention == databasev1alpha1.EtcdDelete {
		kept = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	}
	scaled := kept
	if e.Status.LastRecovery != nil || e.Status.Membership != nil && e.Status.Membership.Restore != nil { // what was given up is kept, as it may have what the survivor has not
		scaled = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	}
	return appsv1ac.StatefulSetPersistentVolumeClaimRetentionPolicy().WithWhenDeleted(kept).WithWhenScaled(scaled)
}

// clientService leads to the members that are ready: voters that see a majority.
func clientService(e *databasev1alpha1.EtcdCluster) *corev1ac.ServiceApplyConfiguration {
	return newService(e, e.Name, servicePort(clientPort, wire.ClientPort))
}

// headlessService names the members, ready or not: they must find each other before they are.
func headlessService(e *databasev1alpha1.EtcdCluster, spec membership.Spec) *corev1ac.ServiceApplyConfiguration {
	service := newService(e, spec.HeadlessName(), servicePort(clientPort, wire.ClientPort), servicePort(peerPort, wire.PeerPort), servicePort(metricsPort, wire.MetricsPort))
	service.Spec.WithClusterIP(corev1.ClusterIPNone).WithPublishNotReadyAddresses(true)
	return service
}

func newSecret(e *databasev1alpha1.EtcdCluster, name string, data map[string][]byte) *corev1ac.SecretApplyConfiguration {
	return corev1ac.Secret(name, "").WithLabels(parts.Labels(appName, e.Name)).WithType(corev1.SecretTypeOpaque).WithData(data)
}

func newService(e *databasev1alpha1.EtcdCluster, name string, ports ...*corev1ac.ServicePortApplyConfiguration) *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(name, "").
		WithLabels(parts.Labels(appName, e.Name)).
		WithSpec(corev1ac.ServiceSpec().WithSelector(parts.SelectorLabels(appName, e.Name)).WithPorts(ports...))
}

func servicePort(name string, number int32) *corev1ac.ServicePortApplyConfiguration {
	return corev1ac.ServicePort().WithName(name).WithProtocol(corev1.ProtocolTCP).WithPort(number).WithTargetPort(intstr.FromString(name))
}

// networkPolicy lets the members reach each other, backups be made, and the operator look after the members from the namespace that
// it runs in.
func networkPolicy(e *databasev1alpha1.EtcdCluster, operator string) *networkingv1ac.NetworkPolicyApplyConfiguration {
	members, operators := networkingv1ac.NetworkPolicyPeer().WithPodSelector(parts.LabelSelector(appName, e.Name)), parts.OperatorPeer(operator)
	client, metrics := intstr.FromInt32(wire.ClientPort), intstr.FromInt32(wire.MetricsPort)
	open := []networkingv1.NetworkPolicyPort{{Port: &client}}
	if e.Spec.Metrics != nil {
		open = append(open, networkingv1.NetworkPolicyPort{Port: &metrics})
	}
	policy := parts.NetworkPolicy(appName, e.Name, e.Spec.NetworkPolicy, open, append(operators, members, parts.BackupPeer("etcdbackup"))...)
	policy.Spec.WithIngress(admit(wire.PeerPort, members))
	if len(operators) > 0 { // a rule without peers would be one for everybody
		policy.Spec.WithIngress(admit(wire.MetricsPort, operators...)) // which tell what a member has that waits for a majority
	}
	return policy
}

// admit is the rule that lets these peers reach that port.
func admit(port int32, peers ...*networkingv1ac.NetworkPolicyPeerApplyConfiguration) *networkingv1ac.NetworkPolicyIngressRuleApplyConfiguration {
	return networkingv1ac.NetworkPolicyIngressRule().WithFrom(peers...).WithPorts(networkingv1ac.NetworkPolicyPort().WithPort(intstr.FromInt32(port)))
}
