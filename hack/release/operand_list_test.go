package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What the operator's code has is compared in controllers: TestAReleaseKnowsEachDefaultImage.
func TestTheFileOfOperandsHasThoseOfTheManager(t *testing.T) {
	list, err := readOperands("operands.yaml")
	if err != nil {
		t.Fatal(err)
	}
	images, err := operands(readText(t, "../../config/manager/manager.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, o := range list {
		listed = append(listed, o.Image)
	}
	if !slices.Equal(listed, images) {
		t.Errorf("operands.yaml has %q, and config/manager/manager.yaml %q", listed, images)
	}
}

func TestAFileOfOperandsMustBeWhole(t *testing.T) {
	for name, text := range map[string]string{
		"no image":        "- digest: \"\"\n",
		"an image twice":  "- image: r/a:1\n- image: r/a:1\n",
		"no digest":       "- image: r/a:1\n  digest: latest\n",
		"another field":   "- image: r/a:1\n  tag: latest\n",
		"a digest twice":  "- image: r/a:1\n  digest: \"\"\n  digest: \"\"\n",
		"no list of them": "image: r/a:1\n",
	} {
		file := filepath.Join(t.TempDir(), "operands.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if list, err := readOperands(file); err == nil {
			t.Errorf("%s: read %q", name, list)
		}
	}
}

// A file that is replaced, not written in place, is never half of a list. The other name of the former file shows it.
func TestTheFileOfOperandsIsReplaced(t *testing.T) {
	file := operandsOn(t, "r/a:1")
	former, before := filepath.Join(filepath.Dir(file), "former.yaml"), readText(t, file)
	if err := os.Link(file, former); err != nil {
		t.Fatal(err)
	}
	if err := (operandList{{"r/a:1", testDigest.String()}}).write(file); err != nil {
		t.Fatal(err)
	}
	if got := readText(t, former); got != before {
		t.Errorf("it was written in place: %s", got)
	}
	if got := readText(t, file); !strings.Contains(got, testDigest.String()) {
		t.Errorf("the file is %s", got)
	}
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(entries) != 2 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}

func TestABundleClaimsToNeedNoNetworkOnlyIfEachOperandHasADigest(t *testing.T) {
	const claim, other = "    features.operators.openshift.io/disconnected: ", "    features.operators.openshift.io/cnf: \"false\"\n"
	digest := testDigest.String()
	for name, c := range map[string]struct {
		csv, want string
		operands  operandList
	}{
		"each has one":                         {claim + "\"false\"\n", claim + "\"true\"\n", operandList{{"r/a:1", digest}, {"r/b:1", digest}}},
		"one has none":                         {claim + "\"false\"\n", claim + "\"false\"\n", operandList{{"r/a:1", digest}, {"r/b:1", ""}}},
		"one has none, and the claim was made": {claim + "\"true\"\n", claim + "\"false\"\n", operandList{{"r/a:1", ""}}},
		"there are none":                       {claim + "\"false\"\n", claim + "\"false\"\n", nil},
		"no annotation":                        {"    createdAt: x\n", "    createdAt: x\n", operandList{{"r/a:1", digest}}},
		"another one stays false":              {other, other, operandList{{"r/a:1", digest}}},
	} {
		if got := claimDisconnected(c.csv, c.operands); got != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}

// pinnedRelease writes a release whose operand has a digest.
func pinnedRelease(t *testing.T) (folder, pinned string) {
	t.Helper()
	from := testMaterial()
	from.operands[0].Digest = testDigest.String()
	folder = t.TempDir()
	if err := assemble(folder, testAbout(t), from); err != nil {
		t.Fatal(err)
	}
	return folder, from.operands[0].pinned()
}

func TestOperandsWithADigestAreNamedByIt(t *testing.T) {
	folder, pinned := pinnedRelease(t)
	for _, name := range []string{"install.yaml", "operator.yaml", "catalog.yaml"} {
		if text := readText(t, folder, name); strings.Count(text, ": "+pinned+"\n") != 1 || strings.Contains(text, "redis:8.0\n") {
			t.Errorf("%s names the operand otherwise: %s", name, text)
		}
	}
	for of, claim := range map[string]string{folder: "\"true\"", testRelease(t): "\"false\""} {
		if text := readText(t, of, "catalog.yaml"); !strings.Contains(text, "/disconnected: "+claim+"\n") { // it has the bundle
			t.Errorf("the bundle does not claim %s: %s", claim, text)
		}
	}
	if list := readText(t, folder, "images.txt"); !strings.HasSuffix(list, "\ndocker.io/library/redis@"+testDigest.String()+"\n") {
		t.Errorf("images.txt is %s", list)
	}
	files := textsOf(t, []byte(readText(t, folder, "mainstay-operator-1.2.3.tgz")))
	if values := files["mainstay-operator/values.yaml"]; !strings.Contains(values, "  redis: "+pinned+"\n") {
		t.Errorf("the chart's values are %s", values)
	}
}

func TestAnOperandThatTheFileLacksStopsTheRelease(t *testing.T) {
	from := testMaterial()
	from.operands = operandList{{Image: "docker.io/library/redis:7.4"}}
	if err := assemble(t.TempDir(), testAbout(t), from); err == nil || !strings.Contains(err.Error(), "docker.io/library/redis:8.0") {
		t.Errorf("%v", err)
	}
}
