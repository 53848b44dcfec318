package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

// unseen are fields whose effect no child shows, or one of a type that the suite's API
// server lacks, or that cannot be set with others; specs of their own prove them.
var unseen = []string{"failover", "paused", "hibernate", "update", "gateway", "metrics", "proxy", "defrag", "bootstrap"}

var _ = Describe("Fields:", func() {
	forEachKind("each changes a child or cannot be left out", func(ctx SpecContext, k kind) {
		if k.edit == nil {
			return // its pods go when it is done; its own specs prove its fields
		}
		full, err := crash(ctx, k, "", fault.None)
		Expect(err).NotTo(HaveOccurred())
		spec := specOf(k.sample())
		var group sync.WaitGroup
		fields := slices.DeleteFunc(schemaOf(k), func(f string) bool { return slices.Contains(unseen, f) })
		failures, slots := make([]error, len(fields)), make(chan struct{}, together)
		for i, field := range fields {
			if spec[field] == nil {
				failures[i] = fmt.Errorf("%s: the sample does not set it", field)
				continue
			}
			slots <- struct{}{}
			group.Go(func() {
				defer func() { <-slots }()
				without, err := crash(ctx, k.without(field), "", fault.None)
				switch {
				case apierrors.IsInvalid(err): // the rest cannot stand without it
				case err != nil:
					failures[i] = fmt.Errorf("without %s: %w", field, err)
				case childrenOf(without.state) == childrenOf(full.state):
					failures[i] = fmt.Errorf("%s: with or without it, no child differs", field)
				}
			})
		}
		group.Wait()
		Expect(errors.Join(failures...)).To(Succeed())
	})

	forEachKind("kubectl explain shows the spec, not its rules", func(_ SpecContext, k kind) {
		Expect(crdSpec(k).Description).NotTo(ContainSubstring(" rule"))
	})
})

// schemaOf gives the fields of the kind's spec, as its CRD has them, in order.
func schemaOf(k kind) []string {
	GinkgoHelper()
	fields := crdSpec(k).Properties
	Expect(fields).NotTo(BeEmpty())
	return slices.Sorted(maps.Keys(fields))
}

// crdSpec is the kind's spec, as its CRD has it.
func crdSpec(k kind) apiextensionsv1.JSONSchemaProps {
	GinkgoHelper()
	gvk, err := admin.GroupVersionKindFor(k.sample())
	Expect(err).NotTo(HaveOccurred())
	i := slices.IndexFunc(cluster.CRDs, func(crd *apiextensionsv1.CustomResourceDefinition) bool {
		return crd.Spec.Names.Kind == gvk.Kind && crd.Spec.Group == gvk.Group
	})
	Expect(i).To(BeNumerically(">=", 0))
	return cluster.CRDs[i].Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
}

// without is the kind with a sample that leaves a field of the spec out.
func (k kind) without(field string) kind {
	whole := k.sample
	k.sample = func() client.Object {
		obj := whole()
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			return obj
		}
		delete(fields["spec"].(map[string]any), field)
		bare := reflect.New(reflect.TypeOf(obj).Elem()).Interface().(client.Object)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, bare); err != nil {
			return obj
		}
		return bare
	}
	return k
}

func specOf(obj client.Object) map[string]any {
	GinkgoHelper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	Expect(err).NotTo(HaveOccurred())
	return fields["spec"].(map[string]any)
}

// childrenOf is a state without the owner.
func childrenOf(state string) string {
	var places map[string]json.RawMessage
	if err := json.Unmarshal([]byte(state), &places); err != nil {
		return err.Error()
	}
	delete(places, "owner")
	var b strings.Builder
	for _, place := range slices.Sorted(maps.Keys(places)) {
		fmt.Fprintf(&b, "%s %s\n", place, places[place])
	}
	return b.String()
}
