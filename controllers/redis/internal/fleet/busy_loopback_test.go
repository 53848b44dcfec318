package fleet

import (
	"strconv"
	"strings"
	"testing"
	"time"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// answeringSoon are servers that say soon that a script keeps them busy.
func answeringSoon(r *cachev1alpha1.Redis) {
	r.Spec.Config = fixture.OneDirective(config.BusyReplyThreshold, "200")
}

// runScript runs a script on a server that computes for so many seconds, or up to one less, and
// then sets a key. It returns a channel with the script's end.
func (l *loopback) runScript(n *localServer, seconds int, sets string) <-chan error {
	c := l.client(n)
	ended := make(chan error, 1)
	go func() {
		ended <- c.Eval(l.t.Context(), "local stop = redis.call('TIME')[1] + ARGV[1] "+
			"while tonumber(redis.call('TIME')[1]) < stop do end return redis.call('SET', KEYS[1], ARGV[1])",
			[]string{sets}, strconv.Itoa(seconds)).Err()
	}()
	return ended
}

// A script that computes for longer than a master may be silent loses neither its work nor its master.
func TestAScriptOutlivesTheOperatorsPatience(t *testing.T) {
	l := newLoopback(t, 3, impatient, answeringSoon)
	l.write(0, 50)
	old := l.master()
	if limit := config.Resolve(l.redis).SilenceLimit; limit >= 3*time.Second {
		t.Fatalf("a master may be silent for %s, longer than the script", limit)
	}
	ended, busy, steps := l.runScript(old, 4, "done"), false, map[topology.Verb]bool{}
	var failure error
	l.until("the script has ended", func() bool {
		steps[l.pass()] = true
		busy = busy || strings.Contains(l.last.Message, "BUSY")
		select {
		case failure = <-ended:
			return true
		default:
			return false
		}
	})
	if failure != nil || !busy {
		t.Errorf("the script ended with %v; the operator saw that it kept the master busy: %t", failure, busy)
	}
	l.heal()
	for _, harmful := range []topology.Verb{topology.Fence, topology.Promote, topology.SwitchOver, topology.StepDown, topology.RemoveMembers,
		topology.DeleteSilentPod, topology.DeletePod} {
		if steps[harmful] {
			t.Errorf("step %s", harmful)
		}
	}
	if l.master() != old || l.redis.Status.Epoch != 1 {
		t.Errorf("master %s instead of %s, epoch %d", l.redis.Status.Master, old.name, l.redis.Status.Epoch)
	}
	if got := l.client(old).Get(t.Context(), "done").Val(); got != "4" {
		t.Errorf("the script's key is %q", got)
	}
	l.expectKeys(51)
}
