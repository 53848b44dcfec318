package releases

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/mainstay-operator/mainstay-operator/test/cluster"
)

// resourcesSince is the last release whose pod templates are made with the former defaults.
const resourcesSince = "v0.2.0-rc.1"

// Defaults checks which objects get new defaults of a pod template, with those objects and workloads that 0.2.0-rc.1 is kept with.
// current reports whether an object gets the new ones, whose workload has the template live, and these pods; noPods says that it is
// known why there are none. change gives an object another pod template.
func Defaults[T any](t *testing.T, kind string, change func(*T),
	current func(obj *T, live corev1.PodTemplateSpec, pods []corev1.Pod, noPods bool) bool) {
	t.Helper()
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, kept, resourcesSince, "objects", strings.ToLower(kind)+"-*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no %s: %v", resourcesSince, kind, err)
	}
	running := []corev1.Pod{{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}}}}
	pending := []corev1.Pod{{Status: corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}}}}}}
	trimmed := []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"mainstay-operator.io/trimmed": "true"}}}}
	for _, file := range files {
		var workload struct {
			Spec struct{ Template corev1.PodTemplateSpec }
		}
		if err := readYAML(filepath.Join(root, kept, resourcesSince, "workloads", filepath.Base(file)), &workload); err != nil {
			t.Fatal(err)
		}
		ofPod := workload.Spec.Template.DeepCopy()
		ofPod.UID = "pod"
		ofPod.Spec.Tolerations = append(ofPod.Spec.Tolerations, corev1.Toleration{Key: "node.kubernetes.io/not-ready"})
		for _, c := range []struct {
			name    string
			changed bool
			live    corev1.PodTemplateSpec
			pods    []corev1.Pod
			noPods  bool
			want    bool
		}{
			{"an upgrade brings running pods no new defaults", false, workload.Spec.Template, running, false, false},
			{"an upgrade brings none while a workload is recreated around its pods", false, *ofPod, running, false, false},
			{"an upgrade brings none while the only pod is away for a moment", false, workload.Spec.Template, nil, false, false},
			{"a workload whose pods are refused, or that is scaled to 0, gets them", false, workload.Spec.Template, nil, true, true},
			{"a new object gets them", false, corev1.PodTemplateSpec{}, nil, false, true},
			{"pods that never ran get them", false, workload.Spec.Template, pending, false, true},
			{"a pod of which only a part is known may have run", false, workload.Spec.Template, trimmed, false, false},
			{"the user's next change of the template brings them", true, workload.Spec.Template, running, false, true},
		} {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml")+"/"+c.name, func(t *testing.T) {
				var obj T
				if err := readYAML(file, &obj); err != nil {
					t.Fatal(err)
				}
				if c.changed {
					change(&obj)
				}
				if got := current(&obj, c.live, c.pods, c.noPods); got != c.want {
					t.Errorf("it gets the new defaults: %t", got)
				}
			})
		}
	}
}

func readYAML(file string, into any) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return yaml.Unmarshal(content, into)
}

// Resources checks that each container of the pods that a kind's builder makes of the samples and richer objects has resources: CPU
// and memory are requested, or limited, which requests as much. With limits, both are limited, too.
func Resources[T any](t *testing.T, kind string, limits func(container string) bool, build func(*T) corev1.PodSpec) {
	t.Helper()
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, folder := range []string{"config/samples", "config/samples/backups", "test/releases/objects"} {
		files, err := filepath.Glob(filepath.Join(root, folder, "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			obj, err := ReadObject(file)
			if err != nil || obj.GetKind() != kind {
				continue // a kustomization, or of another kind
			}
			var typed T
			if err := readYAML(file, &typed); err != nil {
				t.Fatal(err)
			}
			pod := build(&typed)
			checked++
			for _, c := range append(pod.InitContainers, pod.Containers...) {
				if err := resourcesOf(c, limits(c.Name)); err != nil {
					t.Errorf("%s: %v", filepath.Base(file), err)
				}
			}
		}
	}
	if checked == 0 {
		t.Fatalf("there is no %s", kind)
	}
}

func resourcesOf(c corev1.Container, limits bool) error {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		_, requested := c.Resources.Requests[name]
		limit, limited := c.Resources.Limits[name]
		switch request := c.Resources.Requests[name]; {
		case !requested && !limited:
			return fmt.Errorf("container %s requests no %s", c.Name, name)
		case limits && !limited:
			return fmt.Errorf("container %s has no limit of %s", c.Name, name)
		case limited && request.Cmp(limit) > 0:
			return fmt.Errorf("container %s requests more %s than its limit", c.Name, name)
		}
	}
	return nil
}
