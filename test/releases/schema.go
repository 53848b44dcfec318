package releases

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// Schema is what an API server makes of the objects of one kind and version.
type Schema struct {
	validator  validation.SchemaValidator
	structural *schema.Structural
	rules      *cel.Validator
}

// ReadCRD reads a CustomResourceDefinition.
func ReadCRD(file string) (*apiextensionsv1.CustomResourceDefinition, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(content, &crd); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return &crd, nil
}

// ReadCRDs reads the CustomResourceDefinitions among the manifests in a folder, by name.
func ReadCRDs(folder string) (map[string]*apiextensionsv1.CustomResourceDefinition, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	crds := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, file := range files {
		crd, err := ReadCRD(file)
		if err != nil {
			return nil, err
		}
		if crd.Kind == "CustomResourceDefinition" {
			crds[crd.Name] = crd
		}
	}
	return crds, nil
}

// SchemaOf a version that the CRD serves.
func SchemaOf(crd *apiextensionsv1.CustomResourceDefinition, version string) (*Schema, error) {
	for _, served := range crd.Spec.Versions {
		if served.Name != version || !served.Served {
			continue
		}
		internal := &apiextensions.JSONSchemaProps{}
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(served.Schema.OpenAPIV3Schema, internal,
			nil); err != nil {
			return nil, err
		}
		structural, err := schema.NewStructural(internal)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", crd.Name, version, err)
		}
		validator, _, err := validation.NewSchemaValidator(internal)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", crd.Name, version, err)
		}
		return &Schema{validator: validator, structural: structural, rules: cel.NewValidator(structural, true, celconfig.PerCallLimit)}, nil
	}
	return nil, fmt.Errorf("%s does not serve %s", crd.Name, version)
}

// Read does what an API server does to an object on its way out of the store: it
// fills in defaults. What the schema does not know would be lost, and is reported.
func (s *Schema) Read(obj *unstructured.Unstructured) error {
	lost := pruning.PruneWithOptions(obj.DeepCopy().Object, s.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	defaulting.Default(obj.Object, s.structural)
	if len(lost) > 0 {
		return fmt.Errorf("%s %s: the schema does not know %v, which would be lost", obj.GetKind(), obj.GetName(), lost)
	}
	return nil
}

// Validate does what an API server does before it stores an update of the object.
func (s *Schema) Validate(obj *unstructured.Unstructured) error {
	broken := validation.ValidateCustomResource(nil, obj.Object, s.validator)
	if s.rules != nil {
		more, _ := s.rules.Validate(context.Background(), nil, s.structural, obj.Object, obj.Object, celconfig.RuntimeCELCostBudget)
		broken = append(broken, more...)
	}
	if len(broken) == 0 {
		return nil
	}
	return fmt.Errorf("%s %s: %w", obj.GetKind(), obj.GetName(), errors.Join(broken.ToAggregate().Errors()...))
}
