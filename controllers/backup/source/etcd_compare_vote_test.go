package source

import (
	"slices"
	"strings"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// What a member hashes depends on the revision up to which it has compacted.
func TestAMemberThatWasCompactedMeanwhileHasNoVote(t *testing.T) {
	a, b := &etcdMember{endpoint: "a.x:1"}, &etcdMember{endpoint: "b.x:1"}
	c, d := &etcdMember{endpoint: "c.x:1"}, &etcdMember{endpoint: "d.x:1"}
	h := &hashCheck{revision: 9, asked: []*etcdMember{a, b, c},
		hashes: map[*etcdMember]keyValueHash{a: {1, 3}, b: {2, 3}, c: {5, 7}, d: {5, 7}}}
	if _, _, err := h.outvote(t.Context(), nil); err == nil || backup.IsPermanent(err) ||
		!strings.Contains(err.Error(), "c had compacted up to another revision") {
		t.Errorf("of two that differ and one that cannot be compared: %v", err)
	}
	h.asked = append(h.asked, d)
	if m, _, err := h.outvote(t.Context(), nil); err == nil {
		t.Errorf("%s is read, although only the compaction of two is the same", m.name())
	}
	h.hashes[c] = h.hashes[a]
	m, compared, err := h.outvote(t.Context(), nil)
	if err != nil || m != a || !slices.Equal(compared.Outvoted, []string{"b"}) {
		t.Errorf("got %+v, %v", compared, err)
	}
}
