package activity

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/ptr"

	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
)

const (
	// defaultTailBytes is how many bytes of output are kept where spec.output says nothing.
	defaultTailBytes = 4096
	// maxTailLines bounds what is read for the tail: the kubelet stores at most 16 KiB a line.
	maxTailLines = 1000
	// outputTimeout is how long a node may take to hand the output over. Beyond
	// it the result counts more than the output.
	outputTimeout = 5 * time.Second
)

// Output reads what a pod printed.
type Output interface {
	// Tail returns at most limit bytes of the end, and whether there was more.
	Tail(ctx context.Context, pod *corev1.Pod, limit int) (tail string, truncated bool, err error)
}

// podLogs reads the output as the kubelet keeps it.
type podLogs struct{ pods corev1client.PodsGetter }

func (l podLogs) Tail(ctx context.Context, pod *corev1.Pod, limit int) (tail string, truncated bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, outputTimeout)
	defer cancel()
	stream, err := l.pods.Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container: appName, TailLines: ptr.To[int64](maxTailLines + 1), // one more tells that there were more
	}).Stream(ctx)
	if err != nil {
		return "", false, fmt.Errorf("reading the output: %w", err)
	}
	defer func() { _ = stream.Close() }()
	return lastBytes(stream, limit)
}

// lastBytes returns the end of a stream, cut to whole characters and to maxTailLines. It
// needs only constant memory.
func lastBytes(stream io.Reader, limit int) (tail string, truncated bool, err error) {
	var kept []byte
	chunk := make([]byte, 32<<10)
	for lines := 0; ; {
		n, err := stream.Read(chunk)
		lines += bytes.Count(chunk[:n], []byte{'\n'})
		kept = append(kept, chunk[:n]...)
		over := max(0, len(kept)-limit)
		kept, truncated = kept[over:], truncated || over > 0
		switch {
		case err == io.EOF:
			if len(kept) > 0 && kept[len(kept)-1] != '\n' { // the last line has no end
				lines++
			}
			if lines > maxTailLines && !truncated {
				_, kept, _ = bytes.Cut(kept, []byte{'\n'})
				truncated = true
			}
			for len(kept) > 0 && !utf8.RuneStart(kept[0]) {
				kept = kept[1:]
			}
			text := strings.ToValidUTF8(string(kept), "?") // no longer than what it replaces
			return strings.ReplaceAll(text, "\x00", "?"), truncated, nil
		case err != nil:
			return "", false, fmt.Errorf("reading the output: %w", err)
		}
	}
}

// tailLimit returns how many bytes of output are kept.
func tailLimit(a *egov1.Activity) int {
	if a.Spec.Output == nil {
		return defaultTailBytes
	}
	return int(ptr.Deref(a.Spec.Output.TailBytes, defaultTailBytes))
}
