package olm

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"sigs.k8s.io/yaml"
)

// lookUp the value at a path of a document; nil if there is none.
func lookUp(document any, path string) any {
	if fields, ok := document.(map[string]any); ok && fields[path] != nil {
		return fields[path] // an annotation, whose name has dots
	}
	first, rest, deeper := strings.Cut(path, ".")
	fields, _ := document.(map[string]any)
	if !deeper || fields[first] == nil {
		return fields[first]
	}
	return lookUp(fields[first], rest)
}

func textAt(document any, path string) string {
	text, _ := lookUp(document, path).(string)
	return text
}

// texts of a list; what is no text is left out.
func texts(value any) []string {
	var found []string
	list, _ := value.([]any)
	for _, v := range list {
		if text, ok := v.(string); ok {
			found = append(found, text)
		}
	}
	return found
}

// mapsIn a list; what is no map is left out.
func mapsIn(value any) []map[string]any {
	var found []map[string]any
	list, _ := value.([]any)
	for _, v := range list {
		if fields, ok := v.(map[string]any); ok {
			found = append(found, fields)
		}
	}
	return found
}

// bySchema says what in a file does not comply with a schema.
func bySchema(schema, file string, value map[string]any) []finding {
	var external apiextensionsv1.JSONSchemaProps
	var internal apiextensions.JSONSchemaProps
	if err := yaml.UnmarshalStrict([]byte(schema), &external); err != nil {
		return []finding{fail("the schema of %s: %s", file, err)}
	}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&external, &internal, nil); err != nil {
		return []finding{fail("the schema of %s: %s", file, err)}
	}
	validator, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		return []finding{fail("the schema of %s: %s", file, err)}
	}
	var found []finding
	for _, fault := range validation.ValidateCustomResource(nil, value, validator) {
		found = append(found, fail("%s: %s", file, fault))
	}
	return found
}

// requiredFields are those that the pipeline wants in a ClusterServiceVersion, and what it wants of their values. A fatal one fails.
var requiredFields = []struct {
	path  string
	valid func(value any) bool
	fatal bool
}{
	{"metadata.annotations.capabilities", oneOf("Basic Install", "Seamless Upgrades", "Full Lifecycle", "Deep Insights", "Auto Pilot"), false},
	{"metadata.annotations.categories", eachOf("AI/Machine Learning", "Application Runtime", "Big Data", "Cloud Provider", "Developer Tools",
		"Database", "Drivers and plugins", "Integration & Delivery", "Logging & Tracing", "Modernization & Migration", "Monitoring",
		"Networking", "OpenShift Optional", "Security", "Storage", "Streaming & Messaging"), false},
	{"metadata.annotations.containerImage", like(`^([^/]+/)+[^/:]+:.+`), false},
	{"metadata.annotations.createdAt", isTime, false},
	{"metadata.annotations.repository", like(`^https?://.+`), false},
	{"metadata.annotations.support", like(`(?s)^.{3,}`), false},
	{"metadata.annotations.description", like(`(?s)^.{10,}`), false},
	{"spec.displayName", like(`^.{3,50}`), true},
	{"spec.description", like(`(?s)^.{20,}`), true},
	{"spec.icon", isIcon, true},
	{"spec.version", isVersion, true},
	{"spec.maintainers", haveTexts("name", "email"), true},
	{"spec.provider.name", like(`^.{3,}`), true},
	{"spec.links", haveTexts("name", "url"), true},
	{"spec.keywords", areTexts, false},
}

func checkRequiredFields(s *submission) []finding {
	var found []finding
	for _, field := range requiredFields {
		value, says := annotated(s.newest.csv, field.path), "an invalid value for"
		if value != nil && field.valid(value) {
			continue
		}
		if value == nil {
			says = "no"
		}
		found = append(found, finding{field.fatal, fmt.Sprintf("the ClusterServiceVersion has %s %s", says, field.path)})
	}
	return found
}

// annotated looks a path up, whose last part may be an annotation.
func annotated(csv map[string]any, path string) any {
	if name, ok := strings.CutPrefix(path, "metadata.annotations."); ok {
		return lookUp(lookUp(csv, "metadata.annotations"), name)
	}
	return lookUp(csv, path)
}

func oneOf(known ...string) func(any) bool {
	return func(value any) bool {
		text, ok := value.(string)
		return ok && slices.Contains(known, text)
	}
}

func eachOf(known ...string) func(any) bool {
	return func(value any) bool {
		for part := range strings.SplitSeq(fmt.Sprint(value), ",") {
			if !slices.Contains(known, strings.TrimSpace(part)) {
				return false
			}
		}
		return true
	}
}

func like(pattern string) func(any) bool {
	expression := regexp.MustCompile(pattern)
	return func(value any) bool { return expression.MatchString(fmt.Sprint(value)) }
}

func isTime(value any) bool {
	for _, layout := range []string{time.RFC3339, time.DateTime, time.DateOnly} {
		if _, err := time.Parse(layout, fmt.Sprint(value)); err == nil {
			return true
		}
	}
	return false
}

func isVersion(value any) bool {
	text, ok := value.(string)
	return ok && semver.IsValid("v"+text) && strings.Count(semver.Canonical("v"+text), ".") == strings.Count("v"+text, ".")
}

// haveTexts reports whether a list has entries, each with these texts.
func haveTexts(names ...string) func(any) bool {
	return func(value any) bool {
		list, _ := value.([]any)
		for _, entry := range list {
			for _, name := range names {
				fields, _ := entry.(map[string]any)
				if _, ok := fields[name].(string); !ok {
					return false
				}
			}
		}
		return len(list) > 0
	}
}

func areTexts(value any) bool {
	list, _ := value.([]any)
	return len(list) > 0 && len(texts(value)) == len(list)
}

func isIcon(value any) bool {
	if !haveTexts("base64data", "mediatype")(value) {
		return false
	}
	for _, icon := range mapsIn(value) {
		data := strings.Join(strings.Fields(icon["base64data"].(string)), "")
		if _, err := base64.StdEncoding.DecodeString(data); err != nil || len(data) < 4 {
			return false
		}
		if !oneOf("image/png", "image/jpeg", "image/gif", "image/svg+xml")(icon["mediatype"]) {
			return false
		}
	}
	return true
}
