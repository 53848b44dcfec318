package releases

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	k8syaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
)

var cut = flag.String("cut", "", "release to keep: `vX.Y.Z`")

// Workloads runs a kind's builder over the objects that the last release is kept
// with, and compares what comes out with what that release made of them: any
// difference would replace pods at an upgrade, though no user has changed them, or
// change what an API server does not let change.
//
// With -cut it keeps what is made now instead. A kind that the last release did not have has nothing to compare with:
// the cut of its first release is rehearsed. A kind that makes no workload has no builder: its objects alone are kept, and must be
// accepted.
func Workloads[T any](t *testing.T, kind string, build func(*T) any) {
	t.Helper()
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	if *cut != "" {
		if err := keep(root, filepath.Join(root, kept, *cut), kind, build); err != nil {
			t.Fatal(err)
		}
		return
	}
	last, err := Last(root)
	if err != nil {
		t.Fatal(err)
	}
	if isNew, err := isNewKind(last, kind); err != nil {
		t.Fatal(err)
	} else if isNew {
		rehearsal := t.TempDir()
		if err := keep(root, rehearsal, kind, build); err != nil {
			t.Fatal(err)
		}
		last = rehearsal
	}
	files, err := filepath.Glob(filepath.Join(last, "objects", strings.ToLower(kind)+"-*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no %s in %s (%v): add one to config/samples or test/releases/objects", kind, last, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			_, made, err := remade(root, file, build)
			if err != nil {
				t.Fatal(err)
			}
			if build == nil {
				return
			}
			was, err := os.ReadFile(filepath.Join(last, "workloads", filepath.Base(file)))
			if err != nil {
				t.Fatal(err)
			}
			if err := Same(was, made); err != nil {
				t.Error(err)
			}
		})
	}
}

// isNewKind reports whether a release's bundle does not have a kind yet.
func isNewKind(release, kind string) (bool, error) {
	files, err := filepath.Glob(filepath.Join(release, "bundle", "manifests", "*.yaml"))
	if err != nil || len(files) == 0 {
		return false, fmt.Errorf("%s has no bundle: %w", release, err)
	}
	for _, file := range files {
		crd, err := ReadCRD(file)
		if err != nil {
			return false, err
		}
		if crd.Kind == "CustomResourceDefinition" && crd.Spec.Names.Kind == kind {
			return false, nil
		}
	}
	return true, nil
}

// withoutRetention are the lines of a workload without what becomes of its claims: an API server lets that change in place, and it is no
// part of the template.
func withoutRetention(workload []byte) []string {
	isRetention := func(line string) bool {
		switch key, _, _ := strings.Cut(strings.TrimSpace(line), ":"); key {
		case "persistentVolumeClaimRetentionPolicy", "whenDeleted", "whenScaled":
			return true
		}
		return false
	}
	return slices.DeleteFunc(strings.Split(string(workload), "\n"), isRetention)
}

// Same reports where a workload of this tree differs from that of the last release.
func Same(was, is []byte) error {
	before, now := withoutRetention(was), withoutRetention(is)
	for i := range max(len(before), len(now)) {
		switch {
		case i >= len(before):
			return fmt.Errorf("an upgrade would replace pods: line %d, %q, is new", i+1, now[i])
		case i >= len(now):
			return fmt.Errorf("an upgrade would replace pods: line %d, %q, is gone", i+1, before[i])
		case before[i] != now[i]:
			return fmt.Errorf("an upgrade would replace pods: line %d was %q and is %q", i+1, before[i], now[i])
		}
	}
	return nil
}

// keep writes the samples and richer objects of a kind into a release, as an API
// server hands them out, and what is made of them.
func keep[T any](root, release, kind string, build func(*T) any) error {
	var files []string
	for _, folder := range []string{"config/samples", "test/releases/objects"} {
		more, err := filepath.Glob(filepath.Join(root, folder, "*.yaml"))
		if err != nil {
			return err
		}
		files = append(files, more...)
	}
	for _, file := range files {
		obj, err := ReadObject(file)
		if err != nil {
			return err
		}
		if obj.GetKind() != kind {
			continue
		}
		stored, made, err := remade(root, file, build)
		if err != nil {
			return err
		}
		name := strings.ToLower(kind) + "-" + obj.GetName() + ".yaml"
		if err := write(filepath.Join(release, "objects", name), stored); err != nil {
			return err
		}
		if build == nil {
			continue
		}
		if err := write(filepath.Join(release, "workloads", name), made); err != nil {
			return err
		}
	}
	return nil
}

// remade reads an object as an API server with this tree's CRDs hands it out, and
// gives it together with what is made of it.
func remade[T any](root, file string, build func(*T) any) (stored, made []byte, err error) {
	obj, err := ReadObject(file)
	if err != nil {
		return nil, nil, err
	}
	if obj.GetNamespace() == "" {
		obj.SetNamespace("default")
	}
	schema, err := SchemaFor(filepath.Join(root, "config/crd/bases"), obj)
	if err != nil {
		return nil, nil, err
	}
	if strings.HasSuffix(file, "_full.yaml") {
		if err := setPodOptions(obj, schema); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	if err := errors.Join(schema.Read(obj), schema.Validate(obj)); err != nil {
		return nil, nil, err
	}
	if stored, err = yaml.Marshal(obj.Object); err != nil {
		return nil, nil, err
	}
	if build == nil {
		return stored, nil, nil
	}
	var typed T
	if err := yaml.Unmarshal(stored, &typed); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	made, err = yaml.Marshal(build(&typed))
	return stored, made, err
}

// ReadObject reads an object of any kind, whole numbers as such.
func ReadObject(file string) (*unstructured.Unstructured, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{}
	if err := k8syaml.Unmarshal(content, &obj.Object); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return obj, nil
}

// SchemaFor the kind and version of an object, by the CRDs in a folder.
func SchemaFor(folder string, obj *unstructured.Unstructured) (*Schema, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	gvk := obj.GroupVersionKind()
	for _, file := range files {
		crd, err := ReadCRD(file)
		if err != nil {
			return nil, err
		}
		if crd.Spec.Group == gvk.Group && crd.Spec.Names.Kind == gvk.Kind {
			return SchemaOf(crd, gvk.Version)
		}
	}
	return nil, fmt.Errorf("no CRD of %s defines %s", folder, gvk)
}

func write(file string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o644)
}

// setPodOptions sets each option of a pod that the kind's spec has and the object does not set, so that a new option is in one list.
func setPodOptions(obj *unstructured.Unstructured, schema *Schema) error {
	full := builders.FullPodOptions()
	options, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&full)
	if err != nil {
		return err
	}
	spec, _ := obj.Object["spec"].(map[string]any)
	for name, value := range options {
		if _, ok := schema.structural.Properties["spec"].Properties[name]; !ok {
			continue
		}
		if _, ok := spec[name]; !ok {
			spec[name] = value
		}
	}
	return nil
}
