package controllers

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

func TestNamespaces(t *testing.T) {
	for watch, want := range map[string][]string{
		"":                nil, // as OLM writes it for AllNamespaces
		"shop":            {"shop"},
		"shop,bank":       {"bank", "shop"},
		" shop, bank, ,":  {"bank", "shop"},
		"shop,shop, shop": {"shop"},
	} {
		t.Setenv("WATCH_NAMESPACE", watch)
		got := CacheOptions(NamespacesFromEnv()).DefaultNamespaces
		if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, want) {
			t.Errorf("%q: %q", watch, names)
		}
		if len(want) == 0 && got != nil {
			t.Errorf("%q: an empty list is none, not all", watch)
		}
	}
}

// Of an object that somebody else made there is its identity, enough to refuse its name, and nothing more.
func TestForeignChildrenAreStripped(t *testing.T) {
	made := func(managedBy string) *corev1.Service {
		s := &corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: "10.96.0.9"}}
		s.Namespace, s.Name, s.UID, s.ResourceVersion = "ns", "a", "uid", "7"
		s.Labels = map[string]string{parts.LabelManagedBy: managedBy}
		s.OwnerReferences = []metav1.OwnerReference{{UID: "other"}, {UID: "owner", Controller: ptr.To(true)}}
		return s
	}
	if ours := stripped(t, made(parts.ManagedBy)); ours.Spec.ClusterIP == "" || len(ours.OwnerReferences) != 2 {
		t.Error("what is ours is stripped")
	}
	bare := &corev1.Service{}
	bare.Namespace, bare.Name, bare.UID, bare.ResourceVersion = "ns", "a", "uid", "7"
	bare.OwnerReferences = []metav1.OwnerReference{{UID: "owner", Controller: ptr.To(true)}}
	if got := stripped(t, made("Helm")); !equality.Semantic.DeepEqual(got, bare) {
		t.Errorf("got %+v", got)
	}
	gone := toolscache.DeletedFinalStateUnknown{Key: "ns/a"}
	if got := strip(gone); got != any(gone) {
		t.Errorf("got %+v", got)
	}
}

// A workload of ours that has lost the label is read live by its name: its template says what runs, and a template that is made
// from nothing replaces all pods.
func TestAChildThatHasLostItsLabelIsReadWhole(t *testing.T) {
	set := &appsv1.StatefulSet{}
	set.Namespace, set.Name, set.UID = "ns", "a", "uid"
	set.Labels = map[string]string{parts.LabelManagedBy: "Helm"}
	set.OwnerReferences = []metav1.OwnerReference{{APIVersion: "cache.mainstay-operator.io/v1alpha1", Kind: "Redis", Name: "a", UID: "owner",
		Controller: ptr.To(true)}}
	if got := stripped(t, set); !converge.IsTrimmed(got) {
		t.Errorf("nothing reads the rest of it: %+v", got)
	}
	set.OwnerReferences[0].APIVersion = "example.org/v1"
	if got := stripped(t, set); converge.IsTrimmed(got) {
		t.Errorf("it belongs to none of our objects, and is read live: %+v", got)
	}
}

// stripped returns the object as the cache keeps it.
func stripped[T client.Object](t *testing.T, obj T) T {
	t.Helper()
	once := strip(obj.DeepCopyObject())
	twice := strip(once.(client.Object).DeepCopyObject())
	if !equality.Semantic.DeepEqual(once, twice) {
		t.Errorf("stripped twice it is another: %+v", twice)
	}
	return once.(T)
}

// Of metadata there is what Converge reads, whatever wrote the rest of it.
func TestMetadataIsStripped(t *testing.T) {
	long := strings.Repeat("x", maxName+1)
	large := converge.SecretMetadata()
	large.Namespace, large.Name, large.UID, large.ResourceVersion = "ns", "a", "uid", "7"
	large.Labels = map[string]string{parts.LabelManagedBy: parts.ManagedBy}
	large.Annotations = map[string]string{converge.AppliedAnnotation: "hash", "note": long}
	large.Finalizers = []string{long}
	large.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: long}}
	large.OwnerReferences = []metav1.OwnerReference{{UID: "other"}, {UID: "owner", Name: "a", Controller: ptr.To(true)}}

	want := converge.SecretMetadata()
	want.Namespace, want.Name, want.UID, want.ResourceVersion = "ns", "a", "uid", "7"
	want.Annotations = map[string]string{converge.AppliedAnnotation: "hash"}
	want.OwnerReferences = []metav1.OwnerReference{{UID: "owner", Name: "a", Controller: ptr.To(true)}}
	if got := stripped(t, large); !equality.Semantic.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	for field, change := range map[string]func(*metav1.OwnerReference){
		"apiVersion": func(o *metav1.OwnerReference) { o.APIVersion = strings.Repeat("x", maxAPIVersion+1) },
		"kind":       func(o *metav1.OwnerReference) { o.Kind = long },
		"name":       func(o *metav1.OwnerReference) { o.Name = long },
		"uid":        func(o *metav1.OwnerReference) { o.UID = types.UID(long) },
	} {
		forged := large.DeepCopy()
		change(&forged.OwnerReferences[1])
		if got := stripped(t, forged); got.OwnerReferences != nil {
			t.Errorf("a reference with a long %s is kept", field)
		}
	}
}

// Whatever an object of each type holds, what is kept of it is bounded.
func TestWhatTheCacheKeepsOfAnObjectIsBounded(t *testing.T) {
	all := append(Children(), &corev1.Pod{}, &corev1.PersistentVolumeClaim{}, &appsv1.ReplicaSet{},
		&unstructured.Unstructured{Object: map[string]any{}})
	for _, empty := range all {
		t.Run(fmt.Sprintf("%T", empty), func(t *testing.T) {
			large := converge.AsCached(empty)
			large.SetName("a")
			large.SetLabels(map[string]string{parts.LabelManagedBy: parts.ManagedBy, parts.LabelName: "redis", parts.LabelInstance: "a"})
			large.SetFinalizers([]string{ownPrefix + strings.Repeat("x", 1<<20)})
			large.SetOwnerReferences([]metav1.OwnerReference{{UID: "owner", Controller: ptr.To(true)}})
			large.SetAnnotations(map[string]string{ownPrefix + "a": strings.Repeat("x", 1<<20), converge.AppliedAnnotation: "hash"})
			got := stripped(t, large)
			if size := encodedSize(got); size > 1<<10 {
				t.Errorf("%d bytes are kept", size)
			}
			if _, bare := got.(*metav1.PartialObjectMetadata); !bare && (!converge.IsTrimmed(got) || got.GetLabels()[parts.LabelInstance] != "a") {
				t.Errorf("it does not show that it is trimmed, or whose it is: %v", got)
			}
			if !metav1.IsControlledBy(got, &metav1.ObjectMeta{UID: "owner"}) || got.GetAnnotations()[converge.AppliedAnnotation] != "hash" {
				t.Error("what Converge needs is gone")
			}
		})
	}
}

// A field of a pod that comes to be read must come to be kept: this lists those that are.
func TestWhatTheCacheKeepsOfAPod(t *testing.T) {
	pod := &corev1.Pod{}
	fill(reflect.ValueOf(&pod.Spec).Elem(), 4)
	fill(reflect.ValueOf(&pod.Status).Elem(), 4)
	pod.GenerateName = "a-"
	pod.Labels = map[string]string{parts.LabelManagedBy: parts.ManagedBy}
	pod.Annotations = map[string]string{ownPrefix + "started": "1", parts.AnnotationRestartedAt: "now", "example.org/note": "long"}
	pod.Status.PodIP = "10.0.0.1"
	const quota = "--quota-backend-bytes=2147483648"
	pod.Spec.Containers[0].Args = []string{"--name=a-0", quota, "--quota-backend-bytes=" + strings.Repeat("9", maxText)}
	got := stripped(t, pod)
	if args := got.Spec.Containers[0].Args; !slices.Equal(args, []string{quota}) {
		t.Errorf("arguments: %q", args)
	}
	got.Spec.Containers[0].Args = nil
	if want := (map[string]string{ownPrefix + "started": "1", parts.AnnotationRestartedAt: "now"}); !maps.Equal(got.Annotations, want) {
		t.Errorf("annotations: %v", got.Annotations)
	}
	if got.GenerateName != "" {
		t.Error("the prefix of the name is kept")
	}
	if have, want := setFields(got.Status), []string{"Conditions", "ContainerStatuses", "EphemeralContainerStatuses", "HostIP",
		"InitContainerStatuses", "Message", "ObservedGeneration", "Phase", "PodIP", "PodIPs", "QOSClass", "Reason",
		"StartTime"}; !slices.Equal(have, want) {
		t.Errorf("of the status: %q", have)
	}
	for _, c := range slices.Concat(got.Status.ContainerStatuses, got.Status.InitContainerStatuses, got.Status.EphemeralContainerStatuses) {
		if have, want := setFields(c), []string{"ContainerID", "Image", "ImageID", "LastTerminationState", "Name", "Ready", "RestartCount",
			"Started", "State"}; !slices.Equal(have, want) {
			t.Errorf("of the status of a container: %q", have)
		}
	}
	if have, want := setFields(got.Spec), []string{"ActiveDeadlineSeconds", "Containers", "InitContainers", "NodeName",
		"SchedulingGates"}; !slices.Equal(have, want) {
		t.Errorf("of the spec: %q", have)
	}
	for _, c := range slices.Concat(got.Spec.Containers, got.Spec.InitContainers) {
		if have, want := setFields(c), []string{"Image", "Name", "Ports", "ReadinessProbe", "Resources", "RestartPolicy", "StartupProbe",
			"TerminationMessagePolicy"}; !slices.Equal(have, want) {
			t.Errorf("of a container: %q", have)
		}
	}
}

// A pod that is too large keeps what decides over its data: without its revision, its finalizer and what its containers did it would
// look like one that is outdated and never ran, and be replaced.
func TestAPodThatIsTooLargeKeepsWhatDecidesOverIt(t *testing.T) {
	small := func() *corev1.Pod {
		pod := &corev1.Pod{}
		pod.Namespace, pod.Name, pod.UID, pod.ResourceVersion = "ns", "a-0", "uid", "7"
		pod.CreationTimestamp = metav1.Unix(1, 0)
		pod.Labels = map[string]string{parts.LabelManagedBy: parts.ManagedBy, parts.LabelName: "redis", parts.LabelInstance: "a",
			appsv1.ControllerRevisionHashLabelKey: "revision", ownPrefix + "role": "master"}
		pod.Finalizers = []string{ownPrefix + "activity"}
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "a", UID: "owner",
			Controller: ptr.To(true)}}
		pod.Annotations = map[string]string{ownPrefix + "permit": "1 2 3"}
		pod.Spec = corev1.PodSpec{NodeName: "node", SchedulingGates: []corev1.PodSchedulingGate{{Name: ownPrefix + "gate"}},
			InitContainers: []corev1.Container{{Name: "init", Image: "init:1"}},
			Containers: []corev1.Container{{Name: "redis", Image: "redis:1", Args: []string{etcd.KeptArgument + "1"},
				Ports: []corev1.ContainerPort{{Name: "redis", ContainerPort: 6379}}}}}
		pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1", HostIP: "10.0.0.9", Reason: "Evicted",
			PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}, {IP: "fd00::1"}},
			Conditions: []corev1.PodCondition{{Type: corev1.PodConditionType(ownPrefix + "in-sync"), Status: corev1.ConditionTrue},
				{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			InitContainerStatuses: []corev1.ContainerStatus{{Name: "init",
				State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3}}}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "redis", RestartCount: 2, ContainerID: "id", State: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{ExitCode: 7, Message: "the end"}}}}}
		return pod
	}
	want := stripped(t, small())
	want.Annotations[converge.TrimmedAnnotation] = "true"
	for name, inflate := range map[string]func(*corev1.Pod){
		"an annotation of ours": func(p *corev1.Pod) { p.Annotations[ownPrefix+"note"] = strings.Repeat("x", 1<<20) },
		"labels":                func(p *corev1.Pod) { p.Labels["x"] = strings.Repeat("x", 1<<20) },
		"finalizers":            func(p *corev1.Pod) { p.Finalizers = append(p.Finalizers, strings.Repeat("x", 1<<20)) },
		"owners": func(p *corev1.Pod) {
			p.OwnerReferences = append(p.OwnerReferences, make([]metav1.OwnerReference, 10000)...)
		},
		"conditions of others": func(p *corev1.Pod) {
			foreign := slices.Repeat([]corev1.PodCondition{{Type: "example.org/a", Message: strings.Repeat("x", 100)}}, 1000)
			p.Status.Conditions = append(foreign, p.Status.Conditions...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := small()
			inflate(pod)
			got := stripped(t, pod)
			if size := encodedSize(got); size > maxKept {
				t.Errorf("%d bytes are kept", size)
			}
			got.Status.Conditions = slices.DeleteFunc(got.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == "example.org/a" })
			if !equality.Semantic.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

// Whatever others write into each part of a pod, what is kept is bounded, and the end of a message is.
func TestWhatIsKeptOfAPodIsBounded(t *testing.T) {
	pod := &corev1.Pod{}
	long := strings.Repeat("x", 10<<10)
	fillLong(reflect.ValueOf(pod).Elem(), 9, long)
	pod.Labels = map[string]string{parts.LabelManagedBy: parts.ManagedBy}
	pod.Annotations = map[string]string{}
	for i := range 100 {
		pod.Annotations[fmt.Sprint(ownPrefix, i)] = strings.Repeat("x", 500)
		pod.Finalizers = append(pod.Finalizers, fmt.Sprint(ownPrefix, strings.Repeat("x", 200), i))
	}
	for i := range pod.Spec.Containers { // the API server bounds names
		pod.Spec.Containers[i].Name, pod.Status.ContainerStatuses[i].Name = fmt.Sprint("c", i), fmt.Sprint("c", i)
		pod.Spec.InitContainers[i].Name, pod.Status.InitContainerStatuses[i].Name = fmt.Sprint("i", i), fmt.Sprint("i", i)
	}
	pod.Spec.NodeName, pod.Namespace, pod.Name, pod.UID, pod.ResourceVersion, pod.OwnerReferences = "node", "ns", "a", "uid", "7", nil
	pod.TypeMeta, pod.Status.Phase, pod.Status.QOSClass = metav1.TypeMeta{}, corev1.PodRunning, corev1.PodQOSBurstable
	for i := range pod.Status.Conditions {
		pod.Status.Conditions[i].Status = corev1.ConditionTrue
	}
	pod.Spec.SchedulingGates = slices.Repeat([]corev1.PodSchedulingGate{{Name: strings.Repeat("x", 300)}}, 1000)
	first := pod.Status.InitContainerStatuses[0].State.Waiting
	first.Message = long + "the end"
	for _, all := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range all {
			all[i].RestartPolicy, all[i].TerminationMessagePolicy = nil, "File" // the API server knows all values of these
			all[i].Ports = slices.Repeat([]corev1.ContainerPort{{Name: "p", Protocol: "TCP"}}, 1000)
		}
	}
	got := stripped(t, pod)
	if size := encodedSize(got); size > 2*maxKept { // a container of this one is waiting, running and terminated at once
		t.Errorf("%d bytes are kept", size)
	}
	if !strings.HasSuffix(got.Status.InitContainerStatuses[0].State.Waiting.Message, "the end") {
		t.Error("the end of the first message is gone")
	}
}

// fillLong sets every text to a long one, and gives every list many items.
func fillLong(v reflect.Value, depth int, long string) {
	switch {
	case !v.CanSet() || depth == 0:
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillLong(v.Elem(), depth, long)
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
		const many = 12
		v.Set(reflect.MakeSlice(v.Type(), many, many))
		for i := range many {
			fillLong(v.Index(i), depth-1, long)
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fillLong(v.Field(i), depth-1, long)
		}
	case v.Kind() == reflect.String:
		v.SetString(long)
	}
}

// fill sets every field, down to a depth.
func fill(v reflect.Value, depth int) {
	switch {
	case !v.CanSet() || depth == 0:
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth)
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth)
	case v.Kind() == reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), depth-1)
		}
	case v.Kind() == reflect.String:
		v.SetString("x")
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(1)
	}
}

// setFields are the names of the struct's fields that are not zero, sorted.
func setFields(of any) []string {
	var names []string
	v := reflect.ValueOf(of)
	for i := range v.NumField() {
		if !v.Field(i).IsZero() {
			names = append(names, v.Type().Field(i).Name)
		}
	}
	slices.Sort(names)
	return names
}

// A type of child that a kind comes to make is watched like the others.
func TestTheCacheKnowsEveryTypeOfChild(t *testing.T) {
	known := map[string]bool{}
	for object := range CacheOptions(nil).ByObject {
		known[fmt.Sprintf("%T", object)] = true
	}
	for _, child := range Children() {
		if !known[fmt.Sprintf("%T", child)] {
			t.Errorf("objects of type %T are not watched before this process leads", child)
		}
	}
}
