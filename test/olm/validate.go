package olm

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	validator "github.com/operator-framework/api/pkg/validation/interfaces"
)

// kubernetesVersion that the bundle's objects are checked against: the newest.
const kubernetesVersion = "1.37"

// Lint asks operator-sdk, as OperatorHub's pipeline does. Its every word is a fault.
func Lint(bundle string) error {
	said, failed := tool("operator-sdk", "bundle", "validate", bundle, "--select-optional", "suite=operatorframework",
		"--optional-values=k8s-version="+kubernetesVersion, "-o", "json-alpha1")
	if failed != nil {
		return failed
	}
	var result struct {
		Passed  bool `json:"passed"`
		Outputs []struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"outputs"`
	}
	if err := json.Unmarshal([]byte(said), &result); err != nil {
		return fmt.Errorf("operator-sdk bundle validate answered %q: %w", said, err)
	}
	var faults []error
	for _, output := range result.Outputs {
		faults = append(faults, fmt.Errorf("%s: %s", output.Type, output.Message))
	}
	if !result.Passed {
		faults = append(faults, errors.New("operator-sdk bundle validate did not pass"))
	}
	return errors.Join(faults...)
}

// Validate asks the validators of operator-framework/api, newer ones than
// operator-sdk has. MultipleArchitectures is left out, as it pulls images, and
// Community, which no one is to use any more.
func Validate(bundle string) error {
	loaded, err := manifests.GetBundleFromDir(bundle)
	if err != nil {
		return err
	}
	objects := append(loaded.ObjectsToValidate(), map[string]string{"k8s-version": kubernetesVersion})
	for _, obj := range loaded.Objects {
		objects = append(objects, obj)
	}
	var faults []error
	for _, result := range (validator.Validators{
		validation.ClusterServiceVersionValidator, validation.CustomResourceDefinitionValidator, validation.BundleValidator,
		validation.OperatorHubV2Validator, validation.StandardCategoriesValidator, validation.StandardCapabilitiesValidator,
		validation.ObjectValidator, validation.AlphaDeprecatedAPIsValidator, validation.GoodPracticesValidator,
	}).Validate(objects...) {
		for _, fault := range append(result.Errors, result.Warnings...) {
			faults = append(faults, fault)
		}
	}
	return errors.Join(faults...)
}
