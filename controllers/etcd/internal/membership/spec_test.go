package membership

import (
	"slices"
	"testing"
)

func TestACertificateNamesEveryMemberThatThereMayBe(t *testing.T) {
	want := []string{"e.ns.svc", "e-0.e-headless.ns.svc", "e-1.e-headless.ns.svc", "e-2.e-headless.ns.svc", "e-3.e-headless.ns.svc",
		"e-4.e-headless.ns.svc"}
	if got := (Spec{Name: "e", Namespace: "ns", Size: 1}).ClientHosts(); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}
