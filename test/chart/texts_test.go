package chart

import (
	"encoding/json"
	"strings"
	"testing"
)

// Values that YAML reads as a number, a boolean or nothing if no quotes are around them.
func TestTextsThatLookLikeOtherTypesStayTexts(t *testing.T) {
	texts := []struct {
		flag, plain, odd string
	}{
		{"--namespace=", "plain-namespace", "123"},
		{"--set-string=serviceAccount.name=", "plain-account", "on"},
		{"--set-string=priorityClassName=", "plain-class", "null"},
		{"--set-string=watchNamespaces[0]=", "plain-shop", "124"},
		{"--set-string=relatedImages.memcached=", "plain-memcached", "125"},
		{"--set-string=relatedImages.memcachedExporter=", "plain-exporter", "1e3"},
		{"--set-string=relatedImages.redis=", "plain-redis", "126"},
		{"--set-string=relatedImages.valkey=", "plain-valkey", "true"},
		{"--set-string=relatedImages.etcd_3_5=", "plain-etcd-5", "3.5"},
		{"--set-string=relatedImages.etcd_3_6=", "plain-etcd-6", "3.6"},
		{"--set-string=relatedImages.etcd_3_7=", "plain-etcd-7", "3.7"},
		{"--set-string=relatedImages.activity=", "plain-activity", "no"},
	}
	args := []string{"template", "mainstay-operator", within(t, chart), "--set=crds.install=false,serviceMonitor.enabled=true"}
	plain, odd := args, args
	var replacements []string
	for _, text := range texts {
		plain, odd = append(plain[:len(plain):len(plain)], text.flag+text.plain), append(odd[:len(odd):len(odd)], text.flag+text.odd)
		// In the key of an object, a text has no quotes around it.
		replacements = append(replacements, `"`+text.plain+`"`, `"`+text.odd+`"`, text.plain, text.odd)
	}
	want, got := texted(t, plain...), texted(t, odd...)
	for _, text := range texts {
		if !strings.Contains(want, `"`+text.plain+`"`) {
			t.Errorf("%s%s is in no object", text.flag, text.plain)
		}
	}
	var left, right map[string]map[string]any
	if err := json.Unmarshal([]byte(strings.NewReplacer(replacements...).Replace(want)), &left); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(got), &right); err != nil {
		t.Fatal(err)
	}
	for _, difference := range compare(left, right) {
		t.Error(difference)
	}
}

// texted returns the objects that helm prints, also those of `helm test`, as JSON.
func texted(t *testing.T, args ...string) string {
	t.Helper()
	text, err := tool(t, "helm", args...)
	if err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal(objectsOf(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
