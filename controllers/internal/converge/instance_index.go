package converge

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// instanceIndex finds pods and volume claims by the name of the object that they were made for. A list by labels alone looks at
// all of the namespace, which may have thousands.
const instanceIndex = ".metadata.labels.instance"

// IndexInstances makes the cache find pods and volume claims by their instance. Call it before the manager starts.
func IndexInstances(ctx context.Context, indexer client.FieldIndexer) error {
	for _, object := range []client.Object{&corev1.Pod{}, &corev1.PersistentVolumeClaim{}} {
		if err := indexer.IndexField(ctx, object, instanceIndex, instanceOf); err != nil {
			return fmt.Errorf("indexing the instances of %T: %w", object, err)
		}
	}
	return nil
}

func instanceOf(obj client.Object) []string {
	if instance, has := obj.GetLabels()[parts.LabelInstance]; has {
		return []string{instance}
	}
	return nil
}

// WithInstanceIndex returns a client that lists pods and volume claims by their index if the labels that are asked for name an
// instance. IndexInstances must have been called for its cache.
func WithInstanceIndex(cached client.Client) client.Client { return instanceReader{cached} }

type instanceReader struct{ client.Client }

// List reads from the cache.
func (i instanceReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	switch list.(type) {
	case *corev1.PodList, *corev1.PersistentVolumeClaimList:
		asked := client.ListOptions{}
		asked.ApplyOptions(opts)
		if asked.LabelSelector == nil || asked.FieldSelector != nil {
			break
		}
		if instance, is := asked.LabelSelector.RequiresExactMatch(parts.LabelInstance); is {
			opts = slices.Concat(opts, []client.ListOption{client.MatchingFields{instanceIndex: instance}})
		}
	}
	return i.Client.List(ctx, list, opts...)
}
