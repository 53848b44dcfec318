package controllers

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kuberuntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	toolscachetesting "k8s.io/client-go/tools/cache/testing"
	"k8s.io/utils/lru"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// Nothing is lost of what the cache keeps, whatever its type, and each reader has a copy of his own.
func TestAPackedObjectIsTheSameAgain(t *testing.T) {
	for _, empty := range append(Children(), &corev1.Pod{}, &corev1.PersistentVolumeClaim{}, &appsv1.ReplicaSet{}) {
		t.Run(fmt.Sprintf("%T", empty), func(t *testing.T) {
			obj := converge.AsCached(empty)
			fill(reflect.ValueOf(obj).Elem(), 7)
			obj.SetLabels(map[string]string{parts.LabelManagedBy: parts.ManagedBy, parts.LabelInstance: "a"})
			obj.SetAnnotations(map[string]string{converge.AppliedAnnotation: "hash"})
			clearTemplateKinds(obj)
			want := stripped(t, obj)
			kept, err := newPacker().pack(obj)
			if err != nil {
				t.Fatal(err)
			}
			if _, is := kept.(*packed); !is {
				t.Fatalf("%T is not packed", kept)
			}
			got := unpack(kept).(client.Object)
			got.GetObjectKind().SetGroupVersionKind(want.GetObjectKind().GroupVersionKind()) // the cache's reader does
			if !equality.Semantic.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
			got.GetAnnotations()[converge.AppliedAnnotation] = "other"
			if again := unpack(kept).(client.Object); again.GetAnnotations()[converge.AppliedAnnotation] != "hash" {
				t.Error("readers share an object")
			}
			shown, err := meta.Accessor(kept)
			if err != nil || shown.GetName() != want.GetName() || !equality.Semantic.DeepEqual(shown.GetLabels(), want.GetLabels()) {
				t.Errorf("its metadata: %+v, %v", shown, err)
			}
		})
	}
}

// What an API server returned is packed without a loss, and kubectl's copy of the spec is not kept.
func TestARecordedObjectIsTheSameAgain(t *testing.T) {
	scheme := kuberuntime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	packer := newPacker()
	for _, kind := range []string{"Memcached", "EasyService", "Redis"} {
		for _, object := range recorded(t, kind) {
			t.Run(kind+"/"+object.GetKind()+"/"+object.GetName(), func(t *testing.T) {
				obj := typed(t, scheme, object)
				clearTemplateKinds(obj)
				kept, err := packer.pack(obj.DeepCopyObject())
				if err != nil {
					t.Fatal(err)
				}
				if _, is := kept.(*packed); is == isOwnKind(obj) {
					t.Fatalf("it is kept as %T", kept)
				}
				want := stripped(t, obj)
				want.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) // the cache's reader sets it
				got := unpack(kept).(client.Object)
				got.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
				if !equality.Semantic.DeepEqual(got, want) {
					t.Errorf("got  %+v\nwant %+v", got, want)
				}
				if _, has := got.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; has {
					t.Error("kubectl's copy of the spec is kept")
				}
			})
		}
	}
}

// clearTemplateKinds removes what an object has in JSON only: the manager's client reads protobuf, which has no kinds inside.
func clearTemplateKinds(obj client.Object) {
	set, is := obj.(*appsv1.StatefulSet)
	if !is {
		return
	}
	for i := range set.Spec.VolumeClaimTemplates {
		set.Spec.VolumeClaimTemplates[i].TypeMeta = metav1.TypeMeta{}
	}
}

// recorded returns what an API server returned for one object of the kind: testdata/README.md.
func recorded(t testing.TB, kind string) []*unstructured.Unstructured {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", strings.ToLower(kind)+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Items []*unstructured.Unstructured }
	if err := json.Unmarshal(content, &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// typed returns the recorded object as its Go type.
func typed(t testing.TB, scheme *kuberuntime.Scheme, object *unstructured.Unstructured) client.Object {
	t.Helper()
	obj, err := scheme.New(object.GroupVersionKind())
	if err != nil {
		t.Fatal(err)
	}
	if err := kuberuntime.DefaultUnstructuredConverter.FromUnstructured(object.Object, obj); err != nil {
		t.Fatal(err)
	}
	return obj.(client.Object)
}

// A user who labels objects as of many applications does not fill the memory with dictionaries.
func TestDictionariesAreBounded(t *testing.T) {
	packer := newPacker()
	for _, name := range []string{"redis", "app-1", "app-2", "memcached", "etcd", "", "app-3"} {
		pod := &corev1.Pod{}
		pod.Name, pod.Labels = "a", map[string]string{parts.LabelManagedBy: parts.ManagedBy, parts.LabelName: name}
		kept, err := packer.pack(pod.DeepCopy())
		if got := unpack(kept); err != nil || !equality.Semantic.DeepEqual(got, pod) {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	if len(packer.dictionaries) != 4 {
		t.Errorf("there are %d dictionaries, want those of redis, memcached, etcd, and of all others", len(packer.dictionaries))
	}
}

// Whatever comes first, and becomes the dictionary, those that follow are the same again and take at most what their protobuf takes.
func TestAForeignDictionaryDoesNoHarm(t *testing.T) {
	scheme := kuberuntime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	packer := newPacker()
	first := &corev1.Pod{}
	first.Name, first.Labels = "a", map[string]string{parts.LabelManagedBy: parts.ManagedBy, parts.LabelName: "redis"}
	for i := range 300 { // which nothing has in common with
		first.Status.Message += fmt.Sprintf("%x", sha256.Sum256([]byte{byte(i), byte(i >> 8)}))
	}
	if _, err := packer.pack(first); err != nil {
		t.Fatal(err)
	}
	for _, object := range recorded(t, "Redis") {
		if object.GetKind() != "Pod" {
			continue
		}
		pod := typed(t, scheme, object).(*corev1.Pod)
		want := stripped(t, pod)
		kept, err := packer.pack(pod)
		if err != nil {
			t.Fatal(err)
		}
		if got := unpack(kept).(*corev1.Pod); !equality.Semantic.DeepEqual(got.Status, want.Status) {
			t.Errorf("got  %+v\nwant %+v", got.Status, want.Status)
		}
		if size := len(kept.(*packed).compressed); size > want.Size() {
			t.Errorf("%s takes %d bytes, its protobuf %d", pod.Name, size, want.Size())
		}
	}
}

// Values that an API server never returns are the same again, or kept as they are.
func TestOddValuesAreTheSameAgain(t *testing.T) {
	for name, odd := range map[string]func(*corev1.Pod){
		"no UTF-8":                  func(p *corev1.Pod) { p.Status.Message = "\xff\xfe" + strings.Repeat("\x00", 100) },
		"a time before all":         func(p *corev1.Pod) { p.CreationTimestamp = metav1.Unix(-1<<40, 0) },
		"a time after all":          func(p *corev1.Pod) { p.CreationTimestamp = metav1.Unix(1<<40, 0) },
		"a name that is very long":  func(p *corev1.Pod) { p.Name = strings.Repeat("a", 1<<16) },
		"empty maps and no content": func(p *corev1.Pod) { p.Annotations = map[string]string{} },
		"a quantity beyond int64": func(p *corev1.Pod) {
			p.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
				Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("123456789012345678901234567890")}}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{}
			pod.Name, pod.Labels = "a", map[string]string{parts.LabelManagedBy: parts.ManagedBy}
			odd(pod)
			want := stripped(t, pod)
			kept, err := newPacker().pack(pod)
			if err != nil {
				t.Fatal(err)
			}
			if got := unpack(kept); !equality.Semantic.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

// Indexes and event handlers get the objects themselves.
func TestIndexesAndHandlersGetWhatWasPacked(t *testing.T) {
	source := toolscachetesting.NewFakeControllerSource()
	packer := newPacker()
	informer := packer.newInformer(source, &corev1.Pod{}, 0, toolscache.Indexers{})
	if err := informer.SetTransform(packer.pack); err != nil {
		t.Fatal(err)
	}
	err := informer.AddIndexers(toolscache.Indexers{"owner": func(obj any) ([]string, error) {
		uid := string(obj.(*corev1.Pod).OwnerReferences[0].UID)
		return []string{uid}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	events := make(chan string, 10)
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { events <- "added " + obj.(*corev1.Pod).Status.PodIP },
		UpdateFunc: func(last, next any) {
			events <- "changed " + last.(*corev1.Pod).Status.PodIP + " " + next.(*corev1.Pod).Status.PodIP
		},
		DeleteFunc: func(obj any) { events <- "deleted " + obj.(*corev1.Pod).Status.PodIP },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go informer.RunWithContext(ctx)
	expect := func(want string) {
		t.Helper()
		select {
		case got := <-events:
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		case <-ctx.Done():
			t.Fatalf("no event; want %q", want)
		}
	}
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name, pod.Labels = "ns", "a-0", map[string]string{parts.LabelManagedBy: parts.ManagedBy}
	pod.OwnerReferences = []metav1.OwnerReference{{UID: "owner", Controller: ptr.To(true)}}
	pod.Status.PodIP = "10.0.0.1"
	source.Add(pod)
	expect("added 10.0.0.1")
	if values := informer.GetIndexer().ListIndexFuncValues("owner"); len(values) != 1 || values[0] != "owner" {
		t.Errorf("the index has %q", values)
	}
	pod = pod.DeepCopy()
	pod.Status.PodIP = "10.0.0.2"
	source.Modify(pod)
	expect("changed 10.0.0.1 10.0.0.2")
	source.Delete(pod)
	expect("deleted 10.0.0.2")
}

// A deletion that was missed shows the last state.
func TestAMissedDeletionShowsWhatWasPacked(t *testing.T) {
	pod := &corev1.Pod{}
	pod.Name, pod.Labels = "a-0", map[string]string{parts.LabelManagedBy: parts.ManagedBy}
	kept, err := newPacker().pack(pod)
	if err != nil {
		t.Fatal(err)
	}
	informer := unpackingInformer{decoded: lru.New(1)}
	tombstone := toolscache.DeletedFinalStateUnknown{Key: "ns/a-0", Obj: kept}
	shown := informer.unpackTombstone(tombstone).(toolscache.DeletedFinalStateUnknown)
	if pod, is := shown.Obj.(*corev1.Pod); !is || pod.Name != "a-0" || shown.Key != tombstone.Key {
		t.Errorf("got %+v", shown)
	}
}

// What a read of a pod from the cache costs, next to the copy that controller-runtime makes of an object that is not packed.
func BenchmarkReadingAPod(b *testing.B) {
	scheme := kuberuntime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		b.Fatal(err)
	}
	for _, object := range recorded(b, "Redis") {
		if object.GetKind() != "Pod" {
			continue
		}
		packed, err := newPacker().pack(typed(b, scheme, object))
		if err != nil {
			b.Fatal(err)
		}
		for name, kept := range map[string]any{"decoded": packed, "copied": unpack(packed)} {
			b.Run(name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					kept.(kuberuntime.Object).DeepCopyObject()
				}
			})
		}
		return
	}
	b.Fatal("no pod was recorded")
}
