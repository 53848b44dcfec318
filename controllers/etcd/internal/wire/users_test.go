package wire

import (
	"fmt"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/authpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// More users than are looked through are named as that, also if the list of them is longer than a reply may be.
func TestTooManyUsersAreNamed(t *testing.T) {
	s, ctx := startEtcd(t, "127.77.0.31"), t.Context()
	eventually(t, "it does not lead", func() bool { return s.Look(ctx).Leader != 0 })
	noPassword := (*clientv3.UserAddOptions)(&authpb.UserAddOptions{NoPassword: true})
	add := func(name string) {
		t.Helper()
		if _, err := s.client.UserAddWithOptions(ctx, name, "", noPassword); err != nil {
			t.Fatal(err)
		}
	}
	for i := range membership.MaxUsers {
		add(fmt.Sprintf("user-%d", i))
	}
	if _, err := s.intruders(ctx, nil); err != nil {
		t.Errorf("%d users: %v", membership.MaxUsers, err)
	}
	add("one-more")
	if seen, err := s.LookAtAccess(ctx, nil, true); !seen.TooManyUsers || err != nil {
		t.Errorf("one more: %+v, %v", seen, err)
	}
	for _, letter := range []string{"a", "b", "c"} { // a name is at most 32 KiB
		add(strings.Repeat(letter, maxReply/2-1000))
	}
	if seen, err := s.LookAtAccess(ctx, nil, true); !seen.TooManyUsers || err != nil {
		t.Errorf("a list that is longer than a reply: %+v, %v", seen, err)
	}
}
