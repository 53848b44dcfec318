// Package newleader starts controllers as a new leader does: all objects exist, and the cache has each of them.
package newleader

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// FirstPasses starts the controllers that setUp adds to a manager whose cache has the objects, and returns the key that each
// worker's first pass reads. The client finds no object, so a pass ends after that read. It runs in a bubble of synctest: the
// times below pass at once, and always in the same order.
func FirstPasses(t *testing.T, scheme *runtime.Scheme, objects []client.Object, setUp func(ctrl.Manager) error) []client.ObjectKey {
	t.Helper()
	var read []client.ObjectKey
	synctest.Test(t, func(t *testing.T) {
		m := &fakeManager{scheme: scheme, cache: &fullCache{FakeInformers: informertest.FakeInformers{Scheme: scheme}, objects: objects},
			client: &emptyClient{}}
		if err := setUp(m); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for _, controller := range m.controllers {
			running.Go(func() {
				if err := controller.Start(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		<-time.After(listTime + passTime/2)
		read = m.client.keys()
		cancel()
		running.Wait()
	})
	return read
}

const (
	// objectTime is how long the initial list takes for an object: the queue has each before the next comes.
	objectTime = time.Millisecond
	// listTime is how long all of it takes. Workers start after it.
	listTime = time.Minute
	// passTime is how long a pass takes.
	passTime = time.Second
)

// fakeManager implements the methods of a manager that a kind's SetupWithManager calls.
type fakeManager struct {
	ctrl.Manager
	scheme      *runtime.Scheme
	cache       cache.Cache
	client      *emptyClient
	controllers []manager.Runnable
}

func (f *fakeManager) GetScheme() *runtime.Scheme           { return f.scheme }
func (f *fakeManager) GetCache() cache.Cache                { return f.cache }
func (f *fakeManager) GetFieldIndexer() client.FieldIndexer { return f.cache }
func (f *fakeManager) GetClient() client.Client             { return f.client }
func (f *fakeManager) GetConfig() *rest.Config              { return &rest.Config{} }
func (f *fakeManager) GetHTTPClient() *http.Client          { return http.DefaultClient }
func (f *fakeManager) GetLogger() logr.Logger               { return logr.Discard() }
func (f *fakeManager) GetRESTMapper() meta.RESTMapper       { return meta.NewDefaultRESTMapper(nil) }

func (f *fakeManager) GetControllerOptions() config.Controller {
	return config.Controller{SkipNameValidation: ptr.To(true)} // several tests start a controller of the same name
}

func (f *fakeManager) Add(runnable manager.Runnable) error {
	f.controllers = append(f.controllers, runnable)
	return nil
}

// fullCache has objects before anything watches it.
type fullCache struct {
	informertest.FakeInformers
	objects []client.Object
}

func (f *fullCache) GetInformer(_ context.Context, of client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	listed := slices.DeleteFunc(slices.Clone(f.objects), func(o client.Object) bool { return reflect.TypeOf(o) != reflect.TypeOf(of) })
	return &fullInformer{controllertest.NewFakeInformer(controllertest.Synced), listed}, nil
}

// fullInformer shows its objects to each handler as the initial list.
type fullInformer struct {
	*controllertest.FakeInformer
	objects []client.Object
}

func (f *fullInformer) AddEventHandlerWithOptions(handler toolscache.ResourceEventHandler,
	_ toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	syncedAt := time.Now().Add(listTime)
	for _, object := range f.objects {
		handler.OnAdd(object, true)
		<-time.After(objectTime)
	}
	return &registration{fullInformer: f, syncedAt: syncedAt}, nil
}

// registration reports the initial list as complete once listTime has passed.
type registration struct {
	*fullInformer
	syncedAt time.Time
}

func (r *registration) HasSynced() bool { return !time.Now().Before(r.syncedAt) }

func (r *registration) HasSyncedChecker() toolscache.DoneChecker { return r }

// emptyClient finds nothing, after passTime, and notes the objects that were asked for.
type emptyClient struct {
	client.Client
	mu   sync.Mutex
	read []client.ObjectKey
}

func (e *emptyClient) keys() []client.ObjectKey {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.read)
}

func (e *emptyClient) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	e.mu.Lock()
	e.read = append(e.read, key)
	e.mu.Unlock()
	<-time.After(passTime)
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (*emptyClient) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }
