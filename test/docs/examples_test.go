package docs

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/test/samples"
)

// A catalogue shows the examples, but cannot hold the claims that some need: its description says which.
func TestTheDescriptionSaysWhatExamplesNeed(t *testing.T) {
	text := textOf(t, csvBase)
	for _, need := range unsaid(t, text) {
		t.Errorf("the description of the CSV does not say %s", need)
	}
	former := strings.ReplaceAll(text, "| EtcdBackup | EtcdCluster `sample-etcd`, claim `sample-etcd-backups` |\n", "") +
		"\nEach kind has an example that works as it is."
	if len(unsaid(t, former)) == 0 {
		t.Error("that an example needs nothing is not found")
	}
}

// unsaid returns what the rows of the description leave out of what the samples of backups name.
func unsaid(t *testing.T, text string) []string {
	t.Helper()
	objects, err := samples.Read(filepath.Join(root(t), "config/samples/backups"))
	if err != nil {
		t.Fatal(err)
	}
	claims := 0
	var missing []string
	for _, obj := range objects {
		if name := "claim `" + obj.GetName() + "`"; obj.GetKind() == "PersistentVolumeClaim" {
			if claims++; !strings.Contains(text, name) {
				missing = append(missing, name)
			}
		} else if row := "\n| " + obj.GetKind() + " | "; !strings.Contains(text, row) {
			missing = append(missing, "what "+obj.GetKind()+" needs")
		}
	}
	if claims == 0 {
		t.Fatal("the samples of backups have no claim")
	}
	return missing
}
