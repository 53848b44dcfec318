package etcd

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/launcher"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// launcherInstaller copies the program into the pod that starts etcd when the operator allows it.
func launcherInstaller(e *databasev1alpha1.EtcdCluster, c childInputs) *corev1ac.ContainerApplyConfiguration {
	installer := parts.Container("launcher", c.launcherImage, e.Spec.PodOptions).
		WithCommand("/"+launcher.ProgramFile, launcher.InstallCommand, launcher.ProgramDir).
		WithSecurityContext(parts.RestrictedContainer()).
		WithVolumeMounts(corev1ac.VolumeMount().WithName("program").WithMountPath(launcher.ProgramDir))
	if c.defaults == parts.FormerDefaults {
		return installer
	}
	return parts.WithResources(installer, parts.HelperResources())
}

// resources returns those of the spec. Where it names none, an idle member's are requested: how much memory one needs at most depends
// on its data and its clients, so a limit is the user's to set.
func resources(e *databasev1alpha1.EtcdCluster, d parts.Defaults) corev1.ResourceRequirements {
	if d == parts.FormerDefaults {
		return e.Spec.Resources
	}
	return parts.FillResources(e.Spec.Resources, parts.Resources("50m", "64Mi", "", ""))
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
		WithResources(parts.ToApplyConfig[corev1ac.ResourceRequirementsApplyConfiguration](resources(e, c.defaults))).
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
		return min(parts.Bytes(*asked), parts.Bytes(volume))
	case asked != nil:
		return parts.Bytes(*asked)
	case e.Spec.Storage != nil:
		return min(maxDefaultQuota, parts.Bytes(volume)/2)
	}
	return maxDefaultQuota
}
