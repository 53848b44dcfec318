package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/test/traffic"
)

// A cluster of an older Kubernetes has its own kubectl; a cluster from elsewhere is not of the local one's version.
func TestTheKubectlOfTheClusterComesFirst(t *testing.T) {
	for local, want := range map[bool]string{true: "/root/.cluster/bin:/root/.bin:/usr/bin", false: "/root/.bin:/usr/bin"} {
		if path := (&demo{root: "/root", local: local}).path("/usr/bin"); path != want {
			t.Errorf("local is %t, and PATH is %s", local, path)
		}
	}
}

func TestTagged(t *testing.T) {
	const digest = "9f86d081884c" // of "test"
	for image, want := range map[string]string{
		"ghcr.io/a/b:v1":          "ghcr.io/a/b:v1-" + digest,
		"ghcr.io/a/b":             "ghcr.io/a/b:" + digest,
		"localhost:5000/b":        "localhost:5000/b:" + digest,
		"localhost:5000/b:v1":     "localhost:5000/b:v1-" + digest,
		"ghcr.io/a/b@sha256:0123": "",
	} {
		if got, err := tagged(image, []byte("test")); got != want || (err != nil) != (want == "") {
			t.Errorf("%s: %q %v", image, got, err)
		}
	}
}

func TestManagerImage(t *testing.T) {
	const account = "kind: ServiceAccount\nmetadata: {name: a}"
	const manager = "kind: Deployment\nspec: {template: {spec: {containers: [{name: manager, image: 'b:v1'}]}}}"
	if image, err := managerImage(account + "\n---\n" + manager); image != "b:v1" || err != nil {
		t.Error(image, err)
	}
	if _, err := managerImage(account); err == nil {
		t.Error("no Deployment must be an error")
	}
}

func TestWithImage(t *testing.T) {
	const manifests = "env:\n- name: RELATED_IMAGE_OPERATOR\n  value: a/b:v1\n- value: a/b:v10\nimage: a/b:v1\n"
	if got := withImage(manifests, "a/b:v1",
		"c:2"); got != "env:\n- name: RELATED_IMAGE_OPERATOR\n  value: c:2\n- value: a/b:v10\nimage: c:2\n" {
		t.Error(got)
	}
}

func TestEndpoint(t *testing.T) {
	key := client.ObjectKey{Namespace: "shop", Name: "r"}
	to, err := endpoint(key, "r-replicas.shop.svc:6379")
	if want := (traffic.Service{Namespace: "shop", Name: "r-replicas", Port: 6379}); to != want || err != nil {
		t.Error(to, err)
	}
	for _, address := range []string{"", "r.shop.svc", "r.shop.svc:http"} {
		if _, err := endpoint(key, address); err == nil {
			t.Errorf("%q must be an error", address)
		}
	}
}

// Only the value that was there at the backup will do, and waiting does not turn another into it.
func TestWhatIsRestoredHoldsWhatWasBackedUp(t *testing.T) {
	for name, test := range map[string]struct {
		read string
		fine bool
	}{
		"the value at the backup": {"before", true}, "a later value": {"after", false}, "nothing": {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			r := restored{kind: "Redis", name: "again", read: func(context.Context, client.ObjectKey) (string, error) {
				if asked++; asked == 1 {
					return "", errors.New("connection refused")
				}
				return test.read, nil
			}}
			if err := r.holds(t.Context(), "before"); (err == nil) != test.fine || asked != 2 {
				t.Errorf("asked %d times: %v", asked, err)
			}
		})
	}
}

func TestFailureNamesStepCauseAndLog(t *testing.T) {
	cause := errors.New("no such image")
	later := false
	err := runSteps(t.Context(),
		step{"operator", func(context.Context) error { return cause }, func() []string { return []string{"kubectl logs"} }},
		step{"samples", func(context.Context) error { later = true; return nil }, nil},
	)
	failed := failure{}
	if !errors.As(err, &failed) || !errors.Is(err, cause) || later {
		t.Fatal(err, later)
	}
	if text := failed.Error() + strings.Join(failed.look, ""); !strings.Contains(text, `"operator"`) ||
		!strings.Contains(text, "no such image") || !strings.Contains(text, "kubectl logs") {
		t.Error(text)
	}
}
