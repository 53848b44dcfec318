package source

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

const (
	// maxCompared bounds the data that a member is asked to hash, in bytes: it applies no write meanwhile. 400 MiB take a third of a second.
	maxCompared = 1 << 30
	// hashTimeout bounds the reply to one such request.
	hashTimeout = 30 * time.Second
	// sameRevisionLimit is how long another member has to reach the revision at which it is compared.
	sameRevisionLimit = 10 * time.Second
)

// keyValueHash is the hash of a server's keys and values at one revision. Two can be compared if both have compacted up to the same
// revision.
type keyValueHash struct {
	hash      uint32
	compacted int64
}

// hashKeyValues has a server hash its keys and values as they were at that revision.
func hashKeyValues(ctx context.Context, client *clientv3.Client, revision int64) (keyValueHash, error) {
	reply, err := client.HashKV(ctx, client.Endpoints()[0], revision)
	switch {
	case err != nil:
		return keyValueHash{}, err
	case reply.HashRevision != 0 && reply.HashRevision != revision: // servers before 3.6 do not report it
		return keyValueHash{}, fmt.Errorf("the reply is of revision %d, not %d", reply.HashRevision, revision)
	}
	return keyValueHash{reply.Hash, reply.CompactRevision}, nil
}

// name is the name of the member's pod, or its endpoint if that has an IP address.
func (e *etcdMember) name() string {
	host, _, _ := net.SplitHostPort(e.endpoint)
	if _, err := netip.ParseAddr(host); err == nil {
		return e.endpoint
	}
	pod, _, _ := strings.Cut(host, ".")
	return pod
}

// hashCheck has members hash their keys and values at one revision, each once.
type hashCheck struct {
	revision int64
	asked    []*etcdMember
	hashes   map[*etcdMember]keyValueHash
}

// ask asks a member for its hash. An error says why its data cannot be compared.
func (h *hashCheck) ask(ctx context.Context, m *etcdMember) error {
	if _, err := firstToReach(ctx, []*etcdMember{m}, h.revision, sameRevisionLimit); err != nil {
		return err
	}
	if m.used > maxCompared {
		return fmt.Errorf("%s has %d MiB of data, and up to %d MiB are compared: it would apply no write for too long", m.name(), m.used>>20,
			maxCompared>>20)
	}
	ctx, done := context.WithTimeout(ctx, hashTimeout)
	defer done()
	hash, err := hashKeyValues(ctx, m.client, h.revision)
	if err != nil {
		return fmt.Errorf("%s: hashing its keys at revision %d: %w", m.name(), h.revision, serverError(err))
	}
	h.asked, h.hashes[m] = append(h.asked, m), hash
	return nil
}

// askAll asks members in turn, up to the first that gives no hash. It returns why that one gave none; empty if all gave one.
func (h *hashCheck) askAll(ctx context.Context, members ...*etcdMember) string {
	for _, m := range members {
		if err := h.ask(ctx, m); err != nil {
			return err.Error()
		}
	}
	return ""
}

// agreeing are a member, first, and those that have the same data as it.
func (h *hashCheck) agreeing(m *etcdMember) []*etcdMember {
	same := []*etcdMember{m}
	for _, other := range h.asked {
		if other != m && h.hashes[other] == h.hashes[m] {
			same = append(same, other)
		}
	}
	return same
}

// compare returns the member to read: first, unless most members have other data at that revision. A follower is compared with a follower:
// a member applies no write while it hashes, and the leader would hold up all. Only if two differ are the others asked, the leader last.
// What cannot be compared is read all the same, and the comparison says why.
func compare(ctx context.Context, members []*etcdMember, first *etcdMember, revision int64) (*etcdMember, *backup.Comparison, error) {
	followers, leaders := others(members, first)
	if first.isLeader || len(followers) == 0 {
		found := len(followers)
		if !first.isLeader {
			found++
		}
		return first, &backup.Comparison{Skipped: fmt.Sprintf("a comparison takes two healthy followers; found: %d", found)}, nil
	}
	h := &hashCheck{revision: revision, hashes: map[*etcdMember]keyValueHash{}}
	second := followers[0]
	if missing := h.askAll(ctx, first, second); missing != "" {
		return first, &backup.Comparison{Skipped: missing}, nil
	}
	if h.hashes[first].compacted != h.hashes[second].compacted {
		return first, &backup.Comparison{Skipped: fmt.Sprintf("%s and %s had compacted up to different revisions, %d and %d: the etcd was "+
			"compacted meanwhile", first.name(), second.name(), h.hashes[first].compacted, h.hashes[second].compacted)}, nil
	}
	if h.hashes[first] == h.hashes[second] {
		return first, h.agreed([]*etcdMember{first, second}), nil
	}
	return h.outvote(ctx, append(followers[1:], leaders...))
}

// others are the members without a flaw, other than that one.
func others(members []*etcdMember, than *etcdMember) (followers, leaders []*etcdMember) {
	for _, m := range members {
		switch {
		case m == than || m.flaw() != "":
		case m.isLeader:
			leaders = append(leaders, m)
		default:
			followers = append(followers, m)
		}
	}
	return followers, leaders
}

// outvote asks the rest, too, and returns a member of the largest group with the same data. It returns an error unless that group has two
// members or more, and is larger than any other.
func (h *hashCheck) outvote(ctx context.Context, rest []*etcdMember) (*etcdMember, *backup.Comparison, error) {
	var failures []error
	for _, m := range rest {
		failures = append(failures, h.ask(ctx, m))
	}
	var most []*etcdMember
	tie, compacted := false, h.hashes[h.asked[0]].compacted
	for _, m := range h.asked {
		switch same := h.agreeing(m); {
		case h.hashes[m].compacted != compacted: // it was compacted meanwhile, and says nothing about the first two
			failures = append(failures, fmt.Errorf("%s had compacted up to another revision", m.name()))
		case len(same) > len(most):
			most, tie = same, false
		case len(same) == len(most) && h.hashes[m] != h.hashes[most[0]]:
			tie = true
		}
	}
	if len(most) < 2 || tie {
		err := errors.Join(fmt.Errorf("%s and %s have different data at revision %d, and the other members do "+
			"not show whose is right: compare all (etcdctl endpoint hashkv), and delete the PersistentVolumeClaim and the pod of the "+
			"wrong one", h.asked[0].name(), h.asked[1].name(), h.revision), errors.Join(failures...))
		if errors.Join(failures...) != nil {
			return nil, nil, err // another attempt may hear from all
		}
		return nil, nil, backup.Permanent(err)
	}
	return most[0], h.agreed(most), nil
}

// agreed is the comparison of members that have the same data, of which the first is read, with all others that were asked.
func (h *hashCheck) agreed(same []*etcdMember) *backup.Comparison {
	hash := h.hashes[same[0]]
	c := &backup.Comparison{With: same[1].name(), Revision: h.revision, Hash: hash.hash, CompactRevision: hash.compacted}
	for _, m := range h.asked {
		if h.hashes[m] != hash && h.hashes[m].compacted == hash.compacted { // others cannot be compared
			c.Outvoted = append(c.Outvoted, m.name())
		}
	}
	return c
}
