package runner

import (
	"slices"
	"testing"

	"k8s.io/utils/ptr"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

func TestFinishKeepsWhatRetentionSays(t *testing.T) {
	p := newPod(t)
	for day := 17; day < 20; day++ {
		p.succeed(p.task(day), all...)
	}
	p.replace("20260101T000000Z-00000001.redis.json", []byte("a RedisBackup shares the folder"))
	p.replace("20260101T000000Z-00000001.etcd.data", []byte("left by a killed attempt"))
	p.replace("readme.txt", []byte("somebody else's"))
	task := p.task(20)
	task.Retention = &commonv1.BackupRetention{KeepLast: ptr.To[int32](2)}
	result := p.succeed(task, all...)
	want := append([]string{"20260101T000000Z-00000001.redis.json"}, append(verifiedItem(19, 20), "readme.txt")...)
	if got := p.objects(); !slices.Equal(got, want) || len(result.Items) != 2 ||
		result.Items[1].Name != item(19) {
		t.Errorf("%q, %+v", got, result)
	}
}

// As many of the newest items are listed as fit.
func TestFinishListsTheNewest(t *testing.T) {
	p := newPod(t)
	for day := 1; day < 21; day++ {
		p.succeed(p.task(day), all...)
	}
	p.replace(backup.ManifestName(backup.Etcd, item(19)), []byte("broken"))
	result := p.succeed(p.task(20), backup.CommandFinish)
	if len(result.Items) < 5 || result.Items[0].Name != item(20) || result.Items[1].Name != item(18) || !result.Items[4].Verified {
		t.Errorf("%d items: %+v", len(result.Items), result)
	}
}
