package v1_test

import (
	"encoding/json"
	"strings"
	"testing"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
)

const tooCostly = "a quantity of more than 64 digits, or of more than 3 in its exponent, is not read, because computing it could take " +
	"minutes; write a shorter one"

func TestACostlyQuantityIsLeftOut(t *testing.T) {
	for _, c := range []struct{ name, spec, unreadable string }{
		{"a tiny one", `"resources":{"limits":{"cpu":"1e-2000000000"}}`, "resources: limits.cpu: " + tooCostly},
		{"a huge one of zero", `"resources":{"requests":{"memory":"0e2147483646"}}`, "resources: requests.memory: " + tooCostly},
		{"a number", `"resources":{"limits":{"cpu":1e2000000000}}`, "resources: limits.cpu: " + tooCostly},
		{"a field's name in capitals", `"Resources":{"LIMITS":{"cpu":"1e-2000000000"}}`, "Resources: LIMITS.cpu: " + tooCostly},
		{"spaces around it", `"resources":{"limits":{"cpu":"  1e-2000000000  "}}`, "resources: limits.cpu: " + tooCostly},
		{"long digits", `"resources":{"limits":{"cpu":"` + strings.Repeat("1", 65) + `"}}`, "resources: limits.cpu: " + tooCostly},
		{"in a list", `"volumes":[{"name":"a"},{"name":"b","emptyDir":{"sizeLimit":"1e-1000"}}]`,
			"volumes: [1].emptyDir.sizeLimit: " + tooCostly},
		{"two fields", `"resources":{"limits":{"cpu":"1e1000"}},"volumes":[{"name":"a","emptyDir":{"sizeLimit":"1e1000"}}]`,
			"resources: limits.cpu: " + tooCostly + "; volumes: [0].emptyDir.sizeLimit: " + tooCostly},
		{"the largest exponent that is read", `"resources":{"limits":{"cpu":"1e999"}}`, ""},
		{"the smallest exponent that is read", `"resources":{"limits":{"cpu":"1e-999"}}`, ""},
		{"an exponent with zeros", `"resources":{"limits":{"cpu":"1e-0000000003"}}`, ""},
		{"the longest number that is read", `"resources":{"limits":{"cpu":"` + strings.Repeat("1", 64) + `"}}`, ""},
		{"the text of a variable", `"envs":[{"name":"a","value":"1e-2000000000"}],"args":["1e-2000000000"]`, ""},
		{"a name in a map", `"podLabels":{"1e-2000000000":"1e-2000000000"},"resources":{"limits":{"1e-2000000000":"1"}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var e appv1.EasyService
			if err := json.Unmarshal([]byte(`{"metadata":{"name":"a","uid":"1e12345678"},"spec":{"image":"a",`+c.spec+`}}`), &e); err != nil {
				t.Fatal(err)
			}
			if e.GetUnreadable() != c.unreadable {
				t.Errorf("got %q", e.GetUnreadable())
			}
			if e.Name != "a" || e.UID != "1e12345678" || e.Spec.Image != "a" {
				t.Errorf("what can be read is lost: %+v", e)
			}
		})
	}
}

// A spec in another spelling is none of the API server's. Reading it costs no more than its length either.
func TestACostlyQuantityOutsideOfSpecAndStatusIsAnError(t *testing.T) {
	err := json.Unmarshal([]byte(`{"SPEC":{"resources":{"limits":{"cpu":"1e-2000000000"}}}}`), &appv1.EasyService{})
	if want := "SPEC.resources.limits.cpu: " + tooCostly; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// An ordinary object is not decoded twice: what looks for long numbers allocates nothing.
func TestAnOrdinaryObjectIsReadAsBefore(t *testing.T) {
	text := []byte(`{"metadata":{"name":"a"},"spec":{"image":"a","resources":{"limits":{"cpu":"100m","memory":"1.5Gi"}}}}`)
	type bare struct {
		Metadata struct{ Name string }   `json:"metadata"`
		Spec     appv1.EasyServiceSpec   `json:"spec"`
		Status   appv1.EasyServiceStatus `json:"status"`
	}
	without := testing.AllocsPerRun(100, func() { _ = json.Unmarshal(text, &bare{}) })
	with := testing.AllocsPerRun(100, func() { _ = json.Unmarshal(text, &appv1.EasyService{}) })
	if with > without+10 {
		t.Errorf("%v allocations, %v without", with, without)
	}
}
