package controllers

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/test/newleader"
)

// A kind whose set-up does not use converge's SetUpController would reconcile what was edited while there was no leader
// after most of what exists.
func TestANewLeaderReconcilesFirstWhatWasEditedOfEachKind(t *testing.T) {
	const many, generation = 200, 2
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds {
		t.Run(reflect.TypeOf(k.object).Elem().Name(), func(t *testing.T) {
			var objects []client.Object
			for i := range many {
				object := k.object.DeepCopyObject().(converge.Object)
				object.SetNamespace(fmt.Sprint("a", i))
				object.SetName("one")
				object.SetGeneration(generation)
				object.SetObservedGeneration(generation)
				objects = append(objects, object)
			}
			last := objects[many-1]
			last.SetGeneration(generation + 1)
			got := newleader.FirstPasses(t, scheme, objects, func(mgr ctrl.Manager) error { return setUpWith(mgr, k) })
			if len(got) == 0 || len(got) > many/2 || !slices.Contains(got, client.ObjectKeyFromObject(last)) {
				t.Errorf("the first passes are over %v", got)
			}
		})
	}
}

// setUpWith adds the controller of one kind to a manager without an API server.
func setUpWith(mgr ctrl.Manager, k kind) error {
	apis := &converge.OptionalAPIs{Cache: mgr.GetCache(), Mapper: mgr.GetRESTMapper(), Clock: clock.RealClock{}}
	return k.newReconciler(shared{
		converger: func(string) converge.Converger {
			return converge.Converger{Client: mgr.GetClient(), APIReader: mgr.GetClient(), OptionalAPIs: apis}
		},
		secrets:    converge.NewSecretReader(mgr.GetCache(), mgr.GetClient()),
		configMaps: converge.NewConfigMapReader(mgr.GetCache(), mgr.GetClient()),
	}).SetupWithManager(mgr)
}
