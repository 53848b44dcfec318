package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

const separator = "---\n"

var definesKind = regexp.MustCompile(`(?m)^kind: CustomResourceDefinition$`)

// splitCRDs returns the custom resource definitions of manifests, and all others. To delete a definition deletes every object of
// its kind, so users who delete the operator need a file without them.
func splitCRDs(manifests string) (crds, operator string, err error) {
	var definitions, others []string
	for document := range strings.SplitSeq(manifests, "\n"+separator) {
		document = strings.TrimSuffix(strings.TrimPrefix(document, separator), "\n") + "\n"
		if definesKind.MatchString(document) {
			definitions = append(definitions, document)
		} else {
			others = append(others, document)
		}
	}
	if len(definitions) == 0 || len(others) == 0 {
		return "", "", fmt.Errorf("the manifests have %d custom resource definitions and %d other objects", len(definitions), len(others))
	}
	return strings.Join(definitions, separator), strings.Join(others, separator), nil
}

// operands are the images that the operator's objects run by default, in the order of the manager's variables.
func operands(manifests string) ([]string, error) {
	type container struct {
		Env []struct{ Name, Value string }
	}
	type object struct {
		Kind string
		Spec struct {
			Template struct {
				Spec struct{ Containers []container }
			}
		}
	}
	var images []string
	for document := range strings.SplitSeq(manifests, "\n"+separator) {
		var found object
		if !strings.Contains(document, "\nkind: Deployment\n") {
			continue
		}
		if err := yaml.Unmarshal([]byte(document), &found); err != nil {
			return nil, fmt.Errorf("the operator's Deployment: %w", err)
		}
		for _, c := range found.Spec.Template.Spec.Containers {
			for _, variable := range c.Env {
				if strings.HasPrefix(variable.Name, "RELATED_IMAGE_") && variable.Name != "RELATED_IMAGE_OPERATOR" {
					images = append(images, variable.Value)
				}
			}
		}
	}
	if len(images) == 0 {
		return nil, errors.New("the operator's Deployment has no RELATED_IMAGE_*")
	}
	return images, nil
}
