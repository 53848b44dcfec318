package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/mainstay-operator/mainstay-operator/test/console"
)

const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: masts.ship.example
spec:
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer}
              args: {type: array, items: {type: string}}
              labels: {type: object, additionalProperties: {type: string}}
              resources: {type: object, properties: {claims: {type: array}, limits: {type: object}, requests: {type: object}}}
              ports:
                type: array
                items:
                  type: object
                  properties:
                    name: {type: string}
                    hosts: {type: array, items: {type: string}}
                    from: {type: object, properties: {podSelector: {type: object, properties: {matchLabels: {}, matchExpressions: {}}}}}
              store:
                type: object
                properties:
                  volume: {type: object, properties: {claimName: {type: string}}}
                  s3: {type: object, properties: {bucketName: {type: string}, caSecretName: {type: string}}}
          status:
            type: object
            properties:
              nodes: {type: array, items: {type: string}}
`

const csv = `
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: ship.v1.0.0
spec:
  customresourcedefinitions:
    owned:
    - kind: Mast
      name: masts.ship.example
      version: v1
      specDescriptors:
      - path: args
      - path: labels
        x-descriptors: ["urn:alm:descriptor:com.tectonic.ui:advanced"]
      - path: ports
      - path: resources
        x-descriptors: ["urn:alm:descriptor:com.tectonic.ui:resourceRequirements"]
      - path: size
      - path: store
        displayName: Store
        description: where it is kept
      - path: store.s3.bucketName
        displayName: Bucket
      statusDescriptors:
      - path: nodes
`

func folderOf(t *testing.T, crd string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "crd.yaml"), []byte(crd), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// completed is the kind as the program prints it.
func completed(t *testing.T, crd, csv string) operators.CRDDescription {
	t.Helper()
	var out bytes.Buffer
	if err := run(folderOf(t, crd), strings.NewReader(csv), &out); err != nil {
		t.Fatal(err)
	}
	var read operators.ClusterServiceVersion
	if err := yaml.Unmarshal(bytes.TrimPrefix(out.Bytes(), []byte("---\n")), &read); err != nil {
		t.Fatal(err)
	}
	return read.Spec.CustomResourceDefinitions.Owned[0]
}

func TestEachListAndMapIsShown(t *testing.T) {
	kind := completed(t, crd, csv)
	var got []string
	for _, d := range kind.SpecDescriptors {
		got = append(got, strings.Join(append([]string{d.Path, d.DisplayName}, d.XDescriptors...), " | "))
	}
	want := []string{
		"args | ", "args[0] | Args",
		"labels |  | urn:alm:descriptor:com.tectonic.ui:advanced | " + console.Label,
		"ports | ", "ports[0].from.podSelector | From Pod Selector | " + console.Selector + "core:v1:Pod", "ports[0].name | Name",
		"resources |  | " + console.ResourceRequirements,
		"size | ",
		"store | Store", "store.s3.caSecretName | S3 Ca Secret Name | " + console.Kubernetes + "Secret",
		"store.volume.claimName | Volume Claim Name | " + console.Kubernetes + "PersistentVolumeClaim",
		"store.s3.bucketName | Bucket",
	}
	if !slices.Equal(got, want) {
		t.Errorf("\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(kind.StatusDescriptors) != 2 || kind.StatusDescriptors[1].Path != "nodes[0]" {
		t.Errorf("the status has %v", kind.StatusDescriptors)
	}
}

func TestACompleteOneStaysAsItIs(t *testing.T) {
	folder := folderOf(t, crd)
	var once, twice bytes.Buffer
	if err := run(folder, strings.NewReader(csv), &once); err != nil {
		t.Fatal(err)
	}
	if err := run(folder, bytes.NewReader(once.Bytes()), &twice); err != nil {
		t.Fatal(err)
	}
	if once.String() != twice.String() {
		t.Errorf("it added more the second time:\n%s", twice.String())
	}
}

func TestOtherManifestsAreCopied(t *testing.T) {
	const other = "# A comment.\nkind:   Service\nmetadata: {name: ship}"
	var out bytes.Buffer
	if err := run(folderOf(t, crd), strings.NewReader(csv+"---\n"+other+"\n"), &out); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(out.String(), "---\n"+other+"\n") {
		t.Errorf("the Service is not as it was:\n%s", out.String())
	}
}

func TestTheDeepestFieldsOfManyAreLeftOut(t *testing.T) {
	fields := "name: {type: string}, deep: {type: object, properties: {"
	for i := range most {
		fields += string(rune('a'+i)) + ": {type: string}, "
	}
	large := strings.Replace(crd, "args: {type: array, items: {type: string}}",
		"args: {type: array, items: {type: object, properties: {"+fields+"}}}}}", 1)
	var below []string
	for _, d := range completed(t, large, csv).SpecDescriptors {
		if console.IsBelow(d.Path, "args") {
			below = append(below, d.Path)
		}
	}
	if !slices.Equal(below, []string{"args[0].name"}) {
		t.Errorf("below args are %v", below)
	}
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	for words, in := range map[string]string{
		"there is no CRD masts.ship.other: make manifests": strings.ReplaceAll(csv, "masts.ship.example", "masts.ship.other"),
		"0 ClusterServiceVersions were read":               "kind: Service\n",
		"2 ClusterServiceVersions were read":               csv + "---" + csv,
		"owns no kind":                                     "kind: ClusterServiceVersion\nmetadata: {name: ship.v1.0.0}\n",
		"has no spec in version v2":                        strings.Replace(csv, "version: v1\n", "version: v2\n", 1),
	} {
		if err := run(folderOf(t, crd), strings.NewReader(in), &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("not %q but %v", words, err)
		}
	}
}
