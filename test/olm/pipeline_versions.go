package olm

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var minorVersion = regexp.MustCompile(`^v?(\d+)\.(\d+)(\.\d+)?$`)

// minorOf a version such as 1.31.0 or v4.18, which must be of this major version.
func minorOf(version string, major int) (int, error) {
	found := minorVersion.FindStringSubmatch(strings.TrimSpace(version))
	if found == nil || found[1] != strconv.Itoa(major) {
		return 0, fmt.Errorf("%q is no version %d.x", version, major)
	}
	return strconv.Atoi(found[2])
}

// kubernetesIn is the minor version of Kubernetes in a minor version of OpenShift 4: 4.1 has 1.13, 4.2 has 1.14, and since 4.3 each has
// the one after that of the version before it: 1.16, 1.17 and so on.
func kubernetesIn(openshift int) int {
	if openshift < 3 {
		return openshift + 12
	}
	return openshift + 13
}

// newestOpenshift bounds the versions that are compared: a selector such as v4.18 has no end.
const newestOpenshift = 40

// selected are the first and the last minor version of OpenShift 4 that com.redhat.openshift.versions selects. It is v4.18 for that
// version and all newer ones, =v4.18 for that one, or v4.18-v4.20. The only lists with commas that Red Hat's guide allows
// are v4.5,v4.6 and v4.6,v4.5, which both mean v4.5.
func selected(selector string) (first, last int, err error) {
	selector = strings.TrimSpace(selector)
	if selector == "v4.5,v4.6" || selector == "v4.6,v4.5" {
		selector = "v4.5"
	}
	from, to, isRange := strings.Cut(selector, "-")
	from, exact := strings.CutPrefix(from, "=")
	if first, err = minorOf(from, 4); err != nil {
		return 0, 0, err
	}
	switch {
	case isRange && exact:
		return 0, 0, fmt.Errorf("%q is a single version and a range", selector)
	case isRange:
		last, err = minorOf(to, 4)
	case exact:
		last = first
	default:
		last = newestOpenshift
	}
	return first, last, err
}

// checkVersions finds versions of OpenShift that a bundle selects, and whose Kubernetes is older than its minKubeVersion.
func checkVersions(s *submission) []finding {
	minimum, selector := textAt(s.newest.csv, "spec.minKubeVersion"), textAt(s.newest.annotations, openshiftVersions)
	if minimum == "" {
		return nil
	}
	oldest, err := minorOf(minimum, 1)
	if err != nil {
		return []finding{fail("minKubeVersion: %s", err)}
	}
	if selector == "" {
		return []finding{fail("minKubeVersion is %s, and annotations.yaml has no %s", minimum, openshiftVersions)}
	}
	first, last, err := selected(selector)
	if err != nil {
		return []finding{fail("%s: %s", openshiftVersions, err)}
	}
	var found []finding
	for openshift := first; openshift <= last; openshift++ {
		if kubernetesIn(openshift) < oldest {
			found = append(found, fail("OpenShift 4.%d has Kubernetes 1.%d, and minKubeVersion is %s", openshift, kubernetesIn(openshift), minimum))
		}
	}
	return found
}
