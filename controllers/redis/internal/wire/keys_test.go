package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func sha(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// as logs in as a user, over one connection that stays open until the test ends.
func (p *process) as(t *testing.T, user, password string) (*redis.Conn, error) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: p.hostport, Username: user, Password: password, Protocol: 2, MaxRetries: -1,
		DisableIdentity: true, ReadTimeout: time.Minute})
	t.Cleanup(func() { _ = client.Close() })
	conn := client.Conn()
	t.Cleanup(func() { _ = conn.Close() })
	return conn, conn.Ping(t.Context()).Err()
}

func TestAccept(t *testing.T) {
	p := start(t)
	must(t, p.SetPasswords(t.Context(), "default", sha("old")))
	logged, err := p.as(t, "default", "old")
	must(t, err)
	must(t, p.SetPasswords(t.Context(), "default", sha("old"), sha("new")))
	for _, password := range []string{"old", "new"} {
		if _, err := p.as(t, "default", password); err != nil {
			t.Errorf("%s during the overlap: %v", password, err)
		}
	}
	must(t, p.SetPasswords(t.Context(), "default", sha("new")))
	if _, err := p.as(t, "default", "old"); err == nil || !strings.HasPrefix(err.Error(), "WRONGPASS") {
		t.Errorf("the old one after it: %v", err)
	}
	if err := logged.Set(t.Context(), "k", "v", 0).Err(); err == nil || !strings.HasPrefix(err.Error(), "READONLY") {
		t.Errorf("who was logged in has to stay so: %v", err)
	}
}

func TestARefusalRevealsNoPassword(t *testing.T) {
	p := start(t)
	must(t, p.do(t.Context(), "ACL", "SETUSER", "weak", "on", ">weak", "+ping"))
	weak := openWithin(p.hostport, "", nil, time.Minute)
	defer weak.Close()
	weak.client = redis.NewClient(&redis.Options{Addr: p.hostport, Username: "weak", Password: "weak", Protocol: 2, MaxRetries: -1,
		DisableIdentity: true, ReadTimeout: time.Minute})
	for what, err := range map[string]error{
		"no such digest": p.SetPasswords(t.Context(), "default", "my-password"),
		"no right":       weak.SetPasswords(t.Context(), "default", sha("my-password")),
	} {
		if !IsRefusal(err) || strings.Contains(err.Error(), "my-password") || strings.Contains(err.Error(), sha("my-password")) {
			t.Errorf("%s: %v", what, err)
		}
	}
	p.Close()
	if err := p.SetPasswords(t.Context(), "default", sha("my-password")); err == nil || IsRefusal(err) ||
		strings.Contains(err.Error(), sha("my-password")) {
		t.Errorf("no connection: %v", err)
	}
}
