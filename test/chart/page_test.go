package chart

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const page = "docs/helm.md"

var (
	shellCode = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
	aFlag     = regexp.MustCompile(`--[a-z-]+`)
)

// Each command of Helm on the page has flags that Helm knows and values that the chart accepts.
func TestTheCommandsOfThePageWork(t *testing.T) {
	content, err := os.ReadFile(within(t, page))
	if err != nil {
		t.Fatal(err)
	}
	counted := map[string]int{}
	for _, words := range commandsOf(string(content)) {
		counted[words[0]]++
		help, err := tool(t, "helm", words[0], "--help")
		if err != nil {
			t.Fatal(err)
		}
		for _, flag := range aFlag.FindAllString(strings.Join(words, " "), -1) {
			if !strings.Contains(help, flag+" ") {
				t.Errorf("helm %s has no flag %s", words[0], flag)
			}
		}
		if words[0] != "install" && words[0] != "upgrade" && words[0] != "template" {
			continue
		}
		if !slices.Contains(words, chart) {
			t.Fatalf("%q does not name %s", words, chart)
		}
		// What a cluster must be asked for is left out.
		words = slices.DeleteFunc(words, func(word string) bool { return word == "--reset-then-reuse-values" || word == "--wait" })
		words[0] = "template"
		words[slices.Index(words, chart)] = within(t, chart)
		if _, err := tool(t, "helm", words...); err != nil {
			t.Error(err)
		}
	}
	for _, verb := range []string{"install", "upgrade", "template", "test", "uninstall"} {
		if counted[verb] == 0 {
			t.Errorf("%s has no command helm %s", page, verb)
		}
	}
}

func TestCommandsOfAPage(t *testing.T) {
	text := "helm none\n```sh\nkubectl get pods\nhelm install a b \\\n  --set 'c={d,e}'\n```\n" +
		"```sh\nhelm template a | kubectl apply -f -\n```\n"
	got := commandsOf(text)
	want := [][]string{{"install", "a", "b", "--set", "c={d,e}"}, {"template", "a"}}
	if !slices.EqualFunc(got, want, slices.Equal[[]string]) {
		t.Errorf("%q", got)
	}
}

// commandsOf returns the words of each command of Helm in the shell code of a page.
func commandsOf(text string) [][]string {
	var commands [][]string
	for _, code := range shellCode.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(strings.ReplaceAll(code[1], "\\\n", "")) {
			line, _, _ = strings.Cut(line, " | ")
			if words := strings.Fields(strings.ReplaceAll(line, "'", "")); len(words) > 1 && words[0] == "helm" {
				commands = append(commands, words[1:])
			}
		}
	}
	return commands
}
