package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheExporterThatIsBuiltIsTheOneThatIsDeployed(t *testing.T) {
	_, version, _ := strings.Cut(exporterImage, ":")
	for file, want := range map[string]string{
		"hack/tools/exporter/go.mod":  "github.com/prometheus/memcached_exporter " + version + " ",
		"config/manager/manager.yaml": exporterImage + "\n",
		"controllers/setup.go":        `"` + exporterImage + `"`,
		"docs/memcached.md":           "`" + exporterImage + "`",
		"docs/install-modes.md":       "`" + exporterImage + "`",
	} {
		content, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(content, []byte(want)) {
			t.Errorf("%s does not say %q", file, want)
		}
	}
}

func TestTheExportersImageKeepsItsContract(t *testing.T) {
	program := filepath.Join(t.TempDir(), "memcached_exporter")
	if err := os.WriteFile(program, []byte("a program"), 0o600); err != nil {
		t.Fatal(err)
	}
	image, err := exporterFrom(program)
	if err != nil {
		t.Fatal(err)
	}
	files := untar(t, bytes.NewReader(image.Layers[0].content))
	if got := string(files[strings.TrimPrefix(image.Config.Entrypoint[0], "/")]); got != "a program" {
		t.Errorf("its entry point is %q", got)
	}
	if got := string(files["etc/passwd"]); !strings.Contains(got, "\n"+image.Config.User+":x:65534:") {
		t.Errorf("its user is not among\n%s", got)
	}
}
