package config_test

import (
	"testing"

	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
)

// A process that was dropped comes back as another, which the master does not let in by itself.
func TestALoginIsOfOneProcess(t *testing.T) {
	c, p := Credentials{Replication: "key"}, Running(1).Process()
	again := p
	again.RunID += "'"
	if c.LoginOf(p).User != c.LoginOf(again).User || c.LoginOf(p).Password == c.LoginOf(again).Password {
		t.Errorf("%+v and %+v", c.LoginOf(p), c.LoginOf(again))
	}
}
