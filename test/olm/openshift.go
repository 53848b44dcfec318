package olm

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/mainstay-operator/mainstay-operator/test/console"
	"github.com/mainstay-operator/mainstay-operator/test/releases"
)

const featurePrefix = "features.operators.openshift.io/"

// feature of an operator, which OpenShift's console shows and filters by.
type feature struct {
	has    bool
	reason string
}

// features are all that a bundle must claim or deny. What is claimed is proven: a test that shows it is its reason.
var features = map[string]feature{
	"disconnected": {false, "the tree's bundle names images by tag, and a mirror of OpenShift serves digests alone"},
	"fips-compliant": {false, "the programs are built with Go's own cryptography, without a validated module, and others build the images " +
		"of Redis, etcd and memcached"},
	"proxy-aware": {false, "the pods of backups connect to their store directly, and get no HTTPS_PROXY from the manager"},
	"tls-profiles": {false, "servers of ours ask for TLS 1.2 or newer, whatever the cluster's APIServer object says, and those of objects " +
		"for what their images do"},
	"token-auth-aws":   {false, "the store of a backup is opened with the keys in a Secret, never with a token of AWS STS"},
	"token-auth-azure": {false, "no call goes to Azure"},
	"token-auth-gcp":   {false, "no call goes to Google Cloud: its store is opened by its S3 interface, with the keys in a Secret"},
	"cnf":              {false, "no kind is a network function"},
	"cni":              {false, "it is no network plugin"},
	"csi":              {false, "it is no storage driver: volumes come from the StorageClass of the cluster"},
}

// checkFeatures compares what a bundle claims with features.
func checkFeatures(csv *operators.ClusterServiceVersion) error {
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(features)) {
		if want, has := fmt.Sprint(features[name].has), csv.Annotations[featurePrefix+name]; has != want {
			faults = append(faults, fmt.Errorf("the annotation %s is %q, not %q, for %s", featurePrefix+name, has, want, features[name].reason))
		}
	}
	for _, annotation := range slices.Sorted(maps.Keys(csv.Annotations)) {
		if name, ok := strings.CutPrefix(annotation, featurePrefix); ok {
			if _, known := features[name]; !known {
				faults = append(faults, fmt.Errorf("the annotation %s is of no feature that test/olm/openshift.go has", annotation))
			}
		}
	}
	return errors.Join(faults...)
}

// firstOpenshift is the selector of the first version of OpenShift that has this version of Kubernetes, and of all newer ones.
func firstOpenshift(minKubeVersion string) (string, error) {
	oldest, err := minorOf(minKubeVersion, 1)
	if err != nil {
		return "", err
	}
	for openshift := 1; openshift <= newestOpenshift; openshift++ {
		if kubernetesIn(openshift) >= oldest {
			return fmt.Sprintf("v4.%d", openshift), nil
		}
	}
	return "", fmt.Errorf("no OpenShift has Kubernetes %s", minKubeVersion)
}

// channelOf a bundle of this maturity, by OLM's names of channels: what may still change is a candidate for the next users.
var channelOf = map[string]string{"alpha": "candidate", "beta": "fast", "stable": "stable", "mature": "stable"}

// checkMaturity finds a channel that promises more, or less, than the maturity.
func checkMaturity(csv *operators.ClusterServiceVersion, annotations map[string]any) error {
	channel, ok := channelOf[csv.Spec.Maturity]
	if !ok {
		return fmt.Errorf("no channel is known for the maturity %q", csv.Spec.Maturity)
	}
	var faults []error
	for _, annotation := range []string{bundleChannels, bundleDefault} {
		if has := textAt(annotations, annotation); has != channel {
			faults = append(faults, fmt.Errorf("%s is %q, not %q, as the maturity is %s", annotation, has, channel, csv.Spec.Maturity))
		}
	}
	if (csv.Spec.Version.Major == 0) != (channel != channelOf["stable"]) {
		faults = append(faults, fmt.Errorf("version %s is in channel %s: a version before 1.0.0 is in none that is stable, a later one is",
			csv.Spec.Version, channel))
	}
	return errors.Join(faults...)
}

// checkInitialization finds an initialization-resource that is none of the examples. The console offers it after an installation.
func checkInitialization(csv *operators.ClusterServiceVersion) error {
	var first map[string]any
	if err := json.Unmarshal([]byte(csv.Annotations["operatorframework.io/initialization-resource"]), &first); err != nil {
		return fmt.Errorf("the initialization-resource: %w", err)
	}
	var examples []map[string]any
	if err := json.Unmarshal([]byte(csv.Annotations["alm-examples"]), &examples); err != nil {
		return fmt.Errorf("the alm-examples: %w", err)
	}
	for _, example := range examples {
		delete(example, "status")
		if reflect.DeepEqual(example, first) {
			return nil
		}
	}
	return errors.New("the initialization-resource is none of the alm-examples")
}

// checkDescriptors finds fields of the objects in a bundle that OpenShift's console would not show.
func checkDescriptors(csv *operators.ClusterServiceVersion, manifests string) error {
	crds, err := releases.ReadCRDs(manifests)
	if err != nil {
		return err
	}
	var faults []error
	for _, owned := range csv.Spec.CustomResourceDefinitions.Owned {
		crd, ok := crds[owned.Name]
		if !ok {
			faults = append(faults, fmt.Errorf("there is no CRD %s", owned.Name))
			continue
		}
		for section, descriptors := range map[string][]console.Descriptor{"spec": console.Spec(owned), "status": console.Status(owned)} {
			schema, err := console.Schema(crd, owned.Version, section)
			if err == nil {
				err = console.Check(schema, descriptors)
			}
			if err != nil {
				faults = append(faults, fmt.Errorf("%s of %s: %w", section, owned.Kind, err))
			}
		}
	}
	return errors.Join(faults...)
}
