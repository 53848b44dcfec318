package fleet

import (
	"slices"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// hashes are what the data of members hashes to, and who was asked for it last, while the data is known to differ. The zero hashes
// have none.
type hashes struct {
	byID map[uint64]membership.DataHash
	last string // the member that was asked last
}

// of returns what a member's present data hashes to; the zero DataHash if that is not known.
func (h *hashes) of(member membership.Member) membership.DataHash {
	if member.Listed == nil || h.byID[member.Listed.ID].Revision != member.View.Revision {
		return membership.DataHash{}
	}
	return h.byID[member.Listed.ID]
}

// note notes that a member was asked, and the hash if it is one.
func (h *hashes) note(member membership.Member, hash membership.DataHash) {
	h.last = member.Name
	if h.byID == nil {
		h.byID = map[uint64]membership.DataHash{}
	}
	h.byID[member.Listed.ID] = hash
}

// next returns which of these members to ask: the one after the last, so that one that cannot answer holds up no other.
func (h *hashes) next(unknown []membership.Member) membership.Member {
	after := slices.IndexFunc(unknown, func(m membership.Member) bool { return membership.Ordinal(m.Name) > membership.Ordinal(h.last) })
	return unknown[max(0, after)]
}
