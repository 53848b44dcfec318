package etcdtoken

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

func TestATokenHasOnlyUserRevisionAndExpiry(t *testing.T) {
	signer := New([]byte("key"), func() time.Time { return time.Unix(1000, 0) })
	for _, c := range []struct {
		when, claims string
		before       func()
	}{
		{"at first", `{"username":"root","revision":9007199254740992,"exp":1600}`, func() {}},
		{"pinned", `{"username":"root","revision":7,"exp":1600}`, func() { signer.PinTo(7) }},
		{"unpinned", `{"username":"root","revision":9007199254740992,"exp":1600}`, func() { signer.PinTo(7)() }},
	} {
		c.before()
		said, err := signer.GetRequestMetadata(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		token := said[rpctypes.TokenFieldNameGRPC]
		parts := strings.Split(token, ".")
		if len(said) != 1 || len(parts) != 3 || strings.Contains(token, "=") {
			t.Fatalf("%s: got %s", c.when, token)
		}
		for n, want := range []string{`{"alg":"HS256","typ":"JWT"}`, c.claims} {
			if got, err := base64.RawURLEncoding.DecodeString(parts[n]); err != nil || string(got) != want {
				t.Errorf("%s: got %s, %v", c.when, got, err)
			}
		}
	}
}

func TestTheArgument(t *testing.T) {
	if got := Argument("/dir/token.key", "5m"); got != "--auth-token=jwt,sign-method=HS256,priv-key=/dir/token.key,ttl=5m" {
		t.Error(got)
	}
}
