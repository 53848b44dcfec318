package main

import (
	"slices"
	"strings"
	"testing"
)

func TestPin(t *testing.T) {
	for text, want := range map[string]string{
		"image: r/a:v1\n":                     "image: r/a:v1@d\n",
		"value: \"r/a:v1\"":                   "value: \"r/a:v1@d\"",
		"- r/a:v1\n- r/a:v1\n":                "- r/a:v1@d\n- r/a:v1@d\n",
		"image: r/a:v1-rc.1\nimage: r/a:v1\n": "image: r/a:v1-rc.1\nimage: r/a:v1@d\n",
		"image: other/r/a:v1\n":               "",
		"image: r/a:v1@d\n":                   "",
	} {
		if got, err := pin(text, "r/a:v1", "r/a:v1@d"); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

// What deletes the operator must not delete the definitions, and with them every object.
func TestSplitCRDs(t *testing.T) {
	crds, operator, err := splitCRDs(testManifests)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(crds, "apiVersion: apiextensions.k8s.io/v1\n") || strings.Contains(crds, separator) {
		t.Errorf("the definitions are %q", crds)
	}
	if definesKind.MatchString(operator) || strings.Count(operator, separator) != 1 || !strings.HasSuffix(operator, "v1.2.3\n") {
		t.Errorf("the operator is %q", operator)
	}
	for _, manifests := range []string{crds, operator} {
		if _, _, err := splitCRDs(manifests); err == nil {
			t.Errorf("%q must be an error", manifests)
		}
	}
}

func TestOperandsOfTheManager(t *testing.T) {
	images, err := operands(readText(t, "../../config/manager/manager.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(images) < 8 || slices.ContainsFunc(images, func(image string) bool { return strings.Contains(image, "controller") }) {
		t.Errorf("the operands are %q", images)
	}
	if _, err := operands("kind: Service\n"); err == nil {
		t.Error("manifests without a Deployment must be an error")
	}
}

func TestProgramsOfTheDockerfile(t *testing.T) {
	programs, err := programsOf(readText(t, "../../Dockerfile"))
	want := []program{{"manager", "."}, {"guard", "./controllers/activity/guard"}, {"etcd-launcher", "./controllers/etcd/launcher"},
		{"backup-runner", "./controllers/backup/runner"}}
	if err != nil || !slices.Equal(programs, want) {
		t.Errorf("%q, %v", programs, err)
	}
	if _, err := programsOf("FROM scratch\n"); err == nil {
		t.Error("a Dockerfile that builds nothing must be an error")
	}
}
