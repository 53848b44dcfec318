package olm

import (
	"os"
	"strings"
	"testing"

	"github.com/blang/semver/v4"
	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func TestAReleaseThatReplacesNoneIsOfferedToAllOlderOnes(t *testing.T) {
	csvs := []*operators.ClusterServiceVersion{{}, {}}
	csvs[0].Spec.Version.Version, csvs[1].Spec.Version.Version = semver.MustParse("1.2.3"), semver.MustParse("1.3.0")
	got := offered([]entry{{Name: "a"}, {Name: "b", Replaces: "a", SkipRange: ">=1.2.0 <1.3.0"}}, csvs)
	for i, want := range []entry{{Name: "a", SkipRange: "<1.2.3"}, {Name: "b", Replaces: "a", SkipRange: ">=1.2.0 <1.3.0"}} {
		if got[i] != want {
			t.Errorf("the entry is %+v, not %+v", got[i], want)
		}
	}
	if without := offered([]entry{{Name: "b", Replaces: "a"}}, csvs[1:]); without[0].SkipRange != "" {
		t.Errorf("a release that replaces another is offered to %s", without[0].SkipRange)
	}
}

func TestWhichCatalogAPodServes(t *testing.T) {
	const catalog, other = "registry.example.com/catalog@sha256:1", "registry.example.com/catalog@sha256:2"
	pod := func(initially, then string, ready bool) *corev1.Pod {
		return &corev1.Pod{
			Spec: corev1.PodSpec{InitContainers: []corev1.Container{{Image: "olm"}, {Image: initially}},
				Containers: []corev1.Container{{Image: then}}},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Ready: ready}}},
		}
	}
	pending := pod("olm", catalog, true)
	pending.Status.ContainerStatuses = nil
	for name, row := range map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"the image serves itself":                    {pod("olm", catalog, true), true},
		"the image serves itself, but not yet":       {pod("olm", catalog, false), false},
		"OLM serves the content of the image":        {pod(catalog, "opm", true), true},
		"OLM does not serve the content yet":         {pod(catalog, "opm", false), false},
		"OLM serves the content of the former image": {pod(other, "opm", true), false},
		"the former image serves itself":             {pod("olm", other, true), false},
		"no container has been started":              {pending, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := serves(row.pod, catalog); got != row.want {
				t.Errorf("it is %t", got)
			}
		})
	}
}

// The suite of releases applies what docs/install.md shows.
func TestTheCatalogOfAReleaseIsServedAsThePageSays(t *testing.T) {
	page, err := os.ReadFile(within(t, "docs/install.md"))
	if err != nil {
		t.Fatal(err)
	}
	const start = "apiVersion: operators.coreos.com/v1alpha1\nkind: CatalogSource\n"
	_, shown, found := strings.Cut(string(page), start)
	shown, _, ended := strings.Cut(shown, "\n---\n")
	if !found || !ended {
		t.Fatal("docs/install.md has no CatalogSource that another document follows")
	}
	var ofPage, ofSuite operators.CatalogSource
	if err := yaml.UnmarshalStrict([]byte(start+shown), &ofPage); err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict([]byte(ContentSource(ofPage.Spec.Image)), &ofSuite); err != nil {
		t.Fatal(err)
	}
	ofSuite.Spec.DisplayName = ofPage.Spec.DisplayName
	want, err := yaml.Marshal(ofPage)
	if err != nil {
		t.Fatal(err)
	}
	got, err := yaml.Marshal(ofSuite)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("the suite applies\n%s\nand the page shows\n%s", got, want)
	}
}
