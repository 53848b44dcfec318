package docs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	// maxFieldText is how much of a text a person reads next to the field of a form. More is on the kind's page.
	maxFieldText = 300
	// minNews is how many words a text's first sentence must have, besides those of the name and those that say nothing.
	minNews = 2
)

var (
	firstSentence = regexp.MustCompile(`^.*?\.(?: |$)`)
	aWord         = regexp.MustCompile(`[A-Za-z][A-Za-z0-9]*`)
	humps         = regexp.MustCompile(`[A-Z]+[a-z0-9]*|[a-z0-9]+`)
	mixedCase     = regexp.MustCompile(`[a-z][A-Z]`)
	aPath         = regexp.MustCompile(`\b(?:spec|status)(?:\.[A-Za-z0-9]+)+`)
	codeReference = regexp.MustCompile(`\w+\.go\b|\bapi/|\bcontrollers/|\bcommonv1\b|\*?\bu?int(?:32|64)\b|\bstruct\b|\[\]string`)
	// emptyWords say nothing about a field.
	emptyWords = strings.Fields("a an and are as at be by for from in is it its may of on or that the this to what when which with field " +
		"object value spec status")
	// kubernetesNames are names of ours, too.
	kubernetesNames = []string{"ConfigMap", "NetworkPolicy", "NodePort", "ServiceMonitor"}
	// sameEverywhere are fields whose text is the same in each kind.
	sameEverywhere = []string{"observedGeneration", "selector", "storageClassName", "imagePullSecrets", "spec", "status"}
)

// A fieldText is the comment of a field, by which a console explains it.
type fieldText struct{ owner, goName, jsonName, text string }

func (f fieldText) String() string { return f.owner + "." + f.jsonName }

// complaints returns what keeps a text from helping a person who fills in the field. Types and members are the names of all types, and
// the JSON names of all fields by their names in Go and in JSON. Paths are those of the CRDs.
func (f fieldText) complaints(types map[string]bool, members map[string]string, paths map[string]bool) []string {
	if f.text == "" {
		return []string{"it has no text"}
	}
	var found []string
	add := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	if length := utf8.RuneCountInString(f.text); length > maxFieldText {
		add("%d characters, at most %d; the rest belongs on the kind's page", length, maxFieldText)
	}
	switch word := aWord.FindString(f.text); {
	case strings.EqualFold(word, f.goName) || strings.EqualFold(word, f.jsonName):
		add("it starts with the name %q: start with what the field is or does", word)
	case f.text[:1] != strings.ToUpper(f.text[:1]):
		add("it starts with the lower-case %q", word)
	}
	if !strings.HasSuffix(f.text, ".") {
		add("it does not end with a full stop")
	}
	if first := firstSentence.FindString(f.text); f.news(first) < minNews {
		add("its first sentence %q repeats the name", first)
	}
	if code := codeReference.FindString(f.text); code != "" {
		add("%q is code", code)
	}
	if strings.Contains(f.text, "Default ") {
		add("write Default: and the value")
	}
	return append(found, f.names(types, members, paths)...)
}

// names returns the complaints about names of types and fields.
func (f fieldText) names(types map[string]bool, members map[string]string, paths map[string]bool) []string {
	var found []string
	add := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	prose := aPath.ReplaceAllStringFunc(f.text, func(path string) string {
		if !paths[path] {
			add("no kind has %s", path)
		}
		return ""
	})
	for _, word := range aWord.FindAllString(prose, -1) {
		switch {
		case slices.Contains(kubernetesNames, word) || !mixedCase.MatchString(word):
		case types[word]:
			add("%s is the name of a type in Go", word)
		case members[word] != "":
			add("%s: write the path of %s as in YAML, from spec or status on", word, members[word])
		}
	}
	return found
}

// news counts the words of a sentence that neither the name has nor say nothing.
func (f fieldText) news(sentence string) int {
	said := slices.Clone(emptyWords)
	for _, name := range []string{f.goName, f.jsonName} {
		for _, hump := range humps.FindAllString(name, -1) {
			said = append(said, strings.ToLower(hump))
		}
	}
	said = append(said, strings.ToLower(f.goName))
	count := 0
	for _, word := range aWord.FindAllString(sentence, -1) {
		word = strings.ToLower(word)
		if !slices.Contains(said, word) && !slices.Contains(said, strings.TrimSuffix(word, "s")) && !slices.Contains(said, word+"s") {
			count++
		}
	}
	return count
}

// Each field's text is for a person who fills in a form: what to enter, and what happens if it is left empty.
func TestFieldTexts(t *testing.T) {
	fields, types := fieldTextsOf(t)
	if len(fields) < 400 {
		t.Fatalf("found %d fields", len(fields))
	}
	members, paths := membersOf(fields, types), fieldPathsOf(t)
	known := map[string]fieldText{}
	for _, field := range fields {
		for _, complaint := range field.complaints(types, members, paths) {
			t.Errorf("%s: %s", field, complaint)
		}
		if first, ok := known[field.jsonName]; ok && slices.Contains(sameEverywhere, field.jsonName) && first.text != field.text {
			t.Errorf("%s has another text than %s: %q, %q", field, first, field.text, first.text)
		}
		known[field.jsonName] = field
	}
	for _, name := range sameEverywhere {
		if known[name].text == "" {
			t.Errorf("no kind has %s: take it out of sameEverywhere", name)
		}
	}
}

func TestComplaintsAboutFieldTexts(t *testing.T) {
	fields, types := fieldTextsOf(t)
	members, paths := membersOf(fields, types), fieldPathsOf(t)
	for _, row := range []struct{ goName, jsonName, text, want string }{
		{"Size", "size", "Number of pods, from 0 to 1000. Default: 1.", ""},
		{"ClaimName", "claimName", "PersistentVolumeClaim of the same namespace, unless spec.workspace.size is set.", ""},
		{"AppendFsync", "appendfsync", "When the file reaches the disk. Default: everysec.", ""},
		{"NetworkPolicy", "networkPolicy", "Who may connect, as in a NetworkPolicy of Kubernetes.", ""},
		{"Size", "size", "", "it has no text"},
		{"Size", "size", "Number of pods" + strings.Repeat(" and more", 32) + ".", "303 characters, at most 300"},
		{"Size", "size", "Size is the number of pods.", `starts with the name "Size"`},
		{"Size", "size", "size is the number of pods.", `starts with the name "size"`},
		{"ExecUser", "execuser", "ExecUser that the command runs as.", `starts with the name "ExecUser"`},
		{"ExecUser", "execuser", "execuser that the command runs as.", `starts with the name "execuser"`},
		{"Size", "size", "number of pods.", "lower-case"},
		{"Size", "size", "Number of pods", "full stop"},
		{"Affinity", "affinity", "The affinity. Nodes and pods that the pods are placed near to.", `"The affinity. " repeats the name`},
		{"Strategy", "strategy", "The strategy of a rollout.", "repeats the name"},
		{"PodUID", "podUID", "UID of the pod.", "repeats the name"},
		{"RetryPolicy", "retryPolicy", "The policy of retries. It says which attempts are followed by another.", "repeats the name"},
		{"Size", "size", "Number of pods, as an int32 in Go.", `"int32" is code`},
		{"Reason", "reason", "Cause of the change, one of the constants of api/common/v1.", `"api/" is code`},
		{"Size", "size", "Number of pods, as MemcachedSpec has it.", "MemcachedSpec is the name of a type"},
		{"Mode", "mode", "Whether SecretName has a certificate.", "SecretName: write the path of secretName"},
		{"Mode", "mode", "Whether plaintextPort is open, too.", "plaintextPort: write the path of plaintextPort"},
		{"Mode", "mode", "Whether spec.tls.plainPort is open, too.", "no kind has spec.tls.plainPort"},
		{"Size", "size", "Number of pods. Default 1.", "write Default:"},
	} {
		got := strings.Join(fieldText{"Planted", row.goName, row.jsonName, row.text}.complaints(types, members, paths), "; ")
		if row.want == "" && got != "" || !strings.Contains(got, row.want) {
			t.Errorf("%s: %q: got %q, want %q", row.jsonName, row.text, got, row.want)
		}
	}
}
