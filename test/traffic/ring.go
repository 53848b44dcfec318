package traffic

import "hash/fnv"

// Place is which of n nodes a client with a consistent hash looks for a key on: the
// jump hash of Lamping and Veach, https://arxiv.org/abs/1406.2294.
func Place(key string, n int) int {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(key)) // it never fails
	state, place, next := sum.Sum64(), int64(-1), int64(0)
	for next < int64(n) {
		place = next
		state = state*2862933555777941757 + 1
		next = int64(float64(place+1) * (float64(1<<31) / float64((state>>33)+1)))
	}
	return int(place)
}
