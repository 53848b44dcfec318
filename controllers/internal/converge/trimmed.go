package converge

import (
	"context"
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TrimmedAnnotation marks an object of the cache that is too large to be kept whole: only its identity is there, or of a pod a part.
// The operator never writes it to the API server. If somebody else does, the object is read live.
const TrimmedAnnotation = "mainstay-operator.io/trimmed"

// IsTrimmed reports whether the cache has only a part of the object.
func IsTrimmed(obj client.Object) bool { return obj.GetAnnotations()[TrimmedAnnotation] != "" }

// WithTrimmedRead returns a client that reads live, by its name, what the cache has trimmed.
func WithTrimmedRead(cached client.Client, live client.Reader) client.Client {
	return trimmedReader{cached, live}
}

type trimmedReader struct {
	client.Client
	live client.Reader
}

// Get reads from the cache, and from the API server if that has only the object's identity.
func (t trimmedReader) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if err := t.Client.Get(ctx, key, obj, opts...); err != nil {
		return err
	}
	return readTrimmed(ctx, t.live, obj)
}

// readTrimmed reads the object again if it is trimmed.
func readTrimmed(ctx context.Context, live client.Reader, obj client.Object) error {
	if !IsTrimmed(obj) {
		return nil
	}
	whole := reflect.New(reflect.TypeOf(obj).Elem()).Interface().(client.Object)
	whole.GetObjectKind().SetGroupVersionKind(obj.GetObjectKind().GroupVersionKind())
	if err := live.Get(ctx, client.ObjectKeyFromObject(obj), whole); err != nil {
		return err
	}
	reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(whole).Elem())
	return nil
}
