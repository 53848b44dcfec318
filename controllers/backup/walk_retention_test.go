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

// agedStore has a clock, which no one sets.
type agedStore struct {
	store.Store
	k *walk
}

func (a *agedStore) Put(ctx context.Context, name string, content io.Reader) error {
	a.k.retained.written[filepath.Base(name)] = a.k.now.Add(-a.k.retained.ahead)
	return a.Store.Put(ctx, name, content)
}

func (a *agedStore) List(ctx context.Context, folder string) iter.Seq2[backup.Object, error] {
	return func(yield func(backup.Object, error) bool) {
		for object, err := range a.Store.List(ctx, folder) {
			object.Modified = a.k.retained.written[object.Name]
			if !yield(object, err) {
				return
			}
		}
	}
}

// makeFormer makes verified backups on the days before the walk.
func (w *walk) makeFormer(count int) {
	w.t.Helper()
	for day := count; day > 0; day-- {
		w.now = testTime.Truncate(24*time.Hour).AddDate(0, 0, -day)
		task := backup.Task{Kind: backup.Etcd, Store: commonv1.BackupStore{Volume: &commonv1.VolumeStore{ClaimName: "any"}},
			Folder: backup.Folder(key.Namespace, key.Name), Item: backup.ItemName(w.now, "former", w.now, 1), Time: w.now, Verify: true,
			Source: &backup.Source{UID: string(testSource.uid), Endpoints: testSource.endpoints}}
		text, err := json.Marshal(task)
		if err != nil {
			w.t.Fatal(err)
		}
		env := w.environment(w.store, "data of the pod of a day before")
		for _, command := range []string{backup.CommandBackup, backup.CommandFetch, backup.CommandVerify, backup.CommandFinish} {
			if message, code := w.run(env, []string{command, "--task", string(text)}); code != 0 {
				w.t.Fatal(message)
			}
		}
		w.retained.made[task.Item] = made{source: testSource.uid}
	}
}

// breakRetention plays one of retentionEvents.
func (w *walk) breakRetention() {
	event := retentionEvents[w.random.IntN(len(retentionEvents))]
	w.retained.played[event]++
	switch event {
	case "clocks ahead":
		w.setClocksAhead(30 * 24 * time.Hour)
	case "clocks right again":
		w.setClocksAhead(0)
	case "forged items":
		w.forge()
	case "another source":
		w.source.uid = types.UID([]string{"source-uid", "another-uid"}[w.random.IntN(2)])
		w.note("the source is %s", w.source.uid)
	case "a loss":
		w.source.dataset += "x"
		w.note("all data is lost, and the data set is %s", w.source.dataset)
	}
}

// setClocksAhead of the store's.
func (w *walk) setClocksAhead(by time.Duration) {
	w.now = w.now.Add(by - w.retained.ahead)
	w.retained.ahead = by
	w.note("all clocks but the store's are ahead by %s", by)
}

// forge items that are later than all others, by names alone.
func (w *walk) forge() {
	for i := range 3 {
		at := w.now.Add(time.Duration(i) * time.Minute)
		item := backup.ItemName(at, "forged", at, 1)
		w.retained.forged[item] = true
		for _, name := range []string{backup.DataName(backup.Etcd, item), backup.ManifestName(backup.Etcd, item),
			backup.VerifiedName(backup.Etcd, item)} {
			w.must(os.WriteFile(filepath.Join(w.folder(), name), nil, 0o600))
		}
		w.note("somebody forges %s", item)
	}
}

func (w *walk) folder() string {
	return filepath.Join(w.volume, backup.Folder(key.Namespace, key.Name))
}

// allow is what a human does who reads what the status says.
func (w *walk) allow() {
	b := w.backup()
	_, item, asked := strings.Cut(b.Status.RetentionHeld, commonv1.AllowRetention+"=")
	if !asked {
		return
	}
	w.note("a human allows %s", item)
	w.retained.allowed = item
	metav1.SetMetaDataAnnotation(&b.ObjectMeta, commonv1.AllowRetention, item)
	w.must(w.server.Update(context.Background(), b))
}

// noteMade notes of what an item is made.
func (w *walk) noteMade(r *runningPod, item string) {
	if _, known := w.retained.made[item]; !known && r.source != nil {
		w.retained.made[item] = made{types.UID(r.source.UID), r.source.Dataset, w.retained.ahead}
	}
}

// checkDeletion sees that a runner deletes a verified backup by the rule alone.
func (w *walk) checkDeletion(r *runningPod, object string) {
	item, _ := backup.ItemOf(backup.Etcd, object)
	names := w.names()
	if object != backup.ManifestName(backup.Etcd, item) || !names[object] || !names[backup.VerifiedName(backup.Etcd, item)] {
		return
	}
	r.deleted[item] = true
	by, is, later := w.retained.made[r.item], w.retained.made[item], w.laterOnes(item, names)
	sameData := slices.ContainsFunc(later, func(other string) bool { return w.retained.made[other].dataset == is.dataset })
	lost := slices.IndexFunc(later, func(other string) bool { return w.retained.made[other].dataset != is.dataset })
	switch {
	case w.retention == nil:
		w.t.Errorf("%s is deleted, and no one has asked for it", item)
	case len(r.deleted) > backup.MaxDeleted:
		w.t.Errorf("the run of %s deletes %d backups", r.item, len(r.deleted))
	case is.source != by.source:
		w.t.Errorf("%s of source %s is deleted by the run of %s, of source %s", item, is.source, r.item, by.source)
	case len(later) < int(*w.retention.KeepLast):
		w.t.Errorf("%s is deleted, and only %q are later", item, later)
	case !sameData:
		w.t.Errorf("%s is deleted, and is the last of its data set", item)
	case lost >= 0 && item >= w.retained.allowed:
		w.t.Errorf("%s is deleted, though data was lost until %s, and no human has looked since", item, later[lost])
	case by.ahead > 0 && w.retained.ahead > 0:
		w.t.Errorf("%s is deleted, though all clocks but the store's are ahead", item)
	}
	w.note("%s is deleted", item)
}

// laterOnes are the verified backups of the item's source that are there and later, the newest first.
func (w *walk) laterOnes(item string, names map[string]bool) (later []string) {
	for other, m := range w.retained.made {
		if other > item && m.source == w.retained.made[item].source &&
			names[backup.ManifestName(backup.Etcd, other)] && names[backup.VerifiedName(backup.Etcd, other)] {
			later = append(later, other)
		}
	}
	slices.SortFunc(later, func(a, b string) int { return strings.Compare(b, a) })
	return later
}
