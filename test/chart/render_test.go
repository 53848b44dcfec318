// Package chart compares what the Helm chart renders with what kustomize builds, and tries its values.
package chart

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/test/cluster"
)

// namespace is where config/default deploys the operator.
const namespace = cluster.OperatorNamespace

// chart is its folder.
const chart = "config/helm"

// within returns the path of a file of the tree.
func within(t *testing.T, path string) string {
	t.Helper()
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, path)
}

// tool runs a program of hack/tools and returns what it prints. The error is in the program's own words.
func tool(t *testing.T, program string, args ...string) (string, error) {
	t.Helper()
	return toolUntil(t.Context(), t, program, args...)
}

// toolUntil is tool, ended with the context.
func toolUntil(ctx context.Context, t *testing.T, program string, args ...string) (string, error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(ctx, within(t, filepath.Join(".bin", program)), args...)
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("%s %s (make chart-check builds it): %w: %s", program, strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}

// template renders the chart without what `helm test` makes.
func template(t *testing.T, args ...string) (map[string]map[string]any, error) {
	t.Helper()
	text, err := tool(t, "helm", append([]string{"template", "mainstay-operator", within(t, chart), "--namespace", namespace, "--skip-tests"},
		args...)...)
	if err != nil {
		return nil, err
	}
	return objectsOf(t, text), nil
}

// rendered is template with values that the chart accepts.
func rendered(t *testing.T, set ...string) map[string]map[string]any {
	t.Helper()
	objects, err := template(t, setting(set)...)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// setting returns the flags that set values, each as key=value.
func setting(values []string) []string {
	var flags []string
	for _, value := range values {
		flags = append(flags, "--set", value)
	}
	return flags
}

// built returns what kustomize makes of a folder.
func built(t *testing.T, folder string) map[string]map[string]any {
	t.Helper()
	text, err := tool(t, "kustomize", "build", within(t, folder))
	if err != nil {
		t.Fatal(err)
	}
	return objectsOf(t, text)
}

// differences returns the paths at which two values differ, with both.
func differences(path string, got, want any) []string {
	left, right := children(got), children(want)
	if left == nil || right == nil {
		if reflect.DeepEqual(got, want) {
			return nil
		}
		return []string{fmt.Sprintf("%s is %v, not %v", path, got, want)}
	}
	var found []string
	for key := range left {
		found = append(found, differences(path+"."+key, left[key], right[key])...)
	}
	for key := range right {
		if _, both := left[key]; !both {
			found = append(found, differences(path+"."+key, nil, right[key])...)
		}
	}
	slices.Sort(found)
	return found
}

// children returns the fields of an object, or the elements of a list by their index; nil for any other value.
func children(value any) map[string]any {
	switch value := value.(type) {
	case map[string]any:
		return value
	case []any:
		elements := map[string]any{}
		for i, element := range value {
			elements[strconv.Itoa(i)] = element
		}
		return elements
	}
	return nil
}
