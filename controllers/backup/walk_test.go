package backup

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/backup/internal/runner"
	"github.com/mainstay-operator/mainstay-operator/controllers/backup/internal/scratch"
	"github.com/mainstay-operator/mainstay-operator/controllers/backup/internal/store"
	dumps "github.com/mainstay-operator/mainstay-operator/controllers/backup/source"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once/oncetest"
	"github.com/mainstay-operator/mainstay-operator/test/explore"
)

// TestWalks plays operators, runners and a store in random order: each call of theirs is a step of its own, operators are stopped and
// wake with an old view, clocks jump, the object is recreated, and twice something goes wrong. The runners' commands and the store are
// the real ones. A seed gives the same walk again.
func TestWalks(t *testing.T) {
	walks := uint64(90 / explore.Every(3)) //nolint:gosec // at least 30
	if os.Getenv("LONG") != "" {
		walks = 5000
	}
	played := map[string]int{}
	for seed := range walks {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			k := newWalk(t, seed)
			k.retained.played = played
			k.play()
		})
		if t.Failed() {
			return
		}
	}
	for _, event := range retentionEvents {
		if played[event] == 0 && explore.IsFull() {
			t.Errorf("no walk played %q", event)
		}
	}
}

// walker is an operator that makes one pass after the other.
type walker struct {
	*process
	*operator
}

func (w *walk) newWalker() *walker {
	o := w.operator()
	p := startProcess(func(p *process) {
		o.intercept = func(_ string, do func() error) error {
			if w.loses > 0 && p.turn() {
				w.loses--
				_ = do()
				return oncetest.ErrAnswerLost
			}
			return p.call(do)
		}
		for p.turn() {
			_, _ = o.pass()
		}
	})
	return &walker{p, o}
}

// killedCode is the exit code of a process that was killed.
const killedCode = 137

// runningPod is a pod whose containers are runners.
type runningPod struct {
	*process
	uid       types.UID
	env       runner.Environment
	container int
	code      int
	message   string
	item      string
	source    *backup.Source // as long as it is reported
	deleted   map[string]bool
}

// walk is one.
type walk struct {
	*fakeCluster
	random    *rand.Rand
	volume    string // where the store is
	store     store.Store
	operators []*walker
	runners   map[types.UID]*runningPod
	faults    int // left
	loses     int // answers to operators that get lost
	calm      bool
	trace     []string

	retention *commonv1.BackupRetention
	owner     types.UID            // of the object as it is now
	owners    map[string]types.UID // of items
	astray    map[string]bool      // items of runners that continued where no one saw them
	writers   map[string]types.UID // of objects in the store
	started   map[string]string    // due time and attempt → item
	latest    time.Time            // that was due, for the owner
	fetched   map[string]bool      // items that were whole
	retained  retained
}

func newWalk(t *testing.T, seed uint64) *walk {
	t.Helper()
	k := &walk{random: rand.New(rand.NewPCG(seed, 0)), volume: t.TempDir(), faults: 2, //nolint:gosec // a seed gives the same walk again
		runners: map[types.UID]*runningPod{}, owners: map[string]types.UID{}, astray: map[string]bool{}, writers: map[string]types.UID{},
		started: map[string]string{}, fetched: map[string]bool{}}
	k.fakeCluster = newFakeCluster(t, k.advance)
	opened, err := store.Open(commonv1.BackupStore{Volume: &commonv1.VolumeStore{ClaimName: "any"}}, store.Places{Volume: k.volume})
	if err != nil {
		t.Fatal(err)
	}
	k.store = &agedStore{opened, k}
	k.retained = newRetained()
	if seed%4 == 0 {
		k.retention, k.faults = &commonv1.BackupRetention{KeepLast: ptr.To(1 + int32(seed/4%2))}, 5 //nolint:gosec // 1 or 2
		k.makeFormer(4)
	}
	k.now = testTime.Truncate(24 * time.Hour).Add(12*time.Hour - time.Second) // a second before the first is due
	k.create()
	k.operators = []*walker{k.newWalker(), k.newWalker()}
	return k
}

func (w *walk) create() {
	w.t.Helper()
	b := newBackup(func(b *databasev1alpha1.EtcdBackup) {
		b.Spec.Schedule, b.Spec.Retention = "0 */12 * * *", w.retention
		b.Spec.Store = commonv1.BackupStore{Volume: &commonv1.VolumeStore{ClaimName: "any"}}
		b.CreationTimestamp = metav1.NewTime(w.now)
	})
	w.must(w.server.Create(context.Background(), b))
	w.owner, w.latest = b.UID, time.Time{}
}

func (w *walk) play() {
	w.t.Helper()
	defer func() {
		for _, p := range w.processes() {
			p.kill()
		}
		if w.t.Failed() {
			w.t.Log("\n" + strings.Join(w.trace, "\n"))
		}
	}()
	for range 200 {
		w.take()
		w.observe()
		w.checkManifests()
		if w.t.Failed() {
			return
		}
	}
	for _, o := range w.operators {
		o.kill()
	}
	w.calm = true
	w.note("from here on all goes well")
	w.setClocksAhead(0)
	w.runToTheEnd()
	w.checkTheStore()
}

func (w *walk) note(format string, args ...any) {
	w.trace = append(w.trace, w.now.Format("02T15:04:05 ")+fmt.Sprintf(format, args...))
}

func (w *walk) processes() (list []*process) {
	for _, o := range w.operators {
		list = append(list, o.process)
	}
	for _, r := range w.sortedRunners() {
		list = append(list, r.process)
	}
	return list
}

func (w *walk) sortedRunners() (list []*runningPod) {
	for _, r := range w.runners {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b *runningPod) int { return strings.Compare(string(a.uid), string(b.uid)) })
	return list
}

// take one step.
func (w *walk) take() {
	w.t.Helper()
	switch n := w.random.IntN(100); {
	case n < 8: // the one that was stopped, and thinks that it leads
		w.operators[1].step()
	case n < 46:
		if w.random.IntN(3) > 0 {
			w.operators[0].sync()
		}
		w.operators[0].step()
	case n < 58:
		w.kubelet()
	case n < 86:
		for _, r := range w.sortedRunners() {
			for range w.random.IntN(6) {
				r.step()
			}
		}
	case n < 91:
		w.passTime()
	case n < 93:
		w.now = w.now.Add(-time.Duration(w.random.IntN(8*3600)) * time.Second)
		w.note("the clock goes back")
	case n < 95:
		w.operators[0], w.operators[1] = w.operators[1], w.operators[0]
		w.note("the operator is stopped, and the other one continues")
	case n == 95:
		w.allow()
	case w.faults > 0 && w.fail():
		w.faults--
	}
}

// fail has one thing go wrong, if it can be now.
func (w *walk) fail() bool {
	if w.retention != nil && w.random.IntN(2) == 0 {
		w.breakRetention()
		return true
	}
	return w.goWrong()
}

// passTime has some time pass, or all that is left until the next backup is due.
func (w *walk) passTime() {
	far := []time.Duration{10 * time.Second, time.Minute, 10 * time.Minute, time.Hour, 12 * time.Hour}
	w.now = w.now.Add(far[w.random.IntN(len(far))])
	if b := w.seen; w.random.IntN(3) == 0 && b != nil && b.Status.Next != nil && b.Status.Next.After(w.now) {
		w.now = b.Status.Next.Time
	}
}

// goWrong in one way, if that can be now.
func (w *walk) goWrong() bool {
	w.t.Helper()
	pods := w.pods()
	if len(pods) == 0 && w.random.IntN(4) > 0 {
		return false // most of what can go wrong then is nothing
	}
	switch n := w.random.IntN(8); {
	case n == 0:
		w.note("an operator is killed")
		w.operators[0].kill()
		w.operators[0] = w.newWalker()
	case n == 1:
		w.note("an answer is lost")
		w.loses = 1
	case n == 2:
		w.note("the object is recreated")
		w.must(w.server.Delete(context.Background(), w.backup()))
		w.create()
	case n == 3 && len(pods) > 0:
		w.note("pod %s is gone, and its runner may continue", pods[0].Name)
		if r := w.runners[pods[0].UID]; r != nil {
			w.astray[r.item] = true
		}
		w.must(w.server.Delete(context.Background(), &pods[0]))
	case n > 3:
		i := slices.IndexFunc(w.sortedRunners(), func(r *runningPod) bool { return !r.ended })
		if i < 0 {
			return false
		}
		r := w.sortedRunners()[i]
		w.note("the runner of %s is killed", r.item)
		r.code = killedCode
		r.kill()
	default:
		return false
	}
	return true
}

// advance is the kubelet's part: it starts the containers of a pod, one after the other.
func (w *walk) advance(pod *corev1.Pod) {
	r := w.runners[pod.UID]
	if r == nil {
		r = &runningPod{uid: pod.UID, container: -1, deleted: map[string]bool{}, process: &process{ended: true}}
		w.runners[pod.UID] = r
		r.env = w.environment(&turnedStore{w.store, w, r}, "data of pod "+string(pod.UID))
	}
	for {
		for w.calm && !r.ended {
			r.step()
		}
		if !r.ended {
			return
		}
		all := slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
		if r.container >= 0 {
			ended(all[r.container].Name, int32(r.code), r.message)(pod) //nolint:gosec // an exit code
			if r.code != 0 || r.container == len(all)-1 {
				return
			}
		}
		r.container++
		w.start(r, all[r.container])
		if !w.calm {
			pod.Status.Phase = corev1.PodRunning
		}
	}
}

// start starts a container.
func (w *walk) start(r *runningPod, c corev1.Container) {
	if r.code, r.message = 0, ""; c.Name == backup.CommandInstall {
		r.process = &process{ended: true}
		return
	}
	var task backup.Task
	if err := json.Unmarshal([]byte(c.Command[len(c.Command)-1]), &task); err != nil {
		w.t.Fatal(err)
	}
	r.item, r.source = task.Item, task.Source
	w.owners[task.Item] = w.owner
	w.note("%s of %s starts", c.Name, task.Item)
	r.process = startProcess(func(*process) {
		if message, code := w.run(r.env, c.Command[1:]); r.code != killedCode {
			r.message, r.code = message, code
		}
	})
}

// environment of the runner in one pod: that store, and servers that give that content and start from any.
func (w *walk) environment(opened store.Store, content string) runner.Environment {
	return runner.Environment{
		Open: func(commonv1.BackupStore) (store.Store, error) { return opened, nil },
		Servers: map[backup.ServerType]runner.Server{backup.Etcd: {
			Dump: func(_ context.Context, _ backup.Source, _ string, file dumps.File) (dumps.Meta, error) {
				_, err := io.WriteString(file, content)
				return dumps.Meta{Revision: 1, ServerVersion: "3.6.16"}, err
			},
			Check:  func(string, backup.Manifest) error { return nil },
			Verify: func(context.Context, string, string, backup.Manifest) error { return nil },
		}},
		Clock: walkClock{w}, Scratch: w.t.TempDir(), TerminationLog: filepath.Join(w.t.TempDir(), "termination-log"),
		Disk: func(string) (scratch.Space, error) { return scratch.Space{Free: 1 << 40}, nil },
	}
}

// run a runner to its end, and return its termination message and exit code.
func (w *walk) run(env runner.Environment, args []string) (string, int) {
	code := runner.Main(args, env)
	message, err := os.ReadFile(env.TerminationLog)
	if err != nil {
		w.t.Error(err)
	}
	return string(message), code
}

// walkClock is that of all nodes.
type walkClock struct{ k *walk }

func (w walkClock) Now() time.Time { return w.k.now }

func (w walkClock) Since(t time.Time) time.Duration {
	return clocktesting.NewFakePassiveClock(w.k.now).Since(t)
}

// runToTheEnd lets time go by in which all goes well: another backup is made, and with retention what is left without manifest gets so
// old that it cannot be written any more.
func (w *walk) runToTheEnd() {
	w.t.Helper()
	for uid, r := range w.runners {
		if !slices.ContainsFunc(w.pods(), func(p corev1.Pod) bool { return p.UID == uid }) {
			r.kill()
		}
	}
	b := w.backup()
	end := later(w.now, later(lastSettled(&b.Status), b.CreationTimestamp.Time)) // the clock may be behind
	lasts := 12 * time.Hour
	if w.retention != nil {
		lasts = 60 * time.Hour
	}
	w.operator().runUntil(end.Add(lasts))
}
