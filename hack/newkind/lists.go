package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// list is a file that names every kind, or every group.
type list struct {
	path string
	// after is a pattern: the new text follows its last match.
	after string
	text  string
}

const entry = `	{
		object: &{{.Import}}.{{.Kind}}{}, owned: {{.Lower}}.Owned, page: "{{.Lower}}.md",
		newReconciler: func(s shared) reconciler {
			return &{{.Lower}}.Reconciler{Converger: s.converger("{{.Lower}}")}
		},
	},
`

// lists are those that each kind is put into.
var lists = []list{
	{"controllers/kinds.go", `(?s)var kinds = \[\]kind\{\n.*?\n\t\},\n(\}\n)`, entry},
	{"controllers/kinds.go", `mainstay-operator/api"\n`, `	"{{.Module}}/controllers/{{.Lower}}"` + "\n"},
	{"config/crd/kustomization.yaml", `- bases/.*\n`, "- bases/{{.Group}}.{{.Domain}}_{{.Plural}}.yaml\n"},
	{"config/samples/kustomization.yaml", `- .*\n`, "- {{.Group}}_{{.Version}}_{{.Lower}}.yaml\n"},
	{"config/gitops/argocd-cm.yaml", `  resource\.customizations\.health\..*: \*health\n`,
		"  resource.customizations.health.{{.Group}}.{{.Domain}}_{{.Kind}}: *health\n"},
	{"config/manifests/kustomization.yaml", `- path: status/.*\n`, "- path: status/{{.Lower}}.yaml\n"},
	{"PROJECT", `  version: v.*\n`, `- api:
    crdVersion: v1
    namespaced: true
  controller: true
  domain: {{.Domain}}
  group: {{.Group}}
  kind: {{.Kind}}
  path: {{.Module}}/api/{{.Group}}/{{.Version}}
  version: {{.Version}}
`},
}

const apiImport = `	{{.Import}} "{{.Module}}/api/{{.Group}}/{{.Version}}"` + "\n"

// versionLists are those that a new group or version is put into.
var versionLists = []list{
	{"controllers/kinds.go", `mainstay-operator/api"\n`, apiImport},
	{"api/scheme.go", `\t[a-z0-9]+ ".*"\n`, apiImport},
	{"api/scheme.go", `\t\t[a-z0-9]+\.AddToScheme\(scheme\),\n`, "\t\t{{.Import}}.AddToScheme(scheme),\n"},
}

const roles = "config/rbac/user_roles.yaml"

// extendLists returns the changed content of each list, by its path.
func (k kind) extendLists(root string, isNewVersion bool) (map[string][]byte, error) {
	all := append([]list{}, lists...)
	if isNewVersion {
		all = append(all, versionLists...)
	}
	changed := map[string][]byte{}
	read := func(path string) ([]byte, error) {
		if text, ok := changed[path]; ok {
			return text, nil
		}
		return os.ReadFile(filepath.Join(root, path))
	}
	for _, l := range all {
		text, err := read(l.path)
		if err != nil {
			return nil, err
		}
		if changed[l.path], err = l.extend(text, k.fill(l.text)); err != nil {
			return nil, err
		}
	}
	text, err := read(roles)
	if err != nil {
		return nil, err
	}
	changed[roles] = k.extendRoles(text)
	return changed, nil
}

// extend puts a text behind the last match of the list; if the pattern has a group, before that group.
func (l list) extend(text []byte, addition string) ([]byte, error) {
	matches := regexp.MustCompile(l.after).FindAllSubmatchIndex(text, -1)
	if len(matches) == 0 {
		return nil, fmt.Errorf("%s has no %s, which the new lines would follow", l.path, l.after)
	}
	last := matches[len(matches)-1]
	at := last[1]
	if len(last) > 2 {
		at = last[2]
	}
	return append(append(append([]byte{}, text[:at]...), addition...), text[at:]...), nil
}

// extendRoles lets editors write the kind, and viewers read its group.
func (k kind) extendRoles(text []byte) []byte {
	group, resources := k.Group+"."+k.Domain(), k.Plural()+", "+k.Plural()+"/scale"
	known := regexp.MustCompile(`(?m)^(- apiGroups: \[` + regexp.QuoteMeta(group) + `\]\n  resources: \[.*)\]$`)
	if known.Match(text) {
		return known.ReplaceAll(text, []byte("${1}, "+resources+"]"))
	}
	rule := "- apiGroups: [" + group + "]\n  resources: [" + resources + "]\n  verbs: *write\n"
	text = regexp.MustCompile(`(?m)^---$`).ReplaceAll(text, []byte(rule+"---"))
	viewers := regexp.MustCompile(`(?m)^(- apiGroups: \[.*)(\]\n  resources: \["\*"\])$`)
	return viewers.ReplaceAll(text, []byte("${1}, "+group+"${2}"))
}
