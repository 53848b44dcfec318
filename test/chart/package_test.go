package chart

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func TestHelmLintFindsNothing(t *testing.T) {
	text, err := tool(t, "helm", "lint", "--strict", within(t, chart))
	if err != nil {
		t.Fatal(err)
	}
	if found := regexp.MustCompile(`(?m)^\[\w+\].*`).FindAllString(text, -1); len(found) > 0 {
		t.Errorf("%q", found)
	}
}

// The chart has the version of the operator that it installs by default.
func TestTheChartHasTheVersionOfTheOperator(t *testing.T) {
	content, err := os.ReadFile(within(t, chart+"/Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	about := map[string]any{}
	if err := yaml.UnmarshalStrict(content, &about); err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile(within(t, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^VERSION +\?= (\S+)$`).FindSubmatch(makefile)
	if version == nil || about["version"] != string(version[1]) || about["appVersion"] != "v"+string(version[1]) {
		t.Errorf("the Makefile has VERSION %q, the chart version %v and appVersion %v: run make bundle", version, about["version"],
			about["appVersion"])
	}
}

func TestAnOldKubernetesIsRefused(t *testing.T) {
	if _, err := template(t, "--kube-version", "1.31.0"); err != nil {
		t.Error(err)
	}
	if _, err := template(t, "--kube-version", "1.30.9"); err == nil || !strings.Contains(err.Error(), ">=1.31.0") {
		t.Errorf("1.30.9: %v", err)
	}
}

// Helm keeps the chart and what it has rendered in one Secret, compressed: a release that does not fit cannot be installed.
func TestTheReleaseFitsIntoASecret(t *testing.T) {
	text, err := tool(t, "helm", "install", "mainstay-operator", within(t, chart), "--namespace", namespace, "--dry-run=client",
		"--output", "json")
	if err != nil {
		t.Fatal(err)
	}
	var release struct {
		Manifest string
		Chart    struct{ Files []any }
	}
	if err := json.Unmarshal([]byte(text), &release); err != nil {
		t.Fatal(err)
	}
	if len(release.Manifest) < 1<<20 || len(release.Chart.Files) < 8 {
		t.Fatalf("the release has %d bytes of manifests and %d files of the chart", len(release.Manifest), len(release.Chart.Files))
	}
	var compressed bytes.Buffer
	archive, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	stored := base64.StdEncoding.EncodedLen(compressed.Len())
	t.Logf("the release takes %d bytes, and a Secret has %d", stored, corev1.MaxSecretSize)
	if stored > corev1.MaxSecretSize*9/10 {
		t.Errorf("the release takes %d bytes, and a Secret has %d", stored, corev1.MaxSecretSize)
	}
}
