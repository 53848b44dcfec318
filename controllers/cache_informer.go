package controllers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/lru"
)

// newInformer is that of client-go, with lists in small pages and packed objects.
func (p *packer) newInformer(from toolscache.ListerWatcher, of runtime.Object, resync time.Duration,
	by toolscache.Indexers) toolscache.SharedIndexInformer {
	lists := pagedLists{toolscache.ToListerWatcherWithContext(from), p}
	return unpackingInformer{toolscache.NewSharedIndexInformer(lists, of, resync, by), p.decoded}
}

// unpackingInformer shows decoded objects to indexes and event handlers. They share them and must not change them.
type unpackingInformer struct {
	toolscache.SharedIndexInformer
	decoded *lru.Cache
}

// unpack is the function of that name, with a memory of the last objects.
func (u unpackingInformer) unpack(kept any) any {
	p, is := kept.(*packed)
	if !is {
		return kept
	}
	if obj, has := u.decoded.Get(p); has {
		return obj
	}
	obj := unpack(p)
	u.decoded.Add(p, obj)
	return obj
}

// AddIndexers adds indexes of the decoded objects.
func (u unpackingInformer) AddIndexers(all toolscache.Indexers) error {
	unpacking := toolscache.Indexers{}
	for name, index := range all {
		unpacking[name] = func(kept any) ([]string, error) { return index(u.unpack(kept)) }
	}
	return u.SharedIndexInformer.AddIndexers(unpacking)
}

// AddEventHandler is AddEventHandlerWithOptions with no options.
func (u unpackingInformer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return u.AddEventHandlerWithOptions(h, toolscache.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod is AddEventHandlerWithOptions with that option.
func (u unpackingInformer) AddEventHandlerWithResyncPeriod(h toolscache.ResourceEventHandler,
	resync time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return u.AddEventHandlerWithOptions(h, toolscache.HandlerOptions{ResyncPeriod: &resync})
}

// AddEventHandlerWithOptions adds a handler, which gets decoded objects.
func (u unpackingInformer) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler,
	o toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	return u.SharedIndexInformer.AddEventHandlerWithOptions(toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(added any, initial bool) { h.OnAdd(u.unpack(added), initial) },
		UpdateFunc: func(last, next any) { h.OnUpdate(u.unpack(last), u.unpack(next)) },
		DeleteFunc: func(gone any) { h.OnDelete(u.unpackTombstone(gone)) },
	}, o)
}

// unpackTombstone is unpack, also for the last state of an object whose deletion was missed.
func (u unpackingInformer) unpackTombstone(gone any) any {
	if missed, is := gone.(toolscache.DeletedFinalStateUnknown); is {
		missed.Obj = u.unpack(missed.Obj)
		return missed
	}
	return u.unpack(gone)
}

// pageSize bounds how many objects are in memory at once before strip has seen them: 30 MiB of the largest. It matters
// where the API server does not stream lists, as Kubernetes did not before 1.34; a stream is stripped one by one.
const pageSize = 20

// pagedLists lists in pages, and packs each page before it asks for the next.
type pagedLists struct {
	toolscache.ListerWatcherWithContext
	packer *packer
}

// List is ListWithContext, for callers that have no context.
func (p pagedLists) List(o metav1.ListOptions) (runtime.Object, error) {
	return p.ListWithContext(context.Background(), o)
}

// Watch is WatchWithContext, for callers that have no context.
func (p pagedLists) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return p.WatchWithContext(context.Background(), o)
}

// ListWithContext returns the whole list.
func (p pagedLists) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	if o.ResourceVersion == "0" { // which the API server answers from its memory, without pages
		o.ResourceVersion, o.ResourceVersionMatch = "", ""
	}
	o.Limit = pageSize
	all := &packedList{}
	for {
		page, err := p.ListerWatcherWithContext.ListWithContext(ctx, o)
		if err != nil {
			return nil, err // client-go decides by its type what to do next
		}
		items, err := meta.ExtractListWithAlloc(page)
		if err != nil {
			return nil, fmt.Errorf("a list of %T: %w", page, err)
		}
		for _, item := range items {
			kept, err := p.packer.pack(item)
			if err != nil {
				return nil, err
			}
			all.Items = append(all.Items, kept.(runtime.Object))
		}
		head, err := meta.ListAccessor(page)
		if err != nil {
			return nil, fmt.Errorf("a list of %T: %w", page, err)
		}
		if o.Continue = head.GetContinue(); o.Continue == "" {
			all.ResourceVersion = head.GetResourceVersion()
			return all, nil
		}
		o.ResourceVersion, o.ResourceVersionMatch = "", "" // the token says it
	}
}

// packedList is a list of any type, whose objects are packed.
type packedList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []runtime.Object
}

// DeepCopyObject shares the objects: nothing changes a packed one.
func (p *packedList) DeepCopyObject() runtime.Object {
	list := *p
	list.Items = slices.Clone(p.Items)
	return &list
}
