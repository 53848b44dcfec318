// Command descriptors completes the descriptors of a ClusterServiceVersion, so that the console of OpenShift shows the lists and maps
// that operator-sdk leaves without. It reads a stream of manifests, and prints them with the ClusterServiceVersion completed by the
// CRDs in a folder:
//
//	kustomize build config/manifests | go run ./hack/descriptors config/crd/bases | operator-sdk generate bundle
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	k8syaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/mainstay-operator/mainstay-operator/test/console"
	"github.com/mainstay-operator/mainstay-operator/test/releases"
)

func main() {
	err := errors.New("usage: descriptors <folder of CRDs>")
	if len(os.Args) == 2 {
		err = run(os.Args[1], os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "descriptors:", err)
		os.Exit(1)
	}
}

func run(folder string, in io.Reader, out io.Writer) error {
	crds, err := releases.ReadCRDs(folder)
	if err != nil {
		return err
	}
	documents, completed := k8syaml.NewYAMLReader(bufio.NewReader(in)), 0
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		obj := &unstructured.Unstructured{}
		if err := k8syaml.Unmarshal(document, &obj.Object); err != nil {
			return err
		}
		if obj.GetKind() == operators.ClusterServiceVersionKind {
			if document, err = completeCSV(obj, crds); err != nil {
				return err
			}
			completed++
		}
		if _, err := fmt.Fprintf(out, "---\n%s\n", bytes.TrimSpace(document)); err != nil {
			return err
		}
	}
	if completed != 1 {
		return fmt.Errorf("%d ClusterServiceVersions were read, not one", completed)
	}
	return nil
}

// completeCSV returns the ClusterServiceVersion with the descriptors of each kind completed. All else is as it was.
func completeCSV(csv *unstructured.Unstructured, crds map[string]*apiextensionsv1.CustomResourceDefinition) ([]byte, error) {
	owned, found, err := unstructured.NestedSlice(csv.Object, "spec", "customresourcedefinitions", "owned")
	if err != nil || !found {
		return nil, fmt.Errorf("%s owns no kind: %w", csv.GetName(), errors.Join(err, errors.New("operator-sdk generates them")))
	}
	for _, entry := range owned {
		kind, ok := entry.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s: %v is no kind", csv.GetName(), entry)
		}
		var described operators.CRDDescription
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(kind, &described); err != nil {
			return nil, fmt.Errorf("%s: %w", csv.GetName(), err)
		}
		crd, ok := crds[described.Name]
		if !ok {
			return nil, fmt.Errorf("there is no CRD %s: make manifests writes it", described.Name)
		}
		if err := errors.Join(completeSection(kind, crd, described.Version, "spec", console.Spec(described)),
			completeSection(kind, crd, described.Version, "status", console.Status(described))); err != nil {
			return nil, err
		}
	}
	if err := unstructured.SetNestedSlice(csv.Object, owned, "spec", "customresourcedefinitions", "owned"); err != nil {
		return nil, err
	}
	return yaml.Marshal(csv.Object)
}

// completeSection completes the descriptors of a kind's spec or status.
func completeSection(kind map[string]any, crd *apiextensionsv1.CustomResourceDefinition, version, section string,
	descriptors []console.Descriptor) error {
	schema, err := console.Schema(crd, version, section)
	if err != nil {
		return err
	}
	key := section + "Descriptors"
	present, found, err := unstructured.NestedSlice(kind, key)
	if err != nil {
		return fmt.Errorf("%s: %w", crd.Name, err)
	}
	if found {
		kind[key] = complete(schema, present, descriptors)
	}
	return nil
}
