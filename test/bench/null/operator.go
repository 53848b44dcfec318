package null

import (
	"context"
	"errors"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Operator writes what a recipe says for each object of a namespace.
type Operator struct {
	recipe    Recipe
	namespace string
	client    client.Client
	cache     cache.Cache
	queue     workqueue.TypedRateLimitingInterface[string]

	mu      sync.Mutex
	written map[string]progress
	failed  error
}

// progress of one object. Only the worker that has the object changes it.
type progress struct {
	identity identity
	// generation of the object whose children were written, and the one whose status was.
	generation, reported int64
	// workload is the generation that the API server gave to the workload with the last write.
	workload int64
}

// Start runs it until ctx ends, with that many workers.
func Start(ctx context.Context, config *rest.Config, c client.Client, namespace string, recipe Recipe, workers int) (*Operator, error) {
	watches, err := cache.New(config, cache.Options{Scheme: c.Scheme(), DefaultNamespaces: map[string]cache.Config{namespace: {}}})
	if err != nil {
		return nil, fmt.Errorf("the null operator's cache: %w", err)
	}
	o := &Operator{recipe: recipe, namespace: namespace, client: c, cache: watches, written: map[string]progress{},
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())}
	go func() { _ = watches.Start(ctx) }() // it ends with ctx, and the informers report what keeps them from being filled
	own := func(obj client.Object) string { return obj.GetName() }
	owner := func(obj client.Object) string {
		if controller := metav1.GetControllerOfNoCopy(obj); controller != nil && controller.Kind == recipe.Kind.Kind {
			return controller.Name
		}
		return ""
	}
	if err := errors.Join(o.watch(ctx, recipe.Kind, own), o.watch(ctx, recipe.Workload, owner)); err != nil {
		return nil, fmt.Errorf("the null operator's watches: %w", err)
	}
	for range workers {
		go o.work(ctx)
	}
	go func() {
		<-ctx.Done()
		o.queue.ShutDown()
	}()
	return o, nil
}

// Err returns the first error of a write, which was repeated: a run with one measured more than it should.
func (o *Operator) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failed
}

// watch adds the object that name returns to the queue, with each event.
func (o *Operator) watch(ctx context.Context, kind schema.GroupVersionKind, name func(client.Object) string) error {
	informer, err := o.cache.GetInformer(ctx, newObject(kind))
	if err != nil {
		return err
	}
	add := func(event any) {
		if obj, ok := event.(client.Object); ok {
			if object := name(obj); object != "" {
				o.queue.Add(object)
			}
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, obj any) { add(obj) }})
	return err
}

func newObject(kind schema.GroupVersionKind) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object
}

func (o *Operator) work(ctx context.Context) {
	for {
		name, shutdown := o.queue.Get()
		if shutdown {
			return
		}
		if err := o.sync(ctx, name); err != nil && ctx.Err() == nil {
			o.mu.Lock()
			if o.failed == nil {
				o.failed = fmt.Errorf("%s: %w", name, err)
			}
			o.mu.Unlock()
			o.queue.AddRateLimited(name)
		} else {
			o.queue.Forget(name)
		}
		o.queue.Done(name)
	}
}

// sync writes the children of the object's generation, and its status once the workload is ready.
func (o *Operator) sync(ctx context.Context, name string) error {
	object := newObject(o.recipe.Kind)
	if err := o.cache.Get(ctx, client.ObjectKey{Namespace: o.namespace, Name: name}, object); err != nil {
		return client.IgnoreNotFound(err)
	}
	if object.GetDeletionTimestamp() != nil {
		return nil
	}
	o.mu.Lock()
	p := o.written[name]
	o.mu.Unlock()
	p.identity = identityOf(object)
	err := o.advance(ctx, object, &p)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.written[name] = p
	return err
}

func (o *Operator) advance(ctx context.Context, object *unstructured.Unstructured, p *progress) error {
	generation := object.GetGeneration()
	if generation > int64(len(o.recipe.Generations)) {
		return fmt.Errorf("the recipe has no generation %d", generation)
	}
	for p.generation < generation {
		if err := o.write(ctx, p); err != nil {
			return err
		}
		p.generation++
	}
	if p.reported == generation {
		return nil
	}
	if ready, err := o.isReady(ctx, *p); err != nil || !ready {
		return err
	}
	patch, err := o.recipe.Generations[generation-1].statusFor(p.identity)
	if err != nil {
		return err
	}
	if err := o.client.Status().Patch(ctx, object.DeepCopy(), patch); err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	p.reported = generation
	return nil
}

// write leads the children to the next generation.
func (o *Operator) write(ctx context.Context, p *progress) error {
	var before []*unstructured.Unstructured
	var err error
	if p.generation > 0 {
		if before, err = o.recipe.Generations[p.generation-1].childrenFor(p.identity); err != nil {
			return err
		}
	}
	after, err := o.recipe.Generations[p.generation].childrenFor(p.identity)
	if err != nil {
		return err
	}
	for _, c := range changesBetween(before, after) {
		switch {
		case c.before == nil:
			err = client.IgnoreAlreadyExists(o.client.Create(ctx, c.after)) // by a try that failed later
		case c.after == nil:
			err = client.IgnoreNotFound(o.client.Delete(ctx, c.before))
		default:
			err = o.client.Patch(ctx, c.after, client.MergeFrom(c.before))
		}
		if err != nil {
			return fmt.Errorf("writing a child: %w", err)
		}
		if c.after != nil && c.after.GroupVersionKind() == o.recipe.Workload {
			p.workload = c.after.GetGeneration()
		}
	}
	return nil
}

// isReady reports whether all pods of the workload are ready, and are as the last write says.
func (o *Operator) isReady(ctx context.Context, p progress) (bool, error) {
	workload := newObject(o.recipe.Workload)
	if err := o.cache.Get(ctx, client.ObjectKey{Namespace: p.identity.namespace, Name: p.identity.name}, workload); err != nil {
		return false, client.IgnoreNotFound(err) // its event comes
	}
	number := func(fields ...string) int64 {
		value, _, _ := unstructured.NestedInt64(workload.Object, fields...)
		return value
	}
	want := number("spec", "replicas")
	return workload.GetGeneration() >= p.workload && number("status", "observedGeneration") >= workload.GetGeneration() &&
		number("status", "updatedReplicas") == want && number("status", "readyReplicas") == want, nil
}
