package status

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// etcdFatal and etcdPanic are the exit codes of an etcd that ends by itself on what it finds: a fatal line of its log, and Go's panic.
// A signal, a lack of memory and the launcher have others.
const (
	etcdFatal = 1
	etcdPanic = 2
)

// endingMember says what to do if the first pod that fails is of a member that has run, and now ends again and again; empty if it is
// not. It precedes what the kubelet reports: nothing after a container's last words is compared with what was said before.
func endingMember(s membership.Situation, pods []corev1.Pod) string {
	i := slices.IndexFunc(pods, func(pod corev1.Pod) bool { return conditions.FirstFailure([]corev1.Pod{pod}) != "" })
	if i < 0 || !endsByItself(&pods[i]) {
		return ""
	}
	m, found := s.Find(pods[i].Name)
	if !found || m.Record == nil || !m.Record.Ran || m.View.IsOfServer() {
		return ""
	}
	damaged := "no majority of the other members is healthy, so delete no PersistentVolumeClaim: restore a backup by an EtcdRestore"
	switch {
	case s.IsReplaceable(m) && s.HasStorage:
		damaged = fmt.Sprintf("delete PersistentVolumeClaim %s and pod %s: a majority of the other members is healthy, and the operator "+
			"replaces the member", converge.ClaimName(config.DataVolume, m.Name), m.Name)
	case s.IsReplaceable(m):
		damaged = fmt.Sprintf("delete pod %s: a majority of the other members is healthy, and the operator replaces the member", m.Name)
	}
	return fmt.Sprintf("%s has data and ends again and again: read why (kubectl logs %s -c %s --previous), and fix that. If its data is "+
		"damaged, %s; ", m.Name, m.Name, config.AppName, damaged)
}

// endsByItself reports whether the etcd of a pod keeps ending, with an exit code of its own.
func endsByItself(pod *corev1.Pod) bool {
	return conditions.HasCrashLooped(pod) && slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		ended := cmp.Or(c.State.Terminated, c.LastTerminationState.Terminated)
		return c.Name == config.AppName && ended != nil && (ended.ExitCode == etcdFatal || ended.ExitCode == etcdPanic)
	})
}
