package docs

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// synonyms are what people call a field.
var synonyms = map[string][]string{
	"auth":    {"login", "authentication", "password"},
	"tls":     {"encryption"},
	"storage": {"volume", "persistence"},
}

// aliases are the kinds in running text.
var aliases = map[string]*regexp.Regexp{
	"EtcdCluster": regexp.MustCompile(`\b(?:EtcdClusters?|etcds?)\b`), "Memcached": regexp.MustCompile(`(?i)\bmemcacheds?\b`),
	"EasyService": regexp.MustCompile(`\bEasyServices?\b`), "Activity": regexp.MustCompile(`\b(?:Activity|Activities)\b`),
	"Redis": regexp.MustCompile(`\bRedis\b`), "EtcdBackup": regexp.MustCompile(`\bEtcdBackups?\b`),
	"RedisBackup": regexp.MustCompile(`\bRedisBackups?\b`), "EtcdRestore": regexp.MustCompile(`\bEtcdRestores?\b`),
}

const (
	between = `\s+(?:[\w-]+\s+){0,2}`
	plural  = `(?:s|es)?\b`
)

var (
	// conditional: what is left out of an object is not denied. A field in backticks is spoken of as one that there is.
	conditional = regexp.MustCompile("(?i)\\b(?:if|unless|without|until|while|when|where|once|as long as|like|such)\\b|`")
	clearText   = regexp.MustCompile(`(?i)\bspeaks?\b[^.]*\bclear text\b|\b(?:is|are) (?:never|not) encrypted\b`)
	clauseEnd   = regexp.MustCompile(`,\s+(?:and|but|so)\s+`)
	negation    = regexp.MustCompile(`(?i)\b(?:no|not|neither|nor|lack(?:s|ing)?)\b|n't\b`)
	eachAField  = regexp.MustCompile(`^(.*?) (?:are a field each|is a field)\b`)
	sentenceEnd = regexp.MustCompile(`[.;!?](?:\s+|$)|:\s+|\s\|\s`)
)

// kindOfPage is the kind that "it" is on a page, before another is named.
var kindOfPage = map[string]string{
	csvBase: "", "README.md": "", "docs/kinds.md": "", "docs/redis.md": "Redis", "docs/etcd.md": "EtcdCluster",
	"docs/memcached.md": "Memcached", "docs/easyservice.md": "EasyService", "docs/activity.md": "Activity", "docs/backup.md": "EtcdBackup",
}

// No page denies a field that the CRDs have, or offers one that they do not have.
func TestNoPageDeniesAField(t *testing.T) {
	features := featuresOf(t)
	for name, kind := range kindOfPage {
		text := textOf(t, name)
		if len(sentencesOf(text)) < 10 {
			t.Errorf("%s has %d sentences", name, len(sentencesOf(text)))
		}
		for _, fault := range features.faults(text, kind) {
			t.Errorf("%s: %s", name, fault)
		}
	}
}

// formerSentences were false: kind of the page, and the words.
var formerSentences = [][2]string{
	{"", "Redis is one master with replicas, not Redis Cluster; it takes no backups."},
	{"", "Clients of an EtcdCluster speak clear text."},
	{"", "Clients of an EtcdCluster speak clear text and need no login in this version: say by `networkPolicy` who may connect."},
	{"", "Clients of an EtcdCluster need no login in this version."},
	{"", "An EtcdCluster is fast. It\ntakes no backups, and its storage is chosen when it is made."},
	{"Redis", "It takes no backups."},
	{"EtcdCluster", "It has neither TLS nor logins."},
	{"", "An etcd has no TLS."},
	{"", "Memcached does not support TLS."},
	{"", "Metrics are not supported by an EtcdCluster."},
	{"", "An EtcdCluster lacks authentication."},
	{"", "Restores in place are not available for an EtcdCluster."},
	{"EasyService", "Ingress, Gateway, autoscaling, rollback, metrics and network policies are a field each."},
	{"EasyService", "`ingress` and `autoscaling` are a field each."},
	{"Redis", "`proxy` is a field."},
}

func TestADeniedFieldIsFound(t *testing.T) {
	features := featuresOf(t)
	base := textOf(t, csvBase)
	for _, sentence := range formerSentences {
		if len(features.faults(sentence[1], sentence[0])) == 0 {
			t.Errorf("not found: %s", sentence[1])
		}
		if sentence[0] == "" && len(features.faults(base+"\n\n"+sentence[1], "")) == 0 {
			t.Errorf("not found in the description: %s", sentence[1])
		}
	}
	found := 0
	for kind, fields := range features {
		for field := range fields {
			for _, words := range []string{"A %s has no %s.", "This %s does not support %s."} {
				if found++; len(features.faults(fmt.Sprintf(words, kind, inWords(field)), "")) == 0 {
					t.Errorf("not found: "+words, kind, inWords(field))
				}
			}
		}
	}
	if found < 200 {
		t.Errorf("only %d fields were denied", found)
	}
	for _, fine := range []string{
		"Redis does not shard.", "Without `storage` the data of a Redis is lost.", "An EtcdCluster has no encryption unless it sets `tls`.",
		"An Activity takes no backups.", "`proxy`, `tls` and `auth` of a Memcached are a field each.",
	} {
		if faults := features.faults(fine, ""); len(faults) > 0 {
			t.Errorf("%q is right: %q", fine, faults)
		}
	}
}

// features are, by kind and field of its spec, how a text says that it is not there. What other kinds do for a kind counts, too.
type features map[string]map[string]*regexp.Regexp

func featuresOf(t *testing.T) features {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root(t), "config/crd/bases/*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	all := features{}
	add := func(kind, field string) {
		if all[kind] == nil {
			all[kind] = map[string]*regexp.Regexp{}
		}
		all[kind][field] = denialOf(field)
	}
	for _, file := range files {
		var crd apiextensionsv1.CustomResourceDefinition
		name, err := filepath.Rel(root(t), file)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal([]byte(readPage(t, name)), &crd); err != nil {
			t.Fatal(err)
		}
		kind, spec := crd.Spec.Names.Kind, crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		for field := range spec.Properties {
			add(kind, field)
		}
		for field, served := range map[string]string{"clusterName": "EtcdCluster", "redisName": "Redis"} {
			if _, names := spec.Properties[field]; names {
				for _, does := range []string{"Backup", "Restore"} {
					if strings.HasSuffix(kind, does) {
						add(served, strings.ToLower(does))
					}
				}
			}
		}
	}
	for kind := range all {
		if aliases[kind] == nil {
			t.Fatalf("aliases lacks %s", kind)
		}
	}
	if len(all) != len(aliases) {
		t.Fatalf("found %d kinds, not %d", len(all), len(aliases))
	}
	return all
}

// denialOf matches a sentence that says that a field is not there.
func denialOf(field string) *regexp.Regexp {
	named := []string{regexp.QuoteMeta(inWords(field))}
	for _, other := range append(synonyms[field], strings.TrimSuffix(inWords(field), "y")+"ie") {
		named = append(named, regexp.QuoteMeta(other))
	}
	word := `(?:` + strings.Join(named, "|") + `)` + plural
	return regexp.MustCompile(`(?i)` + strings.Join([]string{
		`\b(?:ha(?:s|ve)|needs?|takes?|makes?|offers?|supports?|knows?|there (?:is|are)|neither|nor)(?:\s+yet)?\s+(?:(?:no|neither|nor)` +
			between + `)` + word,
		`\b(?:neither|nor)` + between + word,
		`\b(?:do|does|can)(?: not|not|n't) (?:yet )?(?:support|have|offer|know|take|make|provide)` + between + word,
		word + `(?:\s+[\w-]+){0,2}\s+(?:is|are) not (?:yet )?(?:supported|available|possible|implemented)`,
		`\black(?:s|ing)?` + between + word,
	}, "|"))
}

// inWords is a field's name as a text has it: networkPolicy becomes network policy.
func inWords(field string) string {
	var words strings.Builder
	before := 'A'
	for _, r := range field {
		if unicode.IsUpper(r) && !unicode.IsUpper(before) {
			words.WriteByte(' ')
		}
		words.WriteRune(unicode.ToLower(r))
		before = r
	}
	return words.String()
}

// faults are the sentences of a text that deny a field, or name one that is not there.
func (f features) faults(text, ofPage string) []string {
	var faults []string
	for _, paragraph := range paragraphsOf(text) {
		kind := ofPage
		for _, sentence := range sentencesOf(paragraph) {
			kinds := f.kindsIn(sentence)
			if len(kinds) == 0 {
				kinds = []string{kind}
			}
			kind = kinds[len(kinds)-1]
			for _, kind := range kinds {
				if field := f.denied(kind, sentence); field != "" {
					faults = append(faults, fmt.Sprintf("%q denies %s of %s", sentence, field, kind))
				}
			}
			if list := eachAField.FindStringSubmatch(sentence); list != nil {
				if unknown := f.unknownIn(list[1], kinds); unknown != "" {
					faults = append(faults, fmt.Sprintf("%q: %s is no field", sentence, unknown))
				}
			}
		}
	}
	return faults
}

func (f features) denied(kind, sentence string) string {
	if _, hasTLS := f[kind]["tls"]; hasTLS && clearText.MatchString(sentence) {
		return "tls"
	}
	for _, clause := range clauseEnd.Split(sentence, -1) {
		if conditional.MatchString(clause) || !negation.MatchString(clause) {
			continue
		}
		for field, denial := range f[kind] {
			if denial.MatchString(clause) {
				return field
			}
		}
	}
	return ""
}

// unknownIn returns what a list of fields names and no kind of these has; where none is named, no kind at all.
func (f features) unknownIn(list string, kinds []string) string {
	for _, item := range regexp.MustCompile(`,\s*|\s+and\s+`).Split(list, -1) {
		item, _, _ = strings.Cut(item, " (")
		item, _, _ = strings.Cut(item, " of ")
		field, _, _ := strings.Cut(strings.Trim(item, "`"), ".")
		known := strings.HasPrefix(item, "`") && slices.ContainsFunc(kinds, func(kind string) bool { return f[kind][field] != nil })
		if kinds[0] == "" && strings.HasPrefix(item, "`") {
			for _, fields := range f {
				known = known || fields[field] != nil
			}
		}
		if !known {
			return item
		}
	}
	return ""
}

// kindsIn returns the kinds that a sentence names, in its order.
func (f features) kindsIn(sentence string) []string {
	at := map[string]int{}
	var kinds []string
	for kind := range f {
		if found := aliases[kind].FindStringIndex(sentence); found != nil {
			at[kind] = found[0]
			kinds = append(kinds, kind)
		}
	}
	slices.SortFunc(kinds, func(a, b string) int { return at[a] - at[b] })
	return kinds
}

// paragraphsOf returns paragraphs, items of lists and rows of tables, each on one line, without code.
func paragraphsOf(text string) []string {
	text = fencedCode.ReplaceAllString(text, "")
	text = regexp.MustCompile(`\n[ \t]*(?:[*-] |\d+\. |\||#)`).ReplaceAllStringFunc(text, func(start string) string { return "\n" + start })
	var paragraphs []string
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		paragraphs = append(paragraphs, oneLine(paragraph))
	}
	return paragraphs
}

func sentencesOf(paragraph string) []string {
	return slices.DeleteFunc(sentenceEnd.Split(oneLine(paragraph), -1), func(sentence string) bool { return sentence == "" })
}

// textOf returns a page; of the CSV its description.
func textOf(t *testing.T, name string) string {
	t.Helper()
	if name != csvBase {
		return readPage(t, name)
	}
	var csv struct{ Spec struct{ Description string } }
	if err := yaml.Unmarshal([]byte(readPage(t, name)), &csv); err != nil {
		t.Fatal(err)
	}
	return csv.Spec.Description
}
