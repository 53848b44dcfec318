package releases

import (
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
)

// TestOlderAPIServersAcceptTheRules: an API server refuses a CRD whose rules it estimates to cost too much. Those of Kubernetes 1.31 to
// 1.33 estimate that a number or text may be as long as a request, whatever its maxLength.
func TestOlderAPIServersAcceptTheRules(t *testing.T) {
	files, err := filepath.Glob("../../config/crd/bases/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRDs: %v", err)
	}
	planted := 0
	for _, file := range files {
		crd, err := ReadCRD(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range refusedByOlder(t, crd) {
			t.Errorf("%s: %s", crd.Name, fault)
		}
		ports, has := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["ports"]
		if !has || crd.Spec.Names.Kind != "EasyService" {
			continue
		}
		target := ports.Items.Schema.Properties["targetPort"]
		target.XValidations = apiextensionsv1.ValidationRules{{Rule: "type(self) == int || self.matches('^[a-z]+$')"}}
		ports.Items.Schema.Properties["targetPort"] = target
		if faults := refusedByOlder(t, crd); len(faults) > 0 && strings.Contains(faults[0], "estimated rule cost") {
			planted++
		}
	}
	if planted != 1 {
		t.Error("a rule that costs too much is not found")
	}
}

// refusedByOlder returns what an API server that overlooks the bounds of numbers and texts says about a CRD.
func refusedByOlder(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) []string {
	t.Helper()
	old, internal := crd.DeepCopy(), &apiextensions.CustomResourceDefinition{}
	for _, version := range old.Spec.Versions {
		overlookBounds(version.Schema.OpenAPIV3Schema)
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(old)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&old.Spec)
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(old, internal, nil); err != nil {
		t.Fatal(err)
	}
	internal.Status.StoredVersions = []string{old.Spec.Versions[0].Name}
	var faults []string
	for _, err := range validation.ValidateCustomResourceDefinition(t.Context(), internal) {
		faults = append(faults, err.Error())
	}
	return faults
}

// overlookBounds removes the maxLength of what may be a number or a text.
func overlookBounds(of *apiextensionsv1.JSONSchemaProps) {
	if of.XIntOrString {
		of.MaxLength = nil
	}
	for name, property := range of.Properties {
		overlookBounds(&property)
		of.Properties[name] = property
	}
	if of.Items != nil {
		overlookBounds(of.Items.Schema)
	}
	if of.AdditionalProperties != nil && of.AdditionalProperties.Schema != nil {
		overlookBounds(of.AdditionalProperties.Schema)
	}
}
