package samples

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// needs are the fields of the samples of backups that name another object, and its kind.
var needs = []struct {
	kind  string
	field []string
	of    string
}{
	{"EtcdBackup", []string{"spec", "clusterName"}, "EtcdCluster"},
	{"EtcdBackup", []string{"spec", "store", "volume", "claimName"}, "PersistentVolumeClaim"},
	{"RedisBackup", []string{"spec", "redisName"}, "Redis"},
	{"RedisBackup", []string{"spec", "store", "volume", "claimName"}, "PersistentVolumeClaim"},
	{"EtcdRestore", []string{"spec", "clusterName"}, "EtcdCluster"},
	{"EtcdRestore", []string{"spec", "backup", "name"}, "EtcdBackup"},
	{"EtcdRestore", []string{"spec", "backup", "store", "volume", "claimName"}, "PersistentVolumeClaim"},
}

// A sample that names what does not exist does not work as it is.
func TestBackupsBringWhatTheyNeed(t *testing.T) {
	missing := missingOf(read(t, "../../config/samples"), read(t, "../../config/samples/backups"))
	for _, words := range missing {
		t.Error(words)
	}
}

func TestAMissingStoreIsFound(t *testing.T) {
	running, backups := read(t, "../../config/samples"), read(t, "../../config/samples/backups")
	for _, need := range needs {
		var less []*unstructured.Unstructured
		for _, obj := range append(running[:len(running):len(running)], backups...) {
			if obj.GetKind() != need.of {
				less = append(less, obj)
			}
		}
		if len(missingOf(less, nil)) == 0 {
			t.Errorf("%s without its %s is not found", need.kind, need.of)
		}
	}
	if len(missingOf(running, nil)) != len(needs) {
		t.Errorf("without any backup: %q", missingOf(running, nil))
	}
}

// missingOf returns what the samples name and none of them is. A kind that has no sample at all lacks everything.
func missingOf(running, backups []*unstructured.Unstructured) []string {
	all := append(running[:len(running):len(running)], backups...)
	there := map[string]bool{}
	for _, obj := range all {
		there[obj.GetKind()+" "+obj.GetName()] = true
	}
	var missing []string
	for _, need := range needs {
		seen := false
		for _, obj := range all {
			if obj.GetKind() != need.kind {
				continue
			}
			seen = true
			name, _, _ := unstructured.NestedString(obj.Object, need.field...)
			if !there[need.of+" "+name] {
				missing = append(missing, need.kind+" "+obj.GetName()+" needs "+need.of+" "+name)
			}
		}
		if !seen {
			missing = append(missing, "there is no sample of "+need.kind)
		}
	}
	return missing
}

func read(t *testing.T, dir string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}
