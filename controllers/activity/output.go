package activity

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/ptr"

	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/activity/internal/guard"
)

const (
	// defaultTailBytes is how many bytes of output are kept where spec.output says nothing.
	defaultTailBytes = 4096
	// maxTailLines bounds what is read for the tail: the kubelet stores at most 16 KiB a line.
	maxTailLines = 1000
	// proofBytes is how much is read at least, so that a short tail is proven, too.
	proofBytes = 8 << 10
	// outputPatience is for how long after its end a command's log may still lack the end of what it printed: the runtime
	// may not have written all. After that it never comes.
	outputPatience = 5 * time.Second
	// busyPatience is for how long after its end a command's result waits for a node that is too busy to hand over the log.
	busyPatience = 30 * time.Second
	// outputRetry is how long the operator waits before it reads such a log again.
	outputRetry = time.Second
	// outputTimeout is how long a node may take to hand the output over, each time.
	outputTimeout = 5 * time.Second
)

// Output reads what a pod printed.
type Output interface {
	// Tail returns the end of it, at most limit bytes.
	Tail(ctx context.Context, pod *corev1.Pod, limit int) (outputTail, error)
}

// outputTail is the end of what a command printed.
type outputTail struct {
	text string
	// truncated is true when there was more before it.
	truncated bool
	// complete says whether it is the end; nil where that is not known.
	complete *bool
}

// readAgain reports whether a later read of the node's log may bring more: it lacks the end, or the node is too busy to
// hand it over.
func readAgain(tail outputTail, err error, pod *corev1.Pod, now time.Time) bool {
	ran := commandStatus(pod).State.Terminated
	if ran == nil {
		return false
	}
	since := now.Sub(ran.FinishedAt.Time).Abs() // by two clocks
	if err != nil {
		return since < busyPatience && (errors.Is(err, context.DeadlineExceeded) || apierrors.IsServerTimeout(err) ||
			apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err))
	}
	return tail.complete != nil && !*tail.complete && since < outputPatience
}

// podLogs reads the output as the kubelet keeps it.
type podLogs struct{ pods corev1client.PodsGetter }

func (p podLogs) Tail(ctx context.Context, pod *corev1.Pod, limit int) (outputTail, error) {
	ctx, cancel := context.WithTimeout(ctx, outputTimeout)
	defer cancel()
	stream, err := p.pods.Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container: appName, TailLines: ptr.To[int64](maxTailLines + 1), // one more shows that there were more
	}).Stream(ctx)
	if err != nil {
		return outputTail{}, fmt.Errorf("reading the output: %w", err)
	}
	defer func() { _ = stream.Close() }()
	return tailOf(stream, limit, reportOf(commandTermination(commandStatus(pod))))
}

// tailOf returns the end of a stream, cut to whole characters and to maxTailLines, and what the guard's report says
// of it. It needs only constant memory.
func tailOf(stream io.Reader, limit int, report guard.Report) (outputTail, error) {
	var kept []byte
	dropped, lines, keep := false, 0, max(limit, proofBytes)
	chunk := make([]byte, 32<<10)
	for {
		n, err := stream.Read(chunk)
		lines += bytes.Count(chunk[:n], []byte{'\n'})
		kept = append(kept, chunk[:n]...)
		over := max(0, len(kept)-keep)
		kept, dropped = kept[over:], dropped || over > 0
		switch {
		case err == io.EOF:
			if len(kept) > 0 && kept[len(kept)-1] != '\n' { // the last line has no end
				lines++
			}
			tail := cutTail(kept, limit, dropped, lines > maxTailLines)
			if report.Output == nil {
				return tail, nil
			}
			if complete, known := report.Output.IsIn(kept, !dropped && lines <= maxTailLines); known {
				tail.complete = &complete
			}
			return tail, nil
		case err != nil:
			return outputTail{}, fmt.Errorf("reading the output: %w", err)
		}
	}
}

// cutTail cuts the end of what was read to the limit. If that cuts nothing off, and there is a line too many, the first
// goes. It cuts no character in two, also where the log ends within one.
func cutTail(kept []byte, limit int, truncated, lineTooMany bool) outputTail {
	over := max(0, len(kept)-limit)
	kept, truncated = kept[over:], truncated || over > 0
	if lineTooMany && !truncated {
		_, kept, _ = bytes.Cut(kept, []byte{'\n'})
		truncated = true
	}
	for len(kept) > 0 && !utf8.RuneStart(kept[0]) {
		kept = kept[1:]
	}
	for start := len(kept) - 1; start >= max(0, len(kept)-utf8.UTFMax); start-- {
		if utf8.RuneStart(kept[start]) {
			if !utf8.FullRune(kept[start:]) {
				kept = kept[:start]
			}
			break
		}
	}
	text := strings.ToValidUTF8(string(kept), "?") // no longer than what it replaces
	return outputTail{text: strings.ReplaceAll(text, "\x00", "?"), truncated: truncated}
}

// tailLimit returns how many bytes of output are kept.
func tailLimit(a *egov1.Activity) int {
	if a.Spec.Output == nil {
		return defaultTailBytes
	}
	return int(ptr.Deref(a.Spec.Output.TailBytes, defaultTailBytes))
}
