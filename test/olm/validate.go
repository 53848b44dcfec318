package olm

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	validator "github.com/operator-framework/api/pkg/validation/interfaces"
)

// kubernetesVersion that the bundle's objects are checked against: the newest.
const kubernetesVersion = "1.37"

// optional are the selectors of the validators that the community pipeline asks, in addition to those that each bundle must pass.
var optional = []string{"suite=operatorframework", "name=operatorhub"}

// deprecation is what the validator that name=operatorhub selects says of itself, whatever the bundle is.
const deprecation = `The "operatorhub" validator is deprecated`

// Lint asks operator-sdk, as OperatorHub's pipeline does. Its every word about the bundle is a fault.
func Lint(bundle string) error {
	var faults []error
	for _, selector := range optional {
		outputs, err := askSDK(bundle, selector)
		if err != nil {
			return err
		}
		for _, output := range outputs {
			if !strings.Contains(output.Message, deprecation) {
				faults = append(faults, fmt.Errorf("%s: %s", output.Type, output.Message))
			}
		}
	}
	return errors.Join(faults...)
}

// sdkOutput is an error or a warning of operator-sdk bundle validate.
type sdkOutput struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// askSDK has operator-sdk validate a bundle, with the optional validators of this selector.
func askSDK(bundle, selector string) ([]sdkOutput, error) {
	said, failed := tool("operator-sdk", "bundle", "validate", bundle, "--select-optional", selector,
		"--optional-values=k8s-version="+kubernetesVersion, "-o", "json-alpha1")
	if failed != nil {
		return nil, failed
	}
	var result struct {
		Passed  bool        `json:"passed"`
		Outputs []sdkOutput `json:"outputs"`
	}
	if err := json.Unmarshal([]byte(said), &result); err != nil {
		return nil, fmt.Errorf("operator-sdk bundle validate answered %q: %w", said, err)
	}
	if !result.Passed && len(result.Outputs) == 0 {
		return nil, errors.New("operator-sdk bundle validate did not pass")
	}
	return result.Outputs, nil
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
