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
	if one, other := c.LoginOf(p, "m"), c.LoginOf(again, "m"); one.User != other.User || one.Password == other.Password {
		t.Errorf("%+v and %+v", one, other)
	}
}

// What a replica sends to the address of a lost master opens no other.
func TestALoginIsForOneMaster(t *testing.T) {
	c, p := Credentials{Replication: "key"}, Running(1).Process()
	if one, other := c.LoginOf(p, "m"), c.LoginOf(p, "n"); one.User != other.User || one.Password == other.Password {
		t.Errorf("%+v and %+v", one, other)
	}
}
