package proxy

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// What the user exempts stays so, and the local cluster is exempt with it.
func TestBypass(t *testing.T) {
	for name, user := range map[string]struct{ upper, lower, keeps string }{
		"nothing":    {"", "", "localhost"},
		"upper case": {"corp,10.1.0.0/16", "", "corp"},
		"lower case": {"", "corp", "corp"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("NO_PROXY", user.upper)
			t.Setenv("no_proxy", user.lower)
			make := exec.Command("make", "--no-print-directory", "-C", "../../..", "--eval=direct: ; @echo $$NO_PROXY $$no_proxy", "direct")
			make.Env = append(os.Environ(), "CLUSTER=local", "MAKEFLAGS=") // not of the make that runs this
			made, err := make.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, made)
			}
			if err := Bypass(); err != nil {
				t.Fatal(err)
			}
			values := append(strings.Fields(string(made)), os.Getenv("NO_PROXY"), os.Getenv("no_proxy"))
			if len(values) != 4 {
				t.Fatalf("make sets %q", made)
			}
			for _, value := range values {
				exempt := strings.Split(value, ",")
				for _, want := range []string{user.keeps, "localhost", "127.0.0.0/8", Pods, Services} {
					if !slices.Contains(exempt, want) {
						t.Errorf("%s is not among %q", want, value)
					}
				}
			}
		})
	}
}
