package controllers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kuberuntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// memoryProfile names a file into which a process of this test writes what holds its memory.
const memoryProfile = "TEST_CACHES_PROFILE"

// budgeted is how many objects the budgets are for: what the caches take at any rate is divided by them.
const budgeted = 1000

// copies is how many objects such a process fills its caches with; with LONG=1 as many as a manager must hold.
var copies = func() int {
	if os.Getenv("LONG") != "" {
		return 10 * budgeted
	}
	return budgeted
}()

// The memory that one object of a kind takes, with its children and pods as an API server returns them, stays within its budget.
// If a change makes it smaller, lower the budget.
func TestTheMemoryThatAnObjectTakes(t *testing.T) {
	if server := os.Getenv(memoryServer); server != "" {
		measureCaches(t, server)
		return
	}
	for kind, budget := range map[string]int{"Memcached": 11370, "EasyService": 11745, "Redis": 17970} { // bytes
		t.Run(kind, func(t *testing.T) {
			server := httptest.NewServer(newFleet(t, kind))
			defer server.Close()
			var took, resident int
			inOwnProcess(t, server.URL, []any{&took, &resident})
			t.Logf("%d bytes for each; the process of %d has had %d MiB", took, copies, resident>>10)
			if copies == budgeted && (took*100 > budget*105 || took*105 < budget*100) {
				t.Errorf("one takes %d bytes of the caches; the budget is %d, and 5 %% more or less are allowed", took, budget)
			}
		})
	}
}

// measureCaches fills the manager's caches, all at once as after a start, and prints by how many bytes for each object the heap grew.
func measureCaches(t *testing.T, server string) {
	options := CacheOptions(nil)
	options.Scheme, options.Mapper = cachedTypes(t, options)
	filled, err := cache.New(&rest.Config{Host: server, QPS: -1}, options)
	if err != nil {
		t.Fatal(err)
	}
	if err := converge.IndexInstances(t.Context(), filled); err != nil {
		t.Fatal(err)
	}
	for object := range options.ByObject {
		if err := addInformer(t.Context(), filled, options.Scheme, object); err != nil {
			t.Fatal(err)
		}
	}
	start := heap()
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- filled.Start(ctx) }()
	if !filled.WaitForCacheSync(ctx) {
		t.Fatal("the caches do not fill")
	}
	took := (heap() - start) / copies
	if name := os.Getenv(memoryProfile); name != "" {
		file, err := os.Create(filepath.Clean(name))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(pprof.WriteHeapProfile(file), file.Close()); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Println("RESULT", took, peak(t))
	cancel()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// addInformer adds one type to the caches, with the indexes that the manager has of it.
func addInformer(ctx context.Context, filled cache.Cache, scheme *kuberuntime.Scheme, object client.Object) error {
	_, isPod := object.(*corev1.Pod)
	_, isClaim := object.(*corev1.PersistentVolumeClaim)
	if !isPod && !isClaim && !isOwnKind(object) {
		if err := converge.IndexOwners(ctx, filled, scheme, object); err != nil {
			return err
		}
	}
	_, err := filled.GetInformer(ctx, converge.AsCached(object), cache.BlockUntilSynced(false))
	return err
}

// heap is how many bytes of the heap are in use.
func heap() int {
	runtime.GC()
	runtime.GC() // what has a finalizer, or is in a pool, ends with the second
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc) //nolint:gosec // no heap has 2^63 bytes
}

// fleet is an API server with many objects of one kind, twenty in a namespace, with their children and pods.
type fleet struct {
	scheme *kuberuntime.Scheme
	first  map[string][]string // JSON of the objects of the first, by their resource
	kinds  map[string]schema.GroupVersionKind
}

// newFleet reads the recorded objects of one object of the kind.
func newFleet(t *testing.T, kind string) fleet {
	t.Helper()
	options := CacheOptions(nil)
	scheme, mapper := cachedTypes(t, options)
	f := fleet{scheme, map[string][]string{}, map[string]schema.GroupVersionKind{}}
	for object := range options.ByObject {
		gvk, err := apiutil.GVKForObject(object, scheme)
		if err != nil {
			t.Fatal(err)
		}
		mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			t.Fatal(err)
		}
		f.kinds[mapping.Resource.Resource] = gvk
	}
	for _, object := range recorded(t, kind) {
		text, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		for resource, gvk := range f.kinds {
			if gvk == object.GroupVersionKind() {
				f.first[resource] = append(f.first[resource], string(text))
			}
		}
	}
	return f
}

func (f fleet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	switch {
	case query.Get("sendInitialEvents") == "true":
		refuseStream(w)
	case query.Get("watch") == "true":
		w.Header().Set("Content-Type", "application/json")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	default:
		from, _ := strconv.Atoi(query.Get("continue"))
		accept := r.Header.Get("Accept")
		contentType, encoded, err := f.list(path.Base(r.URL.Path), from, strings.Contains(accept, "as=PartialObjectMetadata"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(encoded)
	}
}

// list returns a page of the objects of one resource: metadata, and types that have no protobuf, in JSON.
func (f fleet) list(resource string, from int, bare bool) (contentType string, encoded []byte, err error) {
	to, next := min(from+pageSize, copies), ""
	if to < copies && f.first[resource] != nil {
		next = strconv.Itoa(to)
	}
	gvk := f.kinds[resource]
	var items []kuberuntime.Object
	for i := from; i < to; i++ {
		for _, template := range f.first[resource] {
			item, err := f.copy(template, i, gvk, bare)
			if err != nil {
				return "", nil, err
			}
			items = append(items, item)
		}
	}
	gvk.Kind += "List"
	var list client.ObjectList = &metav1.PartialObjectMetadataList{}
	if bare {
		gvk = metav1.SchemeGroupVersion.WithKind("PartialObjectMetadataList")
		all := list.(*metav1.PartialObjectMetadataList)
		for _, item := range items {
			all.Items = append(all.Items, *item.(*metav1.PartialObjectMetadata))
		}
	} else {
		made, err := f.scheme.New(gvk)
		if err != nil {
			return "", nil, err
		}
		list = made.(client.ObjectList)
		if err := meta.SetList(list, items); err != nil {
			return "", nil, err
		}
	}
	list.GetObjectKind().SetGroupVersionKind(gvk)
	list.SetResourceVersion("9999999")
	list.SetContinue(next)
	if _, isEncodable := list.(interface{ Marshal() ([]byte, error) }); bare || !isEncodable {
		encoded, err = json.Marshal(list)
		return "application/json", encoded, err
	}
	var out bytes.Buffer
	err = protobuf.NewSerializer(f.scheme, f.scheme).Encode(list, &out)
	return kuberuntime.ContentTypeProtobuf, out.Bytes(), err
}

// ownOfEach finds what no two objects share, next to their names: UIDs, IDs of containers, addresses and hashes. Times are the same in all.
var ownOfEach = regexp.MustCompile(`UID-[0-9a-f-]{27}|containerd://[0-9a-f]{64}|10\.(?:88|96)\.\d+\.\d+|\b[0-9a-f]{24}\b`)

// copy returns the object of the i-th, which has its own name, UIDs, addresses and version.
func (f fleet) copy(template string, i int, gvk schema.GroupVersionKind, bare bool) (client.Object, error) {
	text := strings.NewReplacer("NAMESPACE", fmt.Sprintf("tenant-%d", i/20), "NAME", fmt.Sprintf("sample-%d", i)).Replace(template)
	text = ownOfEach.ReplaceAllStringFunc(text, func(found string) string {
		sum := sha256.Sum256(fmt.Append(nil, i, found))
		digits := hex.EncodeToString(sum[:])
		switch {
		case found == "10.88.0.1": // the node's
			return found
		case len(found) == 24:
			return digits[:24]
		case strings.HasPrefix(found, "UID"):
			return fmt.Sprintf("%s-%s-%s-%s-%s", digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32])
		case strings.HasPrefix(found, "10."):
			return fmt.Sprintf("10.%d.%d.%d", sum[0], sum[1], sum[2])
		}
		return "containerd://" + digits
	})
	made, err := f.scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	if bare {
		made = &metav1.PartialObjectMetadata{}
	}
	object := made.(client.Object)
	if err := json.Unmarshal([]byte(text), object); err != nil {
		return nil, fmt.Errorf("%s: %w", reflect.TypeOf(object), err)
	}
	object.SetResourceVersion(strconv.Itoa(1_000_000 + i))
	if bare {
		object.GetObjectKind().SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata"))
	}
	return object, nil
}
