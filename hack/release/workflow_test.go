package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// workflow is what GitHub runs for a tag.
type workflow struct {
	Jobs map[string]struct {
		Steps []struct{ Name, Run string }
	}
}

func readWorkflow(t *testing.T) workflow {
	t.Helper()
	var w workflow
	if err := yaml.Unmarshal([]byte(readText(t, "../../.github/workflows/release.yaml")), &w); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestTheWorkflowRunsTargetsThatExist(t *testing.T) {
	makefile, called := readText(t, "../../Makefile"), 0
	for _, step := range readWorkflow(t).Jobs["release"].Steps {
		for _, found := range regexp.MustCompile(`\bmake (?:-s )?([a-z-]+)`).FindAllStringSubmatch(step.Run, -1) {
			called++
			if !regexp.MustCompile(`(?m)^` + found[1] + `:`).MatchString(makefile) {
				t.Errorf("the Makefile has no target %s", found[1])
			}
		}
	}
	if called != 3 {
		t.Errorf("the workflow runs make %d times", called)
	}
}

// What the step that pushes hands to those that sign is what is in the registry.
func TestTheWorkflowPushes(t *testing.T) {
	host, folder, temporary := serve(t), testRelease(t), t.TempDir()
	var printed strings.Builder
	if err := push(t.Context(), &printed, host, pushedOf(t, folder)); err != nil {
		t.Fatal(err)
	}
	script := ""
	for _, step := range readWorkflow(t).Jobs["release"].Steps {
		if step.Name == "Push the images" {
			script = step.Run
		}
	}
	if !strings.Contains(script, "make -s release-push") {
		t.Fatalf("the step that pushes the images is %q", script)
	}
	run := func(printed string) ([]byte, error) {
		command := exec.CommandContext(t.Context(), "bash", "-e", "-c", `make() { printf %s "$PRINTED"; }`+"\n"+script)
		command.Env = append(os.Environ(), "RUNNER_TEMP="+temporary, "PRINTED="+printed)
		return command.CombinedOutput()
	}
	const foreign = "building the tools of release"
	if said, err := run(foreign + "\n" + printed.String()); err == nil || !strings.Contains(string(said), foreign) {
		t.Errorf("a line that is no image: %v: %s", err, said)
	}
	if said, err := run(printed.String()); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	if got := readText(t, filepath.Join(temporary, "images")); got != printed.String() {
		t.Errorf("the images to sign are %s", got)
	}
	subjects := strings.Split(strings.TrimSpace(readText(t, filepath.Join(temporary, "subjects"))), "\n")
	for i, image := range strings.Split(strings.TrimSpace(printed.String()), "\n") {
		name, digest, _ := strings.Cut(image, "@sha256:")
		if want := digest + "  " + repository(name); subjects[i] != want {
			t.Errorf("the subject is %q, not %q", subjects[i], want)
		}
	}
}

// The owner of an action can move its tags: another program would then run in a job that may write releases, packages and signatures.
func TestTheWorkflowPinsWhatItTrustsToSign(t *testing.T) {
	pinned := 0
	for _, found := range regexp.MustCompile(`uses: ([\w-]+/[\w-]+)@(\S+)`).FindAllStringSubmatch(
		readText(t, "../../.github/workflows/release.yaml"), -1) {
		if found[1] == "actions/checkout" || found[1] == "actions/setup-go" {
			continue
		}
		if pinned++; !regexp.MustCompile(`^[0-9a-f]{40}$`).MatchString(found[2]) {
			t.Errorf("%s is used at %s, which can be moved: name a commit", found[1], found[2])
		}
	}
	if pinned != 3 {
		t.Errorf("the workflow uses %d such actions", pinned)
	}
}
