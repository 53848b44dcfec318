package olm

import (
	"regexp"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Restrictions of released fields that CompareCRDs permits, because without them one object can stop the manager or the API
// server for everybody, or silently does not do what it says. All but the default of the status are rules: OLM v0 does not check stored
// objects against them before an upgrade, and the API server does not apply them to what an update leaves as it is. OLM v1
// refuses such an upgrade as crdify does, unless its ClusterExtension says otherwise: docs/install-modes.md says how.
const (
	costlyQuantity = "computing a quantity such as 1e-2000000000 takes minutes"
	longText       = "a text that is longer than anything useful can be megabytes in caches, children and logs"
	shellNames     = "/bin/sh silently drops variables of such names; the rule is for new objects alone"
)

// permittedRules are rules that a released field may come to have, each with the reason.
var permittedRules = map[string]string{
	"self.all(k, self[k] >= 0 || size(self[k]) <= 32)":                                                                    costlyQuantity,
	"self.all(k, self[k] == 0 || double(self[k]) > 0.0 || size(self[k]) <= 5 || self[k].charAt(size(self[k]) - 1) > '9')": costlyQuantity,
	"self >= 0 || size(self) <= 32":                                                                                       costlyQuantity,
	"self == 0 || double(self) > 0.0 || size(self) <= 5 || self.charAt(size(self) - 1) > '9'":                             costlyQuantity,
	"self >= 0 || size(self) <= 5":                                                                                        costlyQuantity,
	"size(self) == 0 || size(self) == 1 && 'storage' in self":                                                             costlyQuantity,
	"!('storage' in self) || self['storage'] >= 0 || size(self['storage']) <= 32":                                         costlyQuantity,
	"!('storage' in self) || self['storage'] == 0 || double(self['storage']) > 0.0 || size(self['storage']) <= 5 || " +
		"self['storage'].charAt(size(self['storage']) - 1) > '9'": costlyQuantity,

	"oldSelf.hasValue() || has(self.args) || !has(self.envs) || self.envs.all(e, e.matches('^[A-Za-z_][A-Za-z0-9_]*='))": shellNames,

	"self.all(s, !has(s.name) || size(s.name) <= 253)":                                  longText,
	"self.all(k, size(k) <= 317 && size(self[k]) <= 63)":                                longText,
	"self.all(k, size(k) <= 317 && size(self[k]) <= 262144)":                            longText,
	"self.all(a, size(a) <= 131072)":                                                    longText,
	"self.all(e, size(e.name) <= 131072 && (!has(e.value) || size(e.value) <= 131072))": longText,
	"self.all(t, (!has(t.key) || size(t.key) <= 317) && (!has(t.value) || size(t.value) <= 63) && (!has(t.operator) || size(t.operator) <= " +
		"63) && (!has(t.effect) || size(t.effect) <= 63))": longText,
	"self.all(e, (!has(e.prefix) || size(e.prefix) <= 131072) && (!has(e.configMapRef) || !has(e.configMapRef.name) || " +
		"size(e.configMapRef.name) <= 253) && (!has(e.secretRef) || !has(e.secretRef.name) || size(e.secretRef.name) <= 253))": longText,
}

// loosenedRules are rules that accept whatever the released rule accepts that is given for each: CompareCRDs sees another text.
var loosenedRules = map[string]string{
	// An upgrade of an EtcdCluster can be rolled back.
	"!has(self.spec.version) || !has(self.status) || !has(self.status.targetVersion) || " +
		"has(oldSelf.spec.version) && oldSelf.spec.version == self.spec.version || " +
		"self.spec.version.split('.')[1] >= self.status.targetVersion.split('.')[1] || " +
		"int(self.spec.version.split('.')[1]) + 1 == int(self.status.targetVersion.split('.')[1]) && (!has(self.status.clusterVersion) || " +
		"self.spec.version.split('.')[1] >= self.status.clusterVersion.split('.')[1])": "!has(self.spec.version) || !has(self.status) || " +
		"!has(self.status.targetVersion) || self.spec.version.split('.')[1] >= self.status.targetVersion.split('.')[1]",
	// Kubernetes 1.31 to 1.33 refuse the released rules: they estimate their costs without the length of targetPort.
	numberOfTargetPort: "type(self) == int ? self >= 1 && self <= 65535 : self.matches('" + nameOfTargetPort + "')",
	"self.all(p, !has(p.targetPort) || type(p.targetPort) == int || !(p.targetPort in self.filter(q, has(q.targetPort) && " +
		"(q.port != p.port || q.protocol != p.protocol)).map(q, q.targetPort)))": "self.all(p, !has(p.targetPort) || " +
		"type(p.targetPort) == int || self.exists_one(q, has(q.targetPort) && q.targetPort == p.targetPort))",
}

// The released rule of targetPort, divided: what it asks of a number is a rule, and what it asks of a name is a pattern.
const (
	numberOfTargetPort = "type(self) in [string] || self >= 1 && self <= 65535"
	nameOfTargetPort   = "^([a-z0-9]+-)*[a-z0-9]*[a-z][a-z0-9]*(-[a-z0-9]+)*$"
)

// guard is what a released rule may come to ask of a text before it calls quantity(): costlyQuantity.
var guard = regexp.MustCompile(`!?string\([^()]+\)\.matches\('\[eE\]\.\{4\}\|\.\{33\}'\) (&&|\|\|) `)

// permittedProperties is the number by which the API server can estimate the cost of a rule on a map of quantities. No map
// in etcd is as large.
const permittedProperties = 262144

// permittedDefault is the default that a released status may come to have: without it, GitOps tools read an object that no operator has
// seen as done. Only an object without any status gets it.
const permittedDefault = `{"observedGeneration":-1}`

// withoutPermitted takes the permitted restrictions out of a CRD, if the last release has their fields. It counts
// how often it took each.
func withoutPermitted(last, now *apiextensionsv1.CustomResourceDefinition, used map[string]int) *apiextensionsv1.CustomResourceDefinition {
	now = now.DeepCopy()
	for _, before := range last.Spec.Versions {
		for _, after := range now.Spec.Versions {
			if before.Name == after.Name {
				relaxStatus(before.Schema.OpenAPIV3Schema, after.Schema.OpenAPIV3Schema, used)
				relax(before.Schema.OpenAPIV3Schema, after.Schema.OpenAPIV3Schema, used)
			}
		}
	}
	return now
}

// relaxStatus drops the permitted default of the status, if the last release has none.
func relaxStatus(before, after *apiextensionsv1.JSONSchemaProps, used map[string]int) {
	status := after.Properties["status"]
	if before.Properties["status"].Default == nil && status.Default != nil && string(status.Default.Raw) == permittedDefault {
		used[permittedDefault]++
		status.Default = nil
		after.Properties["status"] = status
	}
}

// relaxRules drops the permitted rules of a schema, and replaces those that only look new by the released ones.
func relaxRules(before, after *apiextensionsv1.JSONSchemaProps, used map[string]int) {
	former := func(rule string) int {
		return slices.IndexFunc(before.XValidations, func(r apiextensionsv1.ValidationRule) bool { return r.Rule == rule })
	}
	var rules apiextensionsv1.ValidationRules
	for _, rule := range after.XValidations {
		switch bare := guard.ReplaceAllString(rule.Rule, ""); {
		case former(rule.Rule) >= 0: // its words may change
			rule.Message = before.XValidations[former(rule.Rule)].Message
		case former(loosenedRules[rule.Rule]) >= 0:
			used[rule.Rule]++
			if rule.Rule == numberOfTargetPort && after.Pattern == nameOfTargetPort {
				after.Pattern = before.Pattern
			}
			rule = before.XValidations[former(loosenedRules[rule.Rule])]
		case permittedRules[rule.Rule] != "":
			used[rule.Rule]++
			continue
		case former(bare) >= 0:
			used[guard.String()]++
			rule.Rule = bare
		}
		rules = append(rules, rule)
	}
	after.XValidations = rules
}

// relax takes the permitted restrictions out of a schema, and out of the schemas in it.
func relax(before, after *apiextensionsv1.JSONSchemaProps, used map[string]int) {
	relaxRules(before, after, used)
	if before.MaxProperties == nil && after.MaxProperties != nil && *after.MaxProperties == permittedProperties {
		after.MaxProperties = nil
	}
	for name, property := range after.Properties {
		if was, ok := before.Properties[name]; ok {
			relax(&was, &property, used)
			after.Properties[name] = property
		}
	}
	if before.Items != nil && after.Items != nil {
		relax(before.Items.Schema, after.Items.Schema, used)
	}
	if before.AdditionalProperties != nil && after.AdditionalProperties != nil && before.AdditionalProperties.Schema != nil &&
		after.AdditionalProperties.Schema != nil {
		relax(before.AdditionalProperties.Schema, after.AdditionalProperties.Schema, used)
	}
}
