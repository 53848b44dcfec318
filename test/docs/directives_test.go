package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// supportedDirectives is the rule of the CRD that lists the keys of spec.config.
var supportedDirectives = regexp.MustCompile(`rule: self\.all\(k, k in \[([^\]]+)\]`)

// The page of Redis lists exactly the directives that the CRD admits, in its order.
func TestEveryDirectiveIsListed(t *testing.T) {
	rule := supportedDirectives.FindStringSubmatch(readPage(t, "config/crd/bases/cache.mainstay-operator.io_redis.yaml"))
	if rule == nil {
		t.Fatal("the CRD of Redis has no list of directives")
	}
	_, list, found := strings.Cut(readPage(t, "docs/redis.md"), "\nThese directives can be set in `config`")
	list, _, _ = strings.Cut(list, "\n## ")
	if !found {
		t.Fatal("docs/redis.md has no list of directives")
	}
	want := strings.Split(strings.ReplaceAll(oneLine(rule[1]), "'", ""), ",")
	if got := quotedWords(list); !slices.Equal(got, want) {
		t.Errorf("docs/redis.md lists %q, the CRD admits %q", got, want)
	}
}
