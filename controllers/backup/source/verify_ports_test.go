package source

import (
	"slices"
	"strings"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/backup/internal/rdb"
)

// A pod that verifies a backup has all data and no NetworkPolicy: no server in it may listen at a port.
func TestAVerifyingServerListensAtNoPort(t *testing.T) {
	redis := redisArguments("/scratch/data", "/scratch/verify/socket", rdb.Dump{Databases: 16})
	if at := slices.Index(redis, "--port"); at < 0 || redis[at+1] != "0" || slices.Contains(redis, "--tls-port") {
		t.Errorf("Redis: %q", redis)
	}
	listens := 0
	for _, argument := range etcdArguments() {
		if name, where, _ := strings.Cut(argument, "="); strings.HasPrefix(name, "--listen-") {
			listens++
			if !strings.HasPrefix(where, "unix://") {
				t.Errorf("etcd: %s", argument)
			}
		}
	}
	if listens != 2 {
		t.Errorf("etcd: %d arguments say where it listens, and it has two defaults", listens)
	}
}
