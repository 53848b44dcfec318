package conditions

import (
	"strings"
	"testing"
)

func TestARefusalSaysWhatToDo(t *testing.T) {
	for _, c := range []struct{ name, words, want string }{
		{"a quota that wants limits", `pods "a-0" is forbidden: failed quota: q: must specify limits.cpu for: launcher`,
			"Set requests and limits of cpu and memory in spec.resources"},
		{"a quota that is used up", "exceeded quota: q, requested: limits.cpu=1", "Raise the ResourceQuota, or ask for less in spec.resources"},
		{"a LimitRange", "maximum cpu usage per Container is 1, but limit is 2", "The LimitRange of the namespace allows other values"},
		{"a LimitRange whose default limit is less than what is requested",
			`Pod "a" is invalid: requests: Invalid value: "2Gi": must be less than or equal to ephemeral-storage limit of 1Gi`,
			". Set limits.ephemeral-storage in spec.resources"},
		{"a quota that wants limits of disk space", `pods "a-0" is forbidden: failed quota: q: must specify limits.ephemeral-storage for: finish`,
			". Set limits.ephemeral-storage in spec.resources"},
		{"a webhook", "denied the request: no", "denied the request: no"},
		{"a webhook that says more than anybody reads", strings.Repeat("x", 5000), "xxx..."},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := RefusalMessage(c.words, "spec.resources")
			if !strings.HasPrefix(got, "pods cannot be created: "+c.words[:20]) || !strings.Contains(got, c.want) || len(got) > 2*maxRefusal {
				t.Errorf("it says %q", got)
			}
		})
	}
}
