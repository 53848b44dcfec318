package olm

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mainstay-operator/mainstay-operator/test/releases"
)

// manifestsDir is where a bundle has its objects.
const manifestsDir = "manifests"

// crdifyRules say what counts as a break.
//
//go:embed crdify.yaml
var crdifyRules []byte

// CompareCRDs tells what in the CRDs of a bundle could break objects of the
// release before, or clients that know its schema.
func CompareCRDs(last, bundle string) error {
	rules, err := os.CreateTemp("", "crdify-*.yaml")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(rules.Name()) }()
	_, err = rules.Write(crdifyRules)
	if err := errors.Join(err, rules.Close()); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(last, manifestsDir, "*.yaml"))
	if err != nil {
		return err
	}
	var faults []error
	compared := 0
	for _, file := range files {
		crd, err := releases.ReadCRD(file)
		if err != nil {
			return err
		}
		if crd.Kind != "CustomResourceDefinition" {
			continue
		}
		compared++
		now := filepath.Join(bundle, manifestsDir, filepath.Base(file))
		if _, err := os.Stat(now); err != nil {
			faults = append(faults, fmt.Errorf("CRD %s is gone: %w", crd.Name, err))
			continue
		}
		if _, err := tool("crdify", "--config", rules.Name(), "file://"+file, "file://"+now); err != nil {
			faults = append(faults, fmt.Errorf("CRD %s: %w", crd.Name, err))
		}
	}
	if compared == 0 {
		faults = append(faults, fmt.Errorf("%s holds no CRD", last))
	}
	return errors.Join(faults...)
}

// StoredObjects tells which objects of the release before the CRDs of a bundle
// would not take, or not give back as they were stored.
func StoredObjects(last, bundle string) error {
	files, err := filepath.Glob(filepath.Join(last, "objects", "*.yaml"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("%s keeps no object", last)
	}
	var faults []error
	for _, file := range files {
		obj, err := releases.ReadObject(file)
		if err != nil {
			return err
		}
		schema, err := releases.SchemaFor(filepath.Join(bundle, manifestsDir), obj)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		faults = append(faults, schema.Read(obj), schema.Validate(obj))
	}
	return errors.Join(faults...)
}
