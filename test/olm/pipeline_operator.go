package olm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ciSchema is what the pipeline's schema of ci.yaml says, and releaseSchema that of release-config.yaml.
const (
	ciSchema = `
type: object
properties:
  updateGraph: {type: string, enum: [replaces-mode, semver-mode]}
  reviewers: {type: array, minItems: 1, items: {type: string}}
  merge: {type: boolean}
  cert_project_id: {type: string}
  fbc:
    type: object
    additionalProperties: false
    properties:
      enabled: {type: boolean}
      version_promotion_strategy: {type: string, enum: [review-needed, always, never]}
      catalog_mapping:
        type: array
        items:
          type: object
          required: [template_name, type, catalog_names]
          properties:
            template_name: {type: string}
            type: {type: string, enum: [olm.template.basic, olm.semver]}
            catalog_names: {type: array, minItems: 1, uniqueItems: true, items: {type: string}}
`
	releaseSchema = `
type: object
additionalProperties: false
required: [catalog_templates]
properties:
  merge: {type: boolean}
  catalog_templates:
    type: array
    minItems: 1
    uniqueItems: true
    items:
      type: object
      required: [template_name, channels]
      properties:
        template_name: {type: string}
        channels: {type: array, minItems: 1, uniqueItems: true, items: {type: string}}
        defaultChannel: {type: string}
        replaces: {type: string}
        skips: {type: array, minItems: 1, uniqueItems: true, items: {type: string}}
        skipRange: {type: string}
`
)

// checkConfigSchema accepts a folder without ci.yaml. It refuses an empty file, which is a null and not an object.
func checkConfigSchema(s *submission) []finding {
	if s.config == nil {
		return []finding{fail("ci.yaml is empty: remove it, or write an object in it")}
	}
	return bySchema(ciSchema, ciConfig, s.config)
}

// checkCatalogUse finds a catalog that ci.yaml makes from two templates.
func checkCatalogUse(s *submission) []finding {
	made := map[string][]string{}
	for _, mapping := range mapsIn(lookUp(s.config, "fbc.catalog_mapping")) {
		for _, catalog := range texts(mapping["catalog_names"]) {
			made[catalog] = append(made[catalog], fmt.Sprint(mapping["template_name"]))
		}
	}
	var found []finding
	for _, catalog := range slices.Sorted(maps.Keys(made)) {
		if len(made[catalog]) > 1 {
			found = append(found, fail("ci.yaml has several templates %v for the catalog %s", made[catalog], catalog))
		}
	}
	return found
}

func checkUsingFBC(s *submission) []finding {
	return []finding{warn("%s does not use file-based catalogs", s.name)}
}

func checkUniqueName(s *submission) []finding {
	names := map[string]bool{}
	for _, b := range s.bundles {
		names[b.operator()] = true
	}
	if len(names) > 1 {
		return []finding{fail("bundles use several operator names: %v", slices.Sorted(maps.Keys(names)))}
	}
	return nil
}

func checkUpdateGraph(s *submission) []finding {
	switch graph, _ := s.config["updateGraph"].(string); graph {
	case "":
		return []finding{warn("ci.yaml has no updateGraph, so it is replaces-mode")}
	case replacesMode, semverMode:
		return nil
	default:
		return []finding{fail("updateGraph of ci.yaml is %s, not replaces-mode or semver-mode", graph)}
	}
}

const replacesMode, semverMode = "replaces-mode", "semver-mode"

// channels of all bundles, sorted.
func (s *submission) channels() []string {
	all := map[string]bool{}
	for _, b := range s.bundles {
		for _, channel := range b.channels() {
			all[channel] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// inChannel are the bundles of a channel, the oldest first.
func (s *submission) inChannel(channel string) []submitted {
	return slices.DeleteFunc(slices.Clone(s.bundles), func(b submitted) bool { return !slices.Contains(b.channels(), channel) })
}

// graph of a channel's upgrades, by the names of the ClusterServiceVersions: what replaces each.
func (s *submission) graph(channel string) (map[string][]string, error) {
	edges, bundles := map[string][]string{}, s.inChannel(channel)
	mode, _ := s.config["updateGraph"].(string)
	switch cmp.Or(mode, replacesMode) {
	case semverMode:
		for i := range len(bundles) - 1 {
			edges[bundles[i].csvName()] = []string{bundles[i+1].csvName()}
		}
	case replacesMode:
		for _, b := range bundles {
			for _, replaced := range b.replaced() {
				if !strings.Contains(replaced, ".") {
					return nil, fmt.Errorf("%s has an invalid replaces: %q", b.csvName(), replaced)
				}
				edges[replaced] = append(edges[replaced], b.csvName())
			}
		}
	default:
		return nil, fmt.Errorf("ci.yaml has the updateGraph %s, which the pipeline does not know", mode)
	}
	return edges, nil
}

func checkLoops(s *submission) []finding {
	for _, channel := range s.channels() {
		graph, err := s.graph(channel)
		if err != nil {
			return []finding{fail("%s", err)}
		}
		for _, from := range slices.Sorted(maps.Keys(graph)) {
			if leadsTo(graph, from, from, map[string]bool{}) {
				return []finding{fail("upgrades of channel %s lead from %s back to it", channel, from)}
			}
		}
	}
	return nil
}

func leadsTo(graph map[string][]string, from, to string, seen map[string]bool) bool {
	for _, next := range graph[from] {
		if next == to {
			return true
		}
		if !seen[next] {
			seen[next] = true
			if leadsTo(graph, next, to, seen) {
				return true
			}
		}
	}
	return false
}

// checkDangling finds bundles that are neither the newest of a channel of the submitted one, nor replaced by another.
func checkDangling(s *submission) []finding {
	var found []finding
	for _, channel := range s.newest.channels() {
		graph, err := s.graph(channel)
		if err != nil {
			return []finding{fail("%s", err)}
		}
		bundles := s.inChannel(channel)
		for i, b := range bundles {
			if i < len(bundles)-1 && len(graph[b.csvName()]) == 0 {
				found = append(found, fail("no bundle of channel %s replaces %s", channel, b.csvName()))
			}
		}
	}
	return found
}
