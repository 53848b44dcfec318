package children

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

func diskLimits(size string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse(size)}}
}

// New pods without storage have a quota that their limit has room for, a log that ends, and a volume that the node can bear. Pods that an
// earlier release has made keep what they have.
func TestOnlyNewPodsHaveABoundOnTheNode(t *testing.T) {
	bounded := builders.EtcdCluster("a").With(func(s *databasev1alpha1.EtcdClusterSpec) { s.Resources = diskLimits("1Gi") })
	for _, c := range []struct {
		name      string
		e         *databasev1alpha1.EtcdCluster
		defaults  parts.Defaults
		sizeLimit string // "" for none
		arguments []string
	}{
		{"new pods", builders.EtcdCluster("a").Build(), parts.CurrentDefaults, "8Gi",
			[]string{"--quota-backend-bytes=2147483648", "--snapshot-count=1000"}},
		{"new pods with a limit", bounded.Build(), parts.CurrentDefaults, "4674308Ki",
			[]string{"--quota-backend-bytes=245762048", "--snapshot-count=1000"}},
		{"pods of an earlier release", bounded.Build(), parts.FormerDefaults, "", []string{"--quota-backend-bytes=2147483648"}},
		{"pods with a volume", builders.EtcdCluster("a").Storage("1Gi").Build(), parts.CurrentDefaults, "",
			[]string{"--quota-backend-bytes=536870912"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := inputsOf(c.e)
			in.Defaults = c.defaults
			template := parts.ToApplyConfig[corev1.PodTemplateSpec](statefulSet(in).Spec.Template)
			got := slices.DeleteFunc(slices.Clone(template.Spec.Containers[0].Args), func(a string) bool {
				return !strings.HasPrefix(a, "--quota-") && !strings.HasPrefix(a, "--snapshot-")
			})
			if !slices.Equal(got, c.arguments) {
				t.Errorf("got %q", got)
			}
			limit := ""
			for _, v := range template.Spec.Volumes {
				if v.Name == "data" && v.EmptyDir != nil && v.EmptyDir.SizeLimit != nil {
					limit = v.EmptyDir.SizeLimit.String()
				}
			}
			if limit != c.sizeLimit {
				t.Errorf("the volume has the limit %q", limit)
			}
		})
	}
}

// While the spec has no room for its quota, a pod that is recreated for another reason must hold the data of the others.
func TestARefusedQuotaChangesNoPod(t *testing.T) {
	former := inputsOf(builders.EtcdCluster("a").With(func(s *databasev1alpha1.EtcdClusterSpec) { s.Resources = diskLimits("1Gi") }).Build())
	for name, change := range map[string]func(*databasev1alpha1.EtcdClusterSpec){
		"a limit without room for any": func(s *databasev1alpha1.EtcdClusterSpec) { s.Resources = diskLimits("500Mi") },
		"a quota above the limit": func(s *databasev1alpha1.EtcdClusterSpec) {
			s.Resources, s.Quota = diskLimits("1Gi"), ptr.To(resource.MustParse("2Gi"))
		},
	} {
		for _, d := range []parts.Defaults{parts.FormerDefaults, parts.CurrentDefaults} {
			former.Defaults = d
			in := former
			in.Cluster = builders.EtcdCluster("a").With(change).Build()
			set := parts.ToApplyConfig[appsv1.StatefulSet](statefulSet(former))
			in.Spec = config.Resolve(in.Cluster, set, nil)
			got := parts.ToApplyConfig[appsv1.StatefulSet](statefulSet(KeepRoom(in, set)))
			if in.Spec.QuotaError == "" || !equality.Semantic.DeepEqual(got.Spec.Template, set.Spec.Template) {
				t.Errorf("%s: %q changes\n%v to\n%v", name, in.Spec.QuotaError, set.Spec.Template, got.Spec.Template)
			}
		}
	}
}

func TestWhatAPodMayHaveOnItsNode(t *testing.T) {
	container := func(limit string) corev1.Container {
		if limit == "" {
			return corev1.Container{}
		}
		return corev1.Container{Resources: diskLimits(limit)}
	}
	const besides = 128 << 20
	for _, c := range []struct {
		name       string
		init       string
		containers []string
		want       int64
	}{
		{"no limit", "", []string{"", ""}, 0},
		{"the only container", "", []string{"1Gi"}, 1<<30 - besides},
		{"limits are summed", "", []string{"1Gi", "1Gi"}, 2<<30 - besides},
		{"a container without a limit adds none", "", []string{"1Gi", ""}, 1<<30 - besides},
		{"an init container with a larger limit", "4Gi", []string{"1Gi", "1Gi"}, 4<<30 - besides},
		{"an init container with a smaller limit", "1Mi", []string{"1Gi"}, 1<<30 - besides},
		{"a limit of nothing", "", []string{"0"}, 1},
		{"limits that no sum can hold", "", []string{"1e999", "1e999", "1e999"}, 1<<60 - besides},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{InitContainers: []corev1.Container{container(c.init)}}}
			for _, limit := range c.containers {
				pod.Spec.Containers = append(pod.Spec.Containers, container(limit))
			}
			if got := DiskOfPod(pod); got != c.want {
				t.Errorf("got %d", got)
			}
		})
	}
}
