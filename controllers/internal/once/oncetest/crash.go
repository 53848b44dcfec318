// Package oncetest fails each call of an operator in each way, for the tests of the kinds that use package once.
package oncetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

var (
	// ErrKilled is what each call of a killed operator returns.
	ErrKilled = errors.New("this operator was killed")
	// ErrAnswerLost is returned by a call that the API server has carried out.
	ErrAnswerLost = errors.New("the answer was lost")
)

// Intercept carries one call out; it may fail, lose the answer, or kill the operator.
type Intercept func(call string, do func() error) error

// Through carries each call out.
func Through(_ string, do func() error) error { return do() }

// Kill fails each further call.
func (i *Intercept) Kill() { *i = func(string, func() error) error { return ErrKilled } }

// fault is a way in which one call can go wrong.
type fault func(i *Intercept, do func() error) error

var faults = map[string]fault{
	"killed before the call": func(i *Intercept, _ func() error) error { i.Kill(); return ErrKilled },
	"killed after the call":  func(i *Intercept, do func() error) error { _ = do(); i.Kill(); return ErrKilled },
	"answer lost":            func(_ *Intercept, do func() error) error { _ = do(); return ErrAnswerLost },
	"conflict": func(*Intercept, func() error) error {
		return apierrors.NewConflict(schema.GroupResource{Resource: "any"}, "any", ErrAnswerLost)
	},
}

// Crash fails one call of a run. Its zero value fails none.
type Crash struct {
	nth, count int
	fault      fault
	met        bool
}

// Met reports whether the call has gone wrong.
func (c *Crash) Met() bool { return c.met }

// Attach counts the calls of the next process of the run.
func (c *Crash) Attach(i *Intercept) {
	*i = func(_ string, do func() error) error {
		if c.count++; c.count != c.nth {
			return do()
		}
		c.met = true
		return c.fault(i, do)
	}
}

// EachCall repeats a run until each of its calls has failed in each way. With a step, it is each nth call: which ones, differs with the
// way, and with the number of the run.
func EachCall(t *testing.T, number, step int, run func(t *testing.T, c *Crash)) {
	t.Helper()
	for i, name := range slices.Sorted(maps.Keys(faults)) {
		for nth := 1 + (number+i)%step; ; nth += step {
			c := &Crash{nth: nth, fault: faults[name]}
			if ok := t.Run(fmt.Sprintf("%s/%02d", name, nth), func(t *testing.T) { run(t, c) }); !ok || !c.met {
				break
			}
		}
	}
}

// NewClient returns a client whose calls of the server go through that function.
func NewClient(server client.WithWatch, through Intercept) client.WithWatch {
	return interceptor.NewClient(server, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, k client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			return through(fmt.Sprintf("get %T", obj), func() error { return c.Get(ctx, k, obj, opts...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			return through(fmt.Sprintf("create %T", obj), func() error { return c.Create(ctx, obj, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
			return through(fmt.Sprintf("patch %T", obj), func() error { return c.Patch(ctx, obj, p, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			return through(fmt.Sprintf("delete %T", obj), func() error { return c.Delete(ctx, obj, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, p client.Patch,
			opts ...client.SubResourcePatchOption) error {
			return through(fmt.Sprintf("patch %T/%s", obj, sub), func() error { return c.SubResource(sub).Patch(ctx, obj, p, opts...) })
		},
	})
}
