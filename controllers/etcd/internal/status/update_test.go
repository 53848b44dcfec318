package status

import (
	"testing"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

func TestUpdateAvailable(t *testing.T) {
	checkConditions(t, []row{
		{"the newest patch runs", func(*seen) {}, map[string]string{commonv1.ConditionUpdateAvailable: ""}},
		{"a newer patch", func(s *seen) { s.e.Status.TargetVersion, s.e.Status.TargetImage = "3.6.11", "etcd:v3.6.11" }, map[string]string{
			commonv1.ConditionUpdateAvailable: `True NewDefaultImage the operator's default is now etcd:6; set spec.version to "3.6.16" to move`,
			ready:                             "True Replicas"}},
		{"another image of the same patch", func(s *seen) { s.e.Status.TargetImage = "old/etcd:6" }, map[string]string{
			commonv1.ConditionUpdateAvailable: "True NewDefaultImage the operator's default is now etcd:6; set spec.image to move"}},
		{"a patch that was chosen", func(s *seen) {
			s.e.Spec.Version, s.e.Status.TargetVersion, s.e.Status.TargetImage = "3.6.11", "3.6.11", "etcd:v3.6.11"
		}, map[string]string{commonv1.ConditionUpdateAvailable: ""}},
		{"an image that was chosen", func(s *seen) { s.e.Spec.Image, s.e.Status.TargetImage = "mine", "mine" }, map[string]string{
			commonv1.ConditionUpdateAvailable: ""}},
	})
}
