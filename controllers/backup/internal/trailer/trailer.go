// Package trailer separates the last bytes of a stream, a checksum, from all bytes before them. It is pure.
package trailer

import "io"

// Splitter is a writer that passes on all but the last bytes that are written to it, which it keeps.
type Splitter struct {
	body io.Writer
	size int
	last []byte
}

// New returns a Splitter that keeps the last size bytes.
func New(body io.Writer, size int) *Splitter { return &Splitter{body: body, size: size} }

// Write passes on what is surely not among the last bytes.
func (s *Splitter) Write(p []byte) (int, error) {
	written := len(p)
	if surplus := len(s.last) + len(p) - s.size; surplus > 0 {
		old := min(surplus, len(s.last))
		if _, err := s.body.Write(s.last[:old]); err != nil {
			return 0, err
		}
		s.last = append(s.last[:0], s.last[old:]...)
		if _, err := s.body.Write(p[:surplus-old]); err != nil {
			return 0, err
		}
		p = p[surplus-old:]
	}
	s.last = append(s.last, p...)
	return written, nil
}

// Last returns the last bytes of what has been written: fewer than asked for if there were fewer.
func (s *Splitter) Last() []byte { return s.last }
