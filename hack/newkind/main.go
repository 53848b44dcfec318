// Command newkind writes the files of a new kind, and puts it into the lists that a program can extend: `make new-kind GROUP=queue
// VERSION=v1alpha1 KIND=Queue`. What it writes works: a Deployment of an image. `go test ./controllers` then names what remains.
package main

import (
	"bytes"
	"embed"
	"fmt"
	"go/format"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"
)

//go:embed templates/*.tmpl
var templates embed.FS

// files are the files of a kind: each template, and where its result belongs.
var files = map[string]string{
	"types.go.tmpl":            "api/{{.Group}}/{{.Version}}/{{.Lower}}_types.go",
	"controller.go.tmpl":       "controllers/{{.Lower}}/controller.go",
	"resources.go.tmpl":        "controllers/{{.Lower}}/resources.go",
	"resources_test.go.tmpl":   "controllers/{{.Lower}}/resources_test.go",
	"status.go.tmpl":           "controllers/{{.Lower}}/status.go",
	"status_test.go.tmpl":      "controllers/{{.Lower}}/status_test.go",
	"release_test.go.tmpl":     "controllers/{{.Lower}}/release_test.go",
	"integration_test.go.tmpl": "test/integration/{{.Lower}}_test.go",
	"sample.yaml.tmpl":         "config/samples/{{.Group}}_{{.Version}}_{{.Lower}}.yaml",
	"sample_status.yaml.tmpl":  "config/manifests/status/{{.Lower}}.yaml",
	"full.yaml.tmpl":           "test/releases/objects/{{.Lower}}_full.yaml",
}

// groupFile is of a group or version that does not exist yet.
const groupFile = "api/{{.Group}}/{{.Version}}/groupversion_info.go"

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: newkind <group> <version> <kind>, such as: newkind queue v1alpha1 Queue")
		os.Exit(2)
	}
	k := kind{Group: os.Args[1], Version: os.Args[2], Kind: os.Args[3]}
	err := k.validate()
	if err == nil {
		err = k.write(".")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "newkind:", err)
		os.Exit(1)
	}
}

// kind is what the templates are filled with.
type kind struct{ Group, Version, Kind string }

// Domain is the suffix of every API group.
func (kind) Domain() string { return "mainstay-operator.io" }

// Module is the path of the Go module.
func (kind) Module() string { return "github.com/mainstay-operator/mainstay-operator" }

// Lower is the name of the kind's package, and of its files.
func (k kind) Lower() string { return strings.ToLower(k.Kind) }

// Var is the name of a variable that holds an object of the kind.
func (k kind) Var() string { return strings.ToLower(k.Kind[:1]) + k.Kind[1:] }

// Receiver is the name of the receiver of the type's methods.
func (k kind) Receiver() string { return strings.ToLower(k.Kind[:1]) }

// Import is the name by which other packages import the types.
func (k kind) Import() string { return k.Group + k.Version }

// Plural is the name of the resource.
func (k kind) Plural() string {
	name := k.Lower()
	switch {
	case regexp.MustCompile(`[^aeiou]y$`).MatchString(name):
		return strings.TrimSuffix(name, "y") + "ies"
	case regexp.MustCompile(`(s|x|z|ch|sh)$`).MatchString(name):
		return name + "es"
	}
	return name + "s"
}

func (k kind) validate() error {
	for _, part := range []struct{ name, value, pattern string }{
		{"the group", k.Group, `^[a-z][a-z0-9]*$`},
		{"the version", k.Version, `^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$`},
		{"the kind", k.Kind, `^[A-Z][A-Za-z0-9]+$`},
	} {
		if !regexp.MustCompile(part.pattern).MatchString(part.value) {
			return fmt.Errorf("%s %q must match %s", part.name, part.value, part.pattern)
		}
	}
	if token.IsKeyword(k.Lower()) {
		return fmt.Errorf("the kind %s would have a keyword of Go as its package", k.Kind)
	}
	return nil
}

// write writes the files of the kind below root, and extends the lists. It changes nothing if the kind exists.
func (k kind) write(root string) error {
	taken := []string{"controllers/" + k.Lower()}
	for _, path := range files {
		taken = append(taken, k.fill(path)) // the folder of a kind may have another name, as that of EtcdCluster
	}
	slices.Sort(taken)
	for _, path := range taken {
		if _, err := os.Stat(filepath.Join(root, path)); err == nil {
			return fmt.Errorf("%s exists: choose another kind, or delete what is left of this one", path)
		}
	}
	_, err := os.Stat(filepath.Join(root, k.fill(groupFile)))
	isNewVersion := err != nil
	changed, err := k.extendLists(root, isNewVersion)
	if err != nil {
		return err
	}
	written := map[string]string{}
	for name, path := range files {
		written[name] = path
	}
	if isNewVersion {
		written["groupversion_info.go.tmpl"] = groupFile
	}
	for name, path := range written {
		text, err := templates.ReadFile("templates/" + name)
		if err != nil {
			return err
		}
		changed[k.fill(path)] = []byte(k.fill(string(text)))
	}
	for path, text := range changed {
		if err := writeFile(filepath.Join(root, path), text); err != nil {
			return err
		}
	}
	return nil
}

// fill fills a template, all of which this program brings along.
func (k kind) fill(text string) string {
	var filled bytes.Buffer
	if err := template.Must(template.New("").Parse(text)).Execute(&filled, k); err != nil {
		panic(err)
	}
	return filled.String()
}

func writeFile(path string, text []byte) error {
	if strings.HasSuffix(path, ".go") {
		formatted, err := format.Source(text)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		text = formatted
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}
