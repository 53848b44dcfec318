package controllers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

const (
	mebibyte = 1 << 20
	// memoryServer and memoryResource say what a process of this test fills its caches from, and with what.
	memoryServer, memoryResource = "TEST_CACHES_SERVER", "TEST_CACHES_RESOURCE"
)

// Objects that say they are ours, of the largest size that the API server allows, fill no memory. The caches are those
// of the manager, in a process of their own; the API server is a fake that answers in JSON.
func TestTheMemoryThatFillingTheCachesTakes(t *testing.T) {
	if server := os.Getenv(memoryServer); server != "" {
		fillCaches(t, server)
		return
	}
	for _, c := range []struct {
		name, resource string
		count          int
		large          int  // how many have 1 MiB of metadata, too
		streams        bool // the API server can
		maxGrowth      int  // of the peak, in MiB; reading 1 MiB of JSON takes several times as much for a moment
	}{
		{"500 Secrets of 1 MiB, streamed", "secrets", 500, 0, true, 20},
		{"500 Secrets of 1 MiB, listed", "secrets", 500, 0, false, 20},
		{"120 Secrets with 1 MiB of metadata, streamed", "secrets", 120, 120, true, 60},
		{"120 pods of 1 MiB, streamed", "pods", 120, 0, true, 60},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(hoard{c.count, c.large, c.streams})
			defer server.Close()
			var objects, growth int
			inOwnProcess(t, server.URL, []any{&objects, &growth}, memoryResource+"="+c.resource)
			t.Logf("the peak grew by %d KiB", growth)
			if objects != c.count || growth > c.maxGrowth<<10 {
				t.Errorf("%d of %d objects are cached; the peak grew by %d KiB, want at most %d MiB", objects, c.count, growth, c.maxGrowth)
			}
		})
	}
}

// inOwnProcess runs the test again in a process of its own, whose memory is its own, and reads the results that it prints after RESULT.
func inOwnProcess(t *testing.T, server string, results []any, env ...string) {
	t.Helper()
	test, _, _ := strings.Cut(t.Name(), "/")
	run := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+test+"$", "-test.v")
	run.Env = append(append(os.Environ(), memoryServer+"="+server, "GOGC=100"), env...) // as in the manager, not in its tests
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, line, _ := strings.Cut(string(out), "RESULT ")
	if _, err := fmt.Sscan(line, results...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// fillCaches fills the manager's caches and prints how many objects they have, and by how much the peak of memory grew.
func fillCaches(t *testing.T, server string) {
	types := map[string]client.Object{"secrets": &corev1.Secret{}, "pods": &corev1.Pod{}}
	options := CacheOptions(nil)
	options.Scheme, options.Mapper = cachedTypes(t, options)
	filled, err := cache.New(&rest.Config{Host: server, QPS: -1}, options)
	if err != nil {
		t.Fatal(err)
	}
	informer, err := filled.GetInformer(t.Context(), converge.AsCached(types[os.Getenv(memoryResource)]), cache.BlockUntilSynced(false))
	if err != nil {
		t.Fatal(err)
	}
	before := peak(t)
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- filled.Start(ctx) }()
	if !filled.WaitForCacheSync(t.Context()) {
		t.Fatal("they do not fill")
	}
	fmt.Println("RESULT", len(informer.(toolscache.SharedIndexInformer).GetStore().ListKeys()), peak(t)-before)
	cancel()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// cachedTypes adds our own kinds to the types that the options name, and returns the manager's scheme and where the API server has all of
// them.
func cachedTypes(t *testing.T, options cache.Options) (*runtime.Scheme, meta.RESTMapper) {
	t.Helper()
	scheme, mapper := runtime.NewScheme(), meta.NewDefaultRESTMapper(nil)
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, object := range Objects() {
		options.ByObject[object] = cache.ByObject{}
	}
	for object := range options.ByObject {
		gvk, err := apiutil.GVKForObject(object, scheme)
		if err != nil {
			t.Fatal(err)
		}
		mapper.Add(gvk, meta.RESTScopeNamespace)
	}
	return scheme, mapper
}

// peak is the most memory that this process has had so far, in KiB.
func peak(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(status), "VmHWM:")
	fields := strings.Fields(line)
	kib, err := strconv.Atoi(fields[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib
}

// hoard is an API server with many large objects of each type, all with our label and a forged controller.
type hoard struct {
	count, large int
	streams      bool // a list, as a watch
}

func (h hoard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query, bare := r.URL.Query(), strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")
	if query.Get("sendInitialEvents") == "true" && !h.streams {
		refuseStream(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	send := json.NewEncoder(w)
	kind := map[string]string{"secrets": "Secret", "pods": "Pod"}[path.Base(r.URL.Path)]
	switch {
	case query.Get("watch") == "true":
		if query.Get("sendInitialEvents") == "true" {
			for i := range h.count {
				_ = send.Encode(map[string]any{"type": "ADDED", "object": h.object(kind, i, bare)})
			}
			end := h.object(kind, 0, bare)
			end["metadata"] = map[string]any{"resourceVersion": "9999", "annotations": map[string]any{metav1.InitialEventsAnnotationKey: "true"}}
			_ = send.Encode(map[string]any{"type": "BOOKMARK", "object": end})
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	default:
		from, _ := strconv.Atoi(query.Get("continue"))
		limit, err := strconv.Atoi(query.Get("limit"))
		if err != nil || query.Get("resourceVersion") == "0" {
			limit = h.count // as from the API server's memory
		}
		to, next := min(from+limit, h.count), ""
		if to < h.count {
			next = strconv.Itoa(to)
		}
		list := map[string]any{"apiVersion": "v1", "kind": kind + "List", "metadata": map[string]any{"resourceVersion": "9999", "continue": next}}
		if bare {
			list["apiVersion"], list["kind"] = "meta.k8s.io/v1", "PartialObjectMetadataList"
		}
		items := make([]any, 0, to-from)
		for i := from; i < to; i++ {
			items = append(items, h.object(kind, i, bare))
		}
		list["items"] = items
		_ = send.Encode(list)
	}
}

// refuseStream answers as an API server that cannot stream lists.
func refuseStream(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnprocessableEntity)
	_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity, Message: "sendInitialEvents is forbidden"})
}

// object is one of 1 MiB.
func (h hoard) object(kind string, i int, bare bool) map[string]any {
	metadata := map[string]any{"namespace": "tenant", "name": fmt.Sprintf("object-%d", i), "uid": fmt.Sprintf("uid-%d", i),
		"resourceVersion": strconv.Itoa(i + 1),
		"labels":          map[string]any{parts.LabelManagedBy: parts.ManagedBy},
		"ownerReferences": []any{map[string]any{"apiVersion": "cache.mainstay-operator.io/v1alpha1", "kind": "Redis", "name": "victim",
			"uid": "victim", "controller": true}}}
	large := strings.Repeat("x", mebibyte)
	if i < h.large {
		metadata["annotations"] = map[string]any{"note": large}
	}
	object := map[string]any{"apiVersion": "v1", "kind": kind, "metadata": metadata}
	switch {
	case bare:
		object["apiVersion"], object["kind"] = "meta.k8s.io/v1", "PartialObjectMetadata"
	case kind == "Secret":
		object["data"] = map[string]any{"content": large}
	case kind == "Pod":
		env := []any{map[string]any{"name": "LARGE", "value": large}}
		object["spec"] = map[string]any{"containers": []any{map[string]any{"name": "c", "env": env}}}
	}
	return object
}
