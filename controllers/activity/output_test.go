package activity

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/activity/internal/guard"
)

// reportOn returns the guard's report on a command that printed this on stdout alone.
func reportOn(printed string) guard.Report {
	sample := func(text string) guard.Sample {
		sum := fnv.New64a()
		_, _ = sum.Write([]byte(text))
		return guard.Sample{Size: len(text), Sum: sum.Sum64()}
	}
	end := printed[max(0, len(printed)-64):]
	return guard.Report{Output: &guard.Output{Stdout: guard.Stream{Bytes: int64(len(printed)), End: sample(end), Line: sample(end)},
		Stderr: guard.Stream{End: sample(""), Line: sample("")}}}
}

func TestALogIsComparedWithWhatWasPrinted(t *testing.T) {
	long := strings.Repeat("é\n", 5000) + "END"
	lines := strings.SplitAfter(long, "\n")
	end := strings.Join(lines[len(lines)-maxTailLines-1:], "")
	for name, c := range map[string]struct {
		log, printed string
		limit        int
		want         bool
	}{
		"nothing":                        {"", "", 4096, true},
		"all":                            {"hello\n", "hello\n", 4096, true},
		"all, though less is kept":       {"hello\n", "hello\n", 2, true},
		"all, and a line from elsewhere": {"hello\nby /proc/1/fd/1\n", "hello\n", 4096, true},
		"a part":                         {"hel", "hello\n", 4096, false},
		"no line yet":                    {"", "hello\n", 4096, false},
		"the end":                        {end, long, 4096, true},
		"the end, though less is kept":   {end, long, 2, true},
		"cut before the end":             {strings.TrimSuffix(end, "END"), long, 4096, false},
		"cut in a character":             {strings.TrimSuffix(end, "\nEND")[:len(end)-5], long, 4096, false},
		"started over shortly before":    {"é\né\nEND", long, 4096, false}, // less than the sample: it cannot be known, so it is not claimed
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tailOf(iotest.OneByteReader(strings.NewReader(c.log)), c.limit, reportOn(c.printed))
			if err != nil || got.complete == nil || *got.complete != c.want {
				t.Errorf("complete: %+v, %v", got.complete, err)
			}
			if strings.Contains(got.text, "?") {
				t.Errorf("a character is cut: %q", got.text)
			}
		})
	}
}

// lateOutput is a log that lacks its end, or cannot be read, until it was read so often.
type lateOutput struct {
	reads, goodAfter int
	err              error
}

func (l *lateOutput) Tail(context.Context, *corev1.Pod, int) (outputTail, error) {
	l.reads++
	if l.err != nil && l.reads <= l.goodAfter {
		return outputTail{}, fmt.Errorf("reading the output: %w", l.err)
	}
	return outputTail{text: "text", complete: ptr.To(l.reads > l.goodAfter)}, nil
}

// TestTheEndOfALogIsAwaited checks that a log that lacks its end, or that a busy node does not hand over, is read again, at
// intervals and not for ever.
func TestTheEndOfALogIsAwaited(t *testing.T) {
	const never = 1000
	busy := apierrors.NewServerTimeout(corev1.Resource("pods"), "get", 1)
	for name, c := range map[string]struct {
		goodAfter, wantReads int
		err                  error
		wantMessage          string
	}{
		"complete at once":             {0, 1, nil, ""},
		"complete after two reads":     {2, 3, nil, ""},
		"never complete":               {never, 6, nil, outputLost},
		"read after the node was busy": {7, 8, busy, ""},
		"read after a node's silence":  {2, 3, context.DeadlineExceeded, ""},
		"the node is always busy":      {never, 31, busy, "reading the output"},
		"there is no log":              {never, 1, apierrors.NewNotFound(corev1.Resource("pods"), "gone"), "reading the output"},
		"the operator may not read it": {never, 1, apierrors.NewForbidden(corev1.Resource("pods"), "a", nil), "reading the output"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFakeCluster(t, 0)
			w.submit(egov1.ActivitySpec{})
			output := &lateOutput{goodAfter: c.goodAfter, err: c.err}
			var a *egov1.Activity
			for range 60 {
				o := w.operator() // a new process each time: what it waits for is not in its memory
				o.Output = output
				before := w.resourceVersions()
				result, err := o.Reconcile(context.Background(), ctrl.Request{NamespacedName: key})
				if err != nil {
					t.Fatal(err)
				}
				if a = w.activity(); a.Status.Prosta.Finished() {
					break
				}
				if output.reads > 0 {
					if result.RequeueAfter != outputRetry || w.resourceVersions() != before {
						t.Fatalf("after read %d it comes again after %s, and wrote: %t", output.reads, result.RequeueAfter, w.resourceVersions() != before)
					}
					w.now = w.now.Add(result.RequeueAfter)
				}
				w.kubelet()
			}
			if output.reads != c.wantReads || a.Status.Prosta != egov1.Succeeded ||
				ptr.Deref(a.Status.OutputComplete, false) != (c.wantMessage == "") {
				t.Errorf("%d reads, %+v", output.reads, a.Status)
			}
			if !strings.Contains(a.Status.Message, c.wantMessage) || c.wantMessage == "" && strings.Contains(a.Status.Message, "output") {
				t.Errorf("it says %q", a.Status.Message)
			}
		})
	}
}

func TestKilledChildrenAreReported(t *testing.T) {
	limited := func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("48Mi")}
	}
	free := func(*corev1.Pod) {}
	for name, c := range map[string]struct {
		code           int32
		reason, says   string
		pod            func(*corev1.Pod)
		want, wantsNot string
	}{
		"none":                     {0, "Completed", guard.Report{}.String(), limited, "exit code 0", "kernel"},
		"a guard without a report": {0, "Completed", "", limited, "exit code 0", "kernel"},
		"one": {0, "Completed", guard.Report{OOMKills: 1}.String(), limited,
			"killed 1 process of the command because the container needed more than its memory limit of 48Mi", "report"},
		"two, without a limit": {0, "Completed", guard.Report{OOMKills: 2}.String(), free,
			"killed 2 processes of the command because the node was short of memory", "report"},
		"one, and the command fails": {3, "Error", guard.Report{OOMKills: 1}.String(), limited, "exit code 3; the kernel killed 1 process",
			"report"},
		"as the runtime says":              {0, "OOMKilled", "", limited, "exit code 0; the kernel killed processes", "report"},
		"the command itself":               {137, "OOMKilled", "", limited, "exit code 137", "kernel"},
		"the command's words, and nothing": {3, "Error", "no such table\n" + guard.Report{}.String(), limited, "no such table", "report"},
	} {
		t.Run(name, func(t *testing.T) {
			a := activityWith(egov1.ActivitySpec{}, runningAttempt)
			setResult(a, pod(a, exited(c.code, c.reason, c.says), c.pod), testTime)
			if got := currentAttempt(a).Message; !strings.Contains(got, c.want) || strings.Contains(got, c.wantsNot) {
				t.Errorf("it says %q", got)
			}
		})
	}
}

// TestTheEndOfTheCommandCounts has a container that continued until its output was read.
func TestTheEndOfTheCommandCounts(t *testing.T) {
	a := activityWith(egov1.ActivitySpec{}, runningAttempt)
	p := pod(a, endedAt(time.Minute, 0))
	ran := p.Status.ContainerStatuses[0].State.Terminated
	p.Spec.ActiveDeadlineSeconds = ptr.To[int64](60)
	ended := testTime.Add(58 * time.Second)
	ran.Message = guard.Report{Ended: ended.Unix()}.String()
	setResult(a, p, metav1.NewTime(testTime.Add(time.Hour)))
	if got := currentAttempt(a); got.Prosta != egov1.Succeeded || !got.FinishTime.Time.Equal(ended) {
		t.Errorf("got %+v", got)
	}
	ran.Message = guard.Report{Ended: ended.Unix() + 1000}.String() // a clock that was set meanwhile
	if got := finishedAt(ran); !got.Equal(&ran.FinishedAt) {
		t.Errorf("it ended at %s", got)
	}
}
