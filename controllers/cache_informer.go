package controllers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// newInformer is that of client-go, with lists in small pages.
func newInformer(from toolscache.ListerWatcher, of runtime.Object, resync time.Duration,
	by toolscache.Indexers) toolscache.SharedIndexInformer {
	return toolscache.NewSharedIndexInformer(pagedLists{toolscache.ToListerWatcherWithContext(from)}, of, resync, by)
}

// pageSize bounds how many objects are in memory at once before strip has seen them: 30 MiB of the largest. It matters
// where the API server does not stream lists, as Kubernetes did not before 1.34; a stream is stripped one by one.
const pageSize = 20

// pagedLists lists in pages, and strips each page before it asks for the next.
type pagedLists struct {
	toolscache.ListerWatcherWithContext
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
	var all []runtime.Object
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
			kept, err := strip(item)
			if err != nil {
				return nil, err
			}
			all = append(all, kept.(runtime.Object))
		}
		head, err := meta.ListAccessor(page)
		if err != nil {
			return nil, fmt.Errorf("a list of %T: %w", page, err)
		}
		if o.Continue = head.GetContinue(); o.Continue == "" {
			return page, meta.SetList(page, all)
		}
		o.ResourceVersion, o.ResourceVersionMatch = "", "" // the token says it
	}
}
