package olm

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
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

// CompareCRDs returns what in the CRDs of a bundle could break objects of the
// release before, or clients that know its schema.
func CompareCRDs(last, bundle string) error {
	_, err := compareCRDs(last, bundle)
	return err
}

// compareCRDs also counts which permitted restrictions the bundle has.
func compareCRDs(last, bundle string) (map[string]int, error) {
	folder, err := os.MkdirTemp("", "crdify-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	rules := filepath.Join(folder, "rules.yaml")
	if err := os.WriteFile(rules, crdifyRules, 0o600); err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(last, manifestsDir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var faults []error
	compared, used := 0, map[string]int{}
	for _, file := range files {
		crd, err := releases.ReadCRD(file)
		if err != nil {
			return nil, err
		}
		if crd.Kind != "CustomResourceDefinition" {
			continue
		}
		compared++
		now, err := releases.ReadCRD(filepath.Join(bundle, manifestsDir, filepath.Base(file)))
		if errors.Is(err, fs.ErrNotExist) {
			faults = append(faults, fmt.Errorf("CRD %s is gone: %w", crd.Name, err))
			continue
		} else if err != nil {
			return nil, err
		}
		relaxed := filepath.Join(folder, filepath.Base(file))
		if err := writeYAML(relaxed, withoutPermitted(crd, now, used)); err != nil {
			return nil, err
		}
		if _, err := tool("crdify", "--config", rules, "file://"+file, "file://"+relaxed); err != nil {
			faults = append(faults, fmt.Errorf("CRD %s: %w", crd.Name, err))
		}
	}
	if compared == 0 {
		faults = append(faults, fmt.Errorf("%s holds no CRD", last))
	}
	return used, errors.Join(faults...)
}

// StoredObjects returns which objects of the release before the CRDs of a bundle
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
