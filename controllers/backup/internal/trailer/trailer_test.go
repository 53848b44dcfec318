package trailer

import (
	"bytes"
	"fmt"
	"testing"
)

func TestTheLastBytesAreKept(t *testing.T) {
	whole := []byte("0123456789abcdef")
	for size := range 6 {
		for chunk := 1; chunk <= len(whole); chunk++ {
			for length := range len(whole) + 1 {
				t.Run(fmt.Sprintf("%d of %d bytes in writes of %d", size, length, chunk), func(t *testing.T) {
					var body bytes.Buffer
					s := New(&body, size)
					for part := range chunks(whole[:length], chunk) {
						if n, err := s.Write(part); n != len(part) || err != nil {
							t.Fatal(n, err)
						}
					}
					at := max(0, length-size)
					if got, want := body.String()+"|"+string(s.Last()), string(whole[:at])+"|"+string(whole[at:length]); got != want {
						t.Errorf("got %s, want %s", got, want)
					}
				})
			}
		}
	}
}

func chunks(whole []byte, size int) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(whole) > 0 {
			n := min(size, len(whole))
			if !yield(whole[:n]) {
				return
			}
			whole = whole[n:]
		}
	}
}
