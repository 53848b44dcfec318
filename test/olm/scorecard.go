package olm

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// scorecardTests are those that operator-sdk comes with.
var scorecardTests = []string{
	"basic-check-spec", "olm-bundle-validation", "olm-crds-have-validation",
	"olm-crds-have-resources", "olm-spec-descriptors", "olm-status-descriptors",
}

// Scorecard runs operator-sdk's own tests on a bundle, with neither cluster nor
// image: their program looks for the bundle under /bundle, so a folder with both
// becomes its root. In a new user namespace that needs no root. A suggestion is a fault.
func Scorecard(bundle string) error {
	root, err := os.MkdirTemp("", "scorecard")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(root) }()
	program, err := exec.LookPath("scorecard-test")
	if err != nil {
		return fmt.Errorf("%w: make bundle-check builds it", err)
	}
	binary, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	if err := errors.Join(
		os.WriteFile(filepath.Join(root, "scorecard-test"), binary, 0o755),
		os.CopyFS(filepath.Join(root, "bundle"), os.DirFS(bundle)),
	); err != nil {
		return err
	}
	var faults []error
	for _, test := range scorecardTests {
		said, err := tool("unshare", "--map-root-user", "--root="+root, "/scorecard-test", test)
		if err == nil {
			err = judge(said)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("scorecard %s: %w", test, err))
		}
	}
	return errors.Join(faults...)
}

// judge reads what a test of the scorecard prints.
func judge(said string) error {
	var status struct {
		Results []struct {
			State       string   `json:"state"`
			Errors      []string `json:"errors"`
			Suggestions []string `json:"suggestions"`
		} `json:"results"`
	}
	if err := json.Unmarshal([]byte(said), &status); err != nil {
		return fmt.Errorf("answered %q: %w", said, err)
	}
	if len(status.Results) == 0 {
		return errors.New("has no result")
	}
	var faults []error
	for _, result := range status.Results {
		if result.State != "pass" {
			faults = append(faults, errors.New("state "+result.State))
		}
		for _, words := range append(result.Errors, result.Suggestions...) {
			faults = append(faults, errors.New(words))
		}
	}
	return errors.Join(faults...)
}
