package controllers

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
)

func TestClusterIdentity(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, []byte("authority\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	identity := func(c rest.TLSClientConfig) string {
		t.Helper()
		id, err := clusterIdentity(&rest.Config{TLSClientConfig: c})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	inPod, outside := identity(rest.TLSClientConfig{CAFile: file}), identity(rest.TLSClientConfig{CAData: []byte("authority")})
	if len(inPod) != 64 || inPod != outside {
		t.Errorf("%q by the file, %q by the data", inPod, outside)
	}
	if other := identity(rest.TLSClientConfig{CAData: []byte("another")}); other == inPod {
		t.Error("two clusters have the same identity")
	}
	if none := identity(rest.TLSClientConfig{}); none != "" {
		t.Errorf("%q without an authority", none)
	}
	if _, err := clusterIdentity(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CAFile: file + "x"}}); err == nil {
		t.Error("an authority that cannot be read is no error")
	}
}
