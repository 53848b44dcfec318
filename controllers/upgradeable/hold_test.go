package upgradeable

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

func TestHold(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	many := map[string]string{}
	for n := range 500 {
		many[fmt.Sprintf("Redis %s/%s%03d", strings.Repeat("n", 63), strings.Repeat("r", 45), n)] = changingMaster
	}
	type look struct {
		at      time.Duration
		changes map[string]string
	}
	none, a, b := map[string]string{}, map[string]string{"Redis ns/a": noMaster}, map[string]string{"Redis ns/b": scalingIn}
	both := map[string]string{"Redis ns/a": joiningNodes, "Redis ns/b": scalingIn}
	for name, c := range map[string]struct {
		looks  []look
		status metav1.ConditionStatus
		reason string
		says   []string
		silent []string
		due    time.Duration
	}{
		"nothing is under way": {looks: []look{{0, none}}, status: metav1.ConditionTrue, reason: commonv1.ReasonNothingUnderWay},
		"something is": {looks: []look{{0, a}}, status: metav1.ConditionFalse, reason: commonv1.ReasonChangeUnderWay,
			says: []string{"Redis ns/a (no master)", "10m0s"}, due: maxHold},
		"a later change does not count": {looks: []look{{0, a}, {time.Minute, both}}, status: metav1.ConditionFalse,
			reason: commonv1.ReasonChangeUnderWay, says: []string{"Redis ns/a (no master), Redis ns/b (scaling in)"}, due: 9 * time.Minute},
		"it is about to last too long": {
			looks: []look{{0, a}, {maxHold - time.Nanosecond, a}}, status: metav1.ConditionFalse, reason: commonv1.ReasonChangeUnderWay,
			due: time.Nanosecond},
		"it lasts too long": {looks: []look{{0, a}, {maxHold, a}}, status: metav1.ConditionTrue, reason: commonv1.ReasonHeldLongEnough,
			says: []string{"Redis ns/a (no master)"}},
		"another one does not": {
			looks: []look{{0, a}, {maxHold, both}}, status: metav1.ConditionFalse, reason: commonv1.ReasonChangeUnderWay,
			says: []string{"Redis ns/b (scaling in)"}, silent: []string{"ns/a"}, due: maxHold},
		"one that has rested has its full time again": {
			looks: []look{{0, a}, {maxHold, a}, {maxHold + 1, none}, {maxHold + 2, a}}, status: metav1.ConditionFalse,
			reason: commonv1.ReasonChangeUnderWay, due: maxHold},
		"one that is gone is forgotten": {looks: []look{{0, a}, {1, b}, {2, none}}, status: metav1.ConditionTrue,
			reason: commonv1.ReasonNothingUnderWay, silent: []string{"Redis"}},
		"hundreds are counted": {looks: []look{{0, many}}, status: metav1.ConditionFalse, reason: commonv1.ReasonChangeUnderWay,
			says: []string{"000 (", "004 (", "and 495 more"}, silent: []string{"005 ("}, due: maxHold},
	} {
		t.Run(name, func(t *testing.T) {
			var s holds
			var now time.Time
			for _, l := range c.looks {
				now = start.Add(l.at)
				s = s.update(l.changes, now)
			}
			holding, beyond, due := s.split(now)
			got := newCondition(holding, beyond, true, now)
			if got.Status != c.status || got.Reason != c.reason || due != c.due {
				t.Errorf("got %s, %s, due in %s", got.Status, got.Reason, due)
			}
			if len(got.Message) == 0 || len(got.Message) > 1024 {
				t.Errorf("%d bytes of message", len(got.Message))
			}
			for _, want := range c.says {
				if !strings.Contains(got.Message, want) {
					t.Errorf("%q does not say %q", got.Message, want)
				}
			}
			for _, not := range c.silent {
				if strings.Contains(got.Message, not) {
					t.Errorf("%q says %q", got.Message, not)
				}
			}
		})
	}
}
