package backup

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/backup/internal/store"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// made is what the walk knows of an item that a runner has written, whatever the store says.
type made struct {
	source  types.UID
	dataset string
	// ahead is how far all clocks were ahead of the store's.
	ahead time.Duration
}

// retained is what the walk knows of what retention must keep.
type retained struct {
	made    map[string]made
	forged  map[string]bool
	written map[string]time.Time // by the store's clock
	// ahead is how far all clocks are ahead of the store's.
	ahead   time.Duration
	allowed string
	// played counts each of retentionEvents, over all walks.
	played map[string]int
}

// retentionEvents are those after which retention must not delete what it should keep.
var retentionEvents = []string{"clocks ahead", "clocks right again", "forged items", "another source", "a loss"}

func newRetained() retained {
	return retained{made: map[string]made{}, forged: map[string]bool{}, written: map[string]time.Time{}}
}

// agedStore has a clock, which nobody sets.
type agedStore struct {
	store.Store
	k *walk
}

func (s *agedStore) Put(ctx context.Context, name string, content io.Reader) error {
	s.k.retained.written[filepath.Base(name)] = s.k.now.Add(-s.k.retained.ahead)
	return s.Store.Put(ctx, name, content)
}

func (s *agedStore) List(ctx context.Context, folder string) iter.Seq2[backup.Object, error] {
	return func(yield func(backup.Object, error) bool) {
		for object, err := range s.Store.List(ctx, folder) {
			object.Modified = s.k.retained.written[object.Name]
			if !yield(object, err) {
				return
			}
		}
	}
}

// makeFormer makes verified backups on the days before the walk.
func (k *walk) makeFormer(count int) {
	k.t.Helper()
	for day := count; day > 0; day-- {
		k.now = testTime.Truncate(24*time.Hour).AddDate(0, 0, -day)
		task := backup.Task{Kind: backup.Etcd, Store: commonv1.BackupStore{Volume: &commonv1.VolumeStore{ClaimName: "any"}},
			Folder: backup.Folder(key.Namespace, key.Name), Item: backup.ItemName(k.now, "former", k.now, 1), Time: k.now, Verify: true,
			Source: &backup.Source{UID: string(testSource.uid), Endpoints: testSource.endpoints}}
		text, err := json.Marshal(task)
		if err != nil {
			k.t.Fatal(err)
		}
		env := k.environment(k.store, "data of the pod of a day before")
		for _, command := range []string{backup.CommandBackup, backup.CommandFetch, backup.CommandVerify, backup.CommandFinish} {
			if message, code := k.run(env, []string{command, "--task", string(text)}); code != 0 {
				k.t.Fatal(message)
			}
		}
		k.retained.made[task.Item] = made{source: testSource.uid}
	}
}

// breakRetention plays one of retentionEvents.
func (k *walk) breakRetention() {
	event := retentionEvents[k.random.IntN(len(retentionEvents))]
	k.retained.played[event]++
	switch event {
	case "clocks ahead":
		k.setClocksAhead(30 * 24 * time.Hour)
	case "clocks right again":
		k.setClocksAhead(0)
	case "forged items":
		k.forge()
	case "another source":
		k.source.uid = types.UID([]string{"source-uid", "another-uid"}[k.random.IntN(2)])
		k.note("the source is %s", k.source.uid)
	case "a loss":
		k.source.dataset += "x"
		k.note("all data is lost, and the data set is %s", k.source.dataset)
	}
}

// setClocksAhead of the store's.
func (k *walk) setClocksAhead(by time.Duration) {
	k.now = k.now.Add(by - k.retained.ahead)
	k.retained.ahead = by
	k.note("all clocks but the store's are ahead by %s", by)
}

// forge items that are later than all others, by names alone.
func (k *walk) forge() {
	for i := range 3 {
		at := k.now.Add(time.Duration(i) * time.Minute)
		item := backup.ItemName(at, "forged", at, 1)
		k.retained.forged[item] = true
		for _, name := range []string{backup.DataName(backup.Etcd, item), backup.ManifestName(backup.Etcd, item), backup.VerifiedName(backup.Etcd, item)} {
			k.must(os.WriteFile(filepath.Join(k.folder(), name), nil, 0o600))
		}
		k.note("somebody forges %s", item)
	}
}

func (k *walk) folder() string {
	return filepath.Join(k.volume, backup.Folder(key.Namespace, key.Name))
}

// allow is what a human does who reads what the status says.
func (k *walk) allow() {
	b := k.backup()
	_, item, asked := strings.Cut(b.Status.RetentionHeld, commonv1.AllowRetention+"=")
	if !asked {
		return
	}
	k.note("a human allows %s", item)
	k.retained.allowed = item
	metav1.SetMetaDataAnnotation(&b.ObjectMeta, commonv1.AllowRetention, item)
	k.must(k.server.Update(context.Background(), b))
}

// noteMade notes of what an item is made.
func (k *walk) noteMade(r *runningPod, item string) {
	if _, known := k.retained.made[item]; !known && r.source != nil {
		k.retained.made[item] = made{types.UID(r.source.UID), r.source.Dataset, k.retained.ahead}
	}
}

// checkDeletion sees that a runner deletes a verified backup by the rule alone.
func (k *walk) checkDeletion(r *runningPod, object string) {
	item, _ := backup.ItemOf(backup.Etcd, object)
	names := k.names()
	if object != backup.ManifestName(backup.Etcd, item) || !names[object] || !names[backup.VerifiedName(backup.Etcd, item)] {
		return
	}
	r.deleted[item] = true
	by, is, later := k.retained.made[r.item], k.retained.made[item], k.laterOnes(item, names)
	sameData := slices.ContainsFunc(later, func(other string) bool { return k.retained.made[other].dataset == is.dataset })
	lost := slices.IndexFunc(later, func(other string) bool { return k.retained.made[other].dataset != is.dataset })
	switch {
	case k.retention == nil:
		k.t.Errorf("%s is deleted, and nobody has asked for it", item)
	case len(r.deleted) > backup.MaxDeleted:
		k.t.Errorf("the run of %s deletes %d backups", r.item, len(r.deleted))
	case is.source != by.source:
		k.t.Errorf("%s of source %s is deleted by the run of %s, of source %s", item, is.source, r.item, by.source)
	case len(later) < int(*k.retention.KeepLast):
		k.t.Errorf("%s is deleted, and only %q are later", item, later)
	case !sameData:
		k.t.Errorf("%s is deleted, and is the last of its data set", item)
	case lost >= 0 && item >= k.retained.allowed:
		k.t.Errorf("%s is deleted, though data was lost until %s, and no human has looked since", item, later[lost])
	case by.ahead > 0 && k.retained.ahead > 0:
		k.t.Errorf("%s is deleted, though all clocks but the store's are ahead", item)
	}
	k.note("%s is deleted", item)
}

// laterOnes are the verified backups of the item's source that are there and later, the newest first.
func (k *walk) laterOnes(item string, names map[string]bool) (later []string) {
	for other, m := range k.retained.made {
		if other > item && m.source == k.retained.made[item].source &&
			names[backup.ManifestName(backup.Etcd, other)] && names[backup.VerifiedName(backup.Etcd, other)] {
			later = append(later, other)
		}
	}
	slices.SortFunc(later, func(a, b string) int { return strings.Compare(b, a) })
	return later
}
