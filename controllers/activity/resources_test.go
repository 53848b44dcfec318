package activity

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once"
)

// podSpecCases are specs, each with a check of the pod that it must lead to.
type podSpecCases map[string]struct {
	spec egov1.ActivitySpec
	is   func(p *corev1.Pod, c corev1.Container) bool
}

func TestDesired(t *testing.T) {
	podSpecCases{
		"born behind the gate": {is: func(p *corev1.Pod, _ corev1.Container) bool {
			return once.IsGated(p) && hasFinalizer(p) && p.Name == "once-abcdef-1" && p.Spec.RestartPolicy == corev1.RestartPolicyNever
		}},
		"a shell line": {spec: egov1.ActivitySpec{Command: "echo $$ $(X)"}, is: func(_ *corev1.Pod, c corev1.Container) bool {
			return slices.Equal(c.Args, []string{"/bin/sh", "-c", "echo $$$$ $$(X)"}) // the kubelet halves them
		}},
		"no shell": {spec: egov1.ActivitySpec{Command: "echo", Args: []string{"$X", "a b"}}, is: func(_ *corev1.Pod, c corev1.Container) bool {
			return slices.Equal(c.Args, []string{"echo", "$$X", "a b"})
		}},
		"restricted by default": {is: func(p *corev1.Pod, c corev1.Container) bool {
			return *p.Spec.SecurityContext.RunAsUser == 65532 && *p.Spec.SecurityContext.RunAsNonRoot &&
				*c.SecurityContext.ReadOnlyRootFilesystem && mounts(c) == "/run/mainstay /tmp"
		}},
		"baseline is the image's user": {spec: egov1.ActivitySpec{Security: commonv1.SecurityBaseline},
			is: func(p *corev1.Pod, c corev1.Container) bool {
				return p.Spec.SecurityContext.RunAsUser == nil && c.SecurityContext.ReadOnlyRootFilesystem == nil && mounts(c) == "/run/mainstay"
			}},
		"baseline root": {spec: egov1.ActivitySpec{Security: commonv1.SecurityBaseline, ExecUser: "root"}, is: runsAs(0, 0)},
		"nobody":        {spec: egov1.ActivitySpec{ExecUser: "nobody"}, is: runsAs(65534, 65534)},
		"uid":           {spec: egov1.ActivitySpec{ExecUser: "1000"}, is: runsAs(1000, 1000)},
		"uid:gid":       {spec: egov1.ActivitySpec{ExecUser: "1000:0"}, is: runsAs(1000, 0)},
		"execcwd": {spec: egov1.ActivitySpec{ExecCwd: "/srv"},
			is: func(_ *corev1.Pod, c corev1.Container) bool { return c.WorkingDir == "/srv" }},
		"image": {is: func(_ *corev1.Pod, c corev1.Container) bool { return c.Image == "busybox" }},
		"timeout": {spec: egov1.ActivitySpec{Timeout: &metav1.Duration{Duration: 90 * time.Second}},
			is: func(p *corev1.Pod, _ corev1.Container) bool { return *p.Spec.ActiveDeadlineSeconds == 90 }},
		"envs as written": {spec: egov1.ActivitySpec{Envs: []string{"A=b=c", "E=", "D=$(A)"}}, is: func(_ *corev1.Pod, c corev1.Container) bool {
			return reflect.DeepEqual(c.Env, []corev1.EnvVar{{Name: "A", Value: "b=c"}, {Name: "E"}, {Name: "D", Value: "$$(A)"}})
		}},
		"our labels win": {spec: egov1.ActivitySpec{PodOptions: commonv1.PodOptions{PodLabels: map[string]string{"app.kubernetes.io/name": "x",
			"a": "b"}}},
			is: func(p *corev1.Pod, _ corev1.Container) bool {
				return p.Labels["app.kubernetes.io/name"] == appName && p.Labels["a"] == "b"
			}},
		"grace": {spec: egov1.ActivitySpec{PodOptions: commonv1.PodOptions{TerminationGracePeriodSeconds: ptr.To[int64](7)}},
			is: func(p *corev1.Pod, _ corev1.Container) bool { return *p.Spec.TerminationGracePeriodSeconds == 7 }},
	}.check(t)
}

func TestDesiredVolumes(t *testing.T) {
	podSpecCases{
		"envs from elsewhere": {spec: egov1.ActivitySpec{EnvFrom: []corev1.EnvFromSource{{Prefix: "P_", SecretRef: &corev1.SecretEnvSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Optional: ptr.To(true)}}}},
			is: func(_ *corev1.Pod, c corev1.Container) bool {
				return len(c.EnvFrom) == 1 && c.EnvFrom[0].Prefix == "P_" && c.EnvFrom[0].SecretRef.Name == "s" && *c.EnvFrom[0].SecretRef.Optional
			}},
		"no workspace": {is: func(p *corev1.Pod, c corev1.Container) bool { return c.WorkingDir == "" && len(p.Spec.Volumes) == 2 }},
		"a claim's workspace": {spec: egov1.ActivitySpec{Workspace: egov1.Workspace{ClaimName: "c"}},
			is: func(p *corev1.Pod, c corev1.Container) bool {
				return mounts(c) == "/run/mainstay /tmp /workspace" && c.WorkingDir == "/workspace" &&
					p.Spec.Volumes[2].PersistentVolumeClaim.ClaimName == "c"
			}},
		"an empty workspace, elsewhere": {spec: egov1.ActivitySpec{Workspace: egov1.Workspace{Size: ptr.To(resource.MustParse("1Gi")),
			Path: "/srv"}},
			is: func(p *corev1.Pod, c corev1.Container) bool {
				return mounts(c) == "/run/mainstay /tmp /srv" && c.WorkingDir == "/srv" && p.Spec.Volumes[2].EmptyDir.SizeLimit.String() == "1Gi"
			}},
		"a workspace at /tmp": {spec: egov1.ActivitySpec{Workspace: egov1.Workspace{ClaimName: "c", Path: "/tmp"}},
			is: func(p *corev1.Pod, c corev1.Container) bool {
				return mounts(c) == "/run/mainstay /tmp" && len(p.Spec.Volumes) == 2
			}},
		"within the workspace": {spec: egov1.ActivitySpec{Workspace: egov1.Workspace{ClaimName: "c"}, ExecCwd: "/workspace/sub"},
			is: func(_ *corev1.Pod, c corev1.Container) bool { return c.WorkingDir == "/workspace/sub" }},
		"the user owns the workspace": {spec: egov1.ActivitySpec{Security: commonv1.SecurityBaseline, ExecUser: "1000:2000",
			Workspace: egov1.Workspace{ClaimName: "c"}},
			is: func(p *corev1.Pod, _ corev1.Container) bool { return *p.Spec.SecurityContext.FSGroup == 2000 }},
		"only that": {spec: egov1.ActivitySpec{Security: commonv1.SecurityBaseline, ExecUser: "1000:2000"},
			is: func(p *corev1.Pod, _ corev1.Container) bool { return p.Spec.SecurityContext.FSGroup == nil }},
	}.check(t)
}

func (p podSpecCases) check(t *testing.T) {
	t.Helper()
	for name, c := range p {
		t.Run(name, func(t *testing.T) {
			a := activityWith(c.spec, pendingAttempt)
			pod := desiredPod(a, *currentAttempt(a))
			if !c.is(pod, pod.Spec.Containers[0]) {
				t.Errorf("got %+v", pod)
			}
			if second := desiredPod(a, *currentAttempt(a)); !reflect.DeepEqual(pod, second) {
				t.Error("the same input gave another pod")
			}
		})
	}
}

// TestAsksForNoMoreThanAPod checks that an Activity asks for no more than a pod of its creator could: nothing
// of the node, no rights at the API server, and of the namespace what the creator names.
func TestAsksForNoMoreThanAPod(t *testing.T) {
	for _, level := range []commonv1.SecurityProfile{commonv1.SecurityBaseline, commonv1.SecurityRestricted} {
		p := desiredPod(activityWith(egov1.ActivitySpec{
			Security: level, ExecUser: "1000", EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{}}},
			Workspace: egov1.Workspace{ClaimName: "c"}, Host: "node-1",
		}, pendingAttempt), pendingAttempt)
		s := p.Spec
		if s.HostNetwork || s.HostPID || s.HostIPC || s.NodeName != "" || s.ServiceAccountName != "" || *s.AutomountServiceAccountToken {
			t.Errorf("%s: %+v", level, s)
		}
		if c := s.Containers[0].SecurityContext; *c.AllowPrivilegeEscalation || c.Privileged != nil || s.SecurityContext.SeccompProfile == nil {
			t.Errorf("%s: %+v, %+v", level, c, s.SecurityContext)
		}
		for _, v := range s.Volumes {
			if v.EmptyDir == nil && (v.PersistentVolumeClaim == nil || v.PersistentVolumeClaim.ClaimName != "c") {
				t.Errorf("%s: %+v", level, v)
			}
		}
	}
}

func runsAs(uid, gid int64) func(*corev1.Pod, corev1.Container) bool {
	return func(p *corev1.Pod, _ corev1.Container) bool {
		return *p.Spec.SecurityContext.RunAsUser == uid && *p.Spec.SecurityContext.RunAsGroup == gid
	}
}

func mounts(c corev1.Container) string {
	var paths []string
	for _, m := range c.VolumeMounts {
		paths = append(paths, m.MountPath)
	}
	return strings.Join(paths, " ")
}

// TestPinToNode checks that the host is in each of the user's terms, and that the user's own value is unchanged.
func TestPinToNode(t *testing.T) {
	zone := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpExists}}}
	chosen := &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{zone, zone}},
	}}
	for name, affinity := range map[string]*corev1.Affinity{"none": nil, "pods only": {PodAffinity: &corev1.PodAffinity{}},
		"two terms": chosen} {
		t.Run(name, func(t *testing.T) {
			terms := pinToNode(affinity, "node-1").NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
			for _, term := range terms {
				if len(term.MatchFields) != 1 || term.MatchFields[0].Values[0] != "node-1" {
					t.Errorf("a way out: %+v", term)
				}
			}
			if len(terms) == 0 {
				t.Error("not pinned")
			}
		})
	}
	if chosen.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields != nil {
		t.Error("the user's affinity was changed")
	}
}
