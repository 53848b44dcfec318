package status

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// waiting is what is waited for, and since when.
type waiting struct {
	what  string
	since time.Time
}

// note notes what a step waits for, and returns for how long it has been that.
func (w *waiting) note(next membership.Step, now time.Time) time.Duration {
	if next.Do != membership.Wait {
		*w = waiting{}
		return 0
	}
	if w.what != next.Message {
		*w = waiting{next.Message, now}
	}
	return now.Sub(w.since)
}

// explained has a wait that has had no news for a while say what is seen.
func explained(next membership.Step, seen string, waited time.Duration) membership.Step {
	if next.Do == membership.Wait && waited >= waitPatience {
		next.Message += fmt.Sprintf("; no news for %d minutes or more: %s", int(waitPatience.Minutes()), seen)
	}
	return next
}

// nextRestore is what the status says of the EtcdRestore that is to start next. A wait that takes long also says what keeps pods from
// starting, as no condition of an EtcdRestore does.
func nextRestore(in Inputs, awaited membership.Step, waited time.Duration) *databasev1alpha1.EtcdNextRestore {
	s := in.Situation
	if s.Request == nil || awaited.Do == "" {
		return nil
	}
	seen := in.sees()
	if why := cmp.Or(in.failure(), conditions.FirstStartupWait(in.Pods)); why != "" {
		seen += "; " + why
	}
	return &databasev1alpha1.EtcdNextRestore{RestoreUID: s.Request.UID, Message: explained(awaited, seen, waited).Phrase()}
}

// sees says what keeps members from being as they should be. That includes claims for which they wait and that the cache does not have.
func (i Inputs) sees() string {
	seen := []string{i.Situation.Sees()}
	for _, m := range i.Situation.Where(isRecorded) {
		if i.Situation.HasStorage && m.Pod.UID != "" && m.Pod.ClaimUID == "" && !m.IsHealthy() {
			claim := converge.ClaimName(config.DataVolume, m.Name)
			seen = append(seen, fmt.Sprintf("the operator does not see PersistentVolumeClaim %s of pod %s: if you have made that claim, give "+
				"it the operator's labels (kubectl label persistentvolumeclaim %s %s)", claim, m.Name, claim,
				strings.ReplaceAll(labels.FormatLabels(parts.Labels(config.AppName, i.Cluster.Name)), ",", " ")))
		}
	}
	return strings.Join(seen, "; ")
}
