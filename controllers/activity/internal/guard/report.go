package guard

import (
	"bytes"
	"hash/fnv"
	"strconv"
	"strings"
)

// reportPrefix starts the last line of a termination message that has a report.
const reportPrefix = "mainstay: report "

// sampleSize is of how many bytes at the end of a stream a checksum is reported.
const sampleSize = 64

// Report is what the guard says of a command that has ended.
type Report struct {
	// Ended is when the command ended, in seconds since 1970, by the node's clock. The guard ends later when the
	// runtime is slow to take the output.
	Ended int64
	// OOMKills is how many processes the kernel killed in the container because memory was short, or -1 if that is not known.
	OOMKills int64
	// Output says what was printed; nil if that is not reported.
	Output *Output
}

// Output says what a command printed, by stream.
type Output struct{ Stdout, Stderr Stream }

// Stream says what was printed on one of the two streams. Carriage returns do not count: runtimes drop some.
type Stream struct {
	// Bytes is how many bytes were printed.
	Bytes int64
	// Since is how many bytes the other stream printed after this one's last.
	Since int64
	// End is a sample of the last 64 bytes at most.
	End Sample
	// Line is a sample of the last 64 bytes at most of the last line that is not empty.
	Line Sample
}

// Sample identifies a text without disclosing it: its length and its FNV-1a sum.
type Sample struct {
	Size int
	Sum  uint64
}

func sampleOf(text []byte) Sample {
	sum := fnv.New64a()
	_, _ = sum.Write(text) // it never fails
	return Sample{Size: len(text), Sum: sum.Sum64()}
}

// isIn reports whether the sampled text is somewhere in this one. It looks at the end first.
func (s Sample) isIn(text []byte) bool {
	for i := len(text) - s.Size; i >= 0; i-- {
		if sampleOf(text[i:i+s.Size]) == s {
			return true
		}
	}
	return false
}

// IsIn reports whether a text, the end of a log that has both streams, has the end of all that was printed; known is
// false if the text does not show it. whole is true when the log starts with the text. It may have more: others write to
// the log, too.
func (o Output) IsIn(text []byte, whole bool) (complete, known bool) {
	text = bytes.ReplaceAll(text, []byte{'\r'}, nil)
	switch {
	case whole:
		return int64(len(text)) >= o.Stdout.Bytes+o.Stderr.Bytes, true
	case o.Stderr.Bytes == 0:
		return o.Stdout.End.isIn(text), true
	case o.Stdout.Bytes == 0:
		return o.Stderr.End.isIn(text), true
	}
	// The log has the lines of both, in the runtime's order.
	switch stdout, stderr := o.Stdout.Line.isIn(text), o.Stderr.Line.isIn(text); {
	case stdout && stderr:
		return true, true
	case stdout:
		return true, o.Stderr.Since >= int64(len(text))
	case stderr:
		return true, o.Stdout.Since >= int64(len(text))
	}
	return false, true
}

// String returns the report as one line.
func (r Report) String() string {
	numbers := []int64{r.Ended, r.OOMKills}
	if r.Output != nil {
		for _, s := range []Stream{r.Output.Stdout, r.Output.Stderr} {
			numbers = append(numbers, s.Bytes, s.Since, int64(s.End.Size), int64(s.End.Sum), int64(s.Line.Size),
				int64(s.Line.Sum)) //nolint:gosec // bits
		}
	}
	words := make([]string, 0, len(numbers))
	for _, n := range numbers {
		words = append(words, strconv.FormatInt(n, 10))
	}
	return reportPrefix + strings.Join(words, " ")
}

// SplitMessage returns a termination message without the guard's report, and the report; ok is false if there is none.
func SplitMessage(message string) (rest string, r Report, ok bool) {
	start := strings.LastIndex("\n"+message, "\n"+reportPrefix)
	if start < 0 {
		return message, Report{}, false
	}
	words := strings.Fields(message[start+len(reportPrefix):])
	numbers := make([]int64, 0, len(words))
	for _, word := range words {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return message, Report{}, false
		}
		numbers = append(numbers, n)
	}
	const base, perStream = 2, 6
	switch len(numbers) {
	case base:
		r = Report{Ended: numbers[0], OOMKills: numbers[1]}
	case base + 2*perStream:
		r = Report{Ended: numbers[0], OOMKills: numbers[1], Output: &Output{
			Stdout: parseStream(numbers[base : base+perStream]), Stderr: parseStream(numbers[base+perStream:])}}
	default:
		return message, Report{}, false
	}
	return strings.TrimSuffix(message[:start], "\n"), r, true
}

func parseStream(n []int64) Stream {
	const count, since, end, line = 0, 1, 2, 4
	sample := func(at int) Sample {
		return Sample{Size: int(min(max(n[at], 0), sampleSize)), Sum: uint64(n[at+1])} //nolint:gosec // bits
	}
	return Stream{Bytes: n[count], Since: n[since], End: sample(end), Line: sample(line)}
}
