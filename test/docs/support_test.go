package docs

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

var (
	// rowOfKinds is a row of the README's table of kinds: the kinds, their API version, and the release that was the first to have them.
	rowOfKinds     = regexp.MustCompile("(?m)^\\| \\[([\\w, ]+)\\]\\([^)]*\\) \\| .* \\| `(v\\w+)`, ([\\d.]+) \\| ")
	aRelease       = regexp.MustCompile(`(?m)^## \[([\w.]+)\]`)
	theNextRelease = regexp.MustCompile(`The next release is ([\d.]+)\.`)
	defaultImage   = regexp.MustCompile(`value: (\S+/\S+:\S+)`)
	oldestAccepted = regexp.MustCompile(`minKubeVersion: (\d+\.\d+)`)
	kubernetesHere = regexp.MustCompile(`k8s\.io/kubernetes v(\S+)`)
)

// The README says of each kind which version its API has, and since which release it is there.
func TestTheReadmeSaysHowMatureAKindIs(t *testing.T) {
	readme, changelog, versions := readPage(t, "README.md"), readPage(t, "CHANGELOG.md"), versionsOf(t)
	for _, fault := range maturityFaults(readme, changelog, versions) {
		t.Error(fault)
	}
	planted := 0
	for _, row := range rowOfKinds.FindAllStringSubmatch(readme, -1) {
		for _, other := range []string{
			strings.Replace(row[0], "`"+row[2]+"`", "`v9`", 1), strings.Replace(row[0], ", "+row[3]+" |", ", 9.9.9 |", 1), "| none | none | ",
		} {
			if planted++; len(maturityFaults(strings.Replace(readme, row[0], other, 1), changelog, versions)) == 0 {
				t.Errorf("the README says %q instead of %q, and nothing is found", other, row[0])
			}
		}
	}
	if planted < 20 {
		t.Errorf("only %d rows were changed", planted)
	}
}

// maturityFaults compares the README's table of kinds with the versions of the CRDs, and with the oldest release that names a kind.
func maturityFaults(readme, changelog string, versions map[string]string) []string {
	said := map[string][]string{}
	for _, row := range rowOfKinds.FindAllStringSubmatch(readme, -1) {
		for kind := range strings.SplitSeq(row[1], ", ") {
			said[kind] = row[2:]
		}
	}
	var faults []string
	for kind, version := range versions {
		switch since := firstRelease(changelog, kind); {
		case said[kind] == nil:
			faults = append(faults, fmt.Sprintf("the README's table of kinds has no %s", kind))
		case said[kind][0] != version || said[kind][1] != since:
			faults = append(faults, fmt.Sprintf("the README says that %s is %q, and it is %s since %s", kind, said[kind], version, since))
		}
	}
	return faults
}

// firstRelease returns the oldest release whose changes name a kind; the newest release comes first in a changelog.
func firstRelease(changelog, kind string) string {
	named, first := regexp.MustCompile(`\b`+kind+`\b`), ""
	starts := aRelease.FindAllStringSubmatchIndex(changelog, -1)
	for i, start := range starts {
		end := len(changelog)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		changes := changelog[start[0]:end]
		if !named.MatchString(changes) {
			continue
		}
		first = changelog[start[2]:start[3]]
		if next := theNextRelease.FindStringSubmatch(changes); next != nil {
			first = next[1]
		}
	}
	return first
}

// docs/support.md names what the operator accepts and what is run here.
func TestWhatIsSupportedIsWhatIsUsed(t *testing.T) {
	page := readPage(t, "docs/support.md")
	used := []string{
		"| Kubernetes | " + oldestAccepted.FindStringSubmatch(readPage(t, csvBase))[1] + " or newer | ",
		" | " + kubernetesHere.FindStringSubmatch(readPage(t, "hack/tools/kubernetes/go.mod"))[1] + ",",
	}
	for _, image := range defaultImage.FindAllStringSubmatch(readPage(t, "config/manager/manager.yaml"), -1) {
		used = append(used, "`"+image[1]+"`")
	}
	for _, version := range used {
		if !strings.Contains(page, version) {
			t.Errorf("docs/support.md does not say %q", version)
		}
	}
	if len(used) < 10 {
		t.Errorf("only these were looked for: %q", used)
	}
}

// versionsOf returns the API version of each kind.
func versionsOf(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root(t), "config/crd/bases/*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, file := range files {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal([]byte(readPage(t, "config/crd/bases/"+filepath.Base(file))), &crd); err != nil {
			t.Fatal(err)
		}
		versions[crd.Spec.Names.Kind] = crd.Spec.Versions[0].Name
	}
	if len(versions) == 0 {
		t.Fatal("config/crd/bases has no kind")
	}
	return versions
}
