package config

import (
	"cmp"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// QuotaArgument is etcd's argument for its quota, before the number of bytes.
const QuotaArgument = "--quota-backend-bytes="

// RunningQuota is the quota with which these containers of a pod, or of a template, start etcd, in bytes; 0 if they name none.
func RunningQuota(containers []corev1.Container) int64 {
	for i := range containers {
		for _, argument := range containers[i].Args {
			if text, is := strings.CutPrefix(argument, QuotaArgument); is {
				quota, _ := strconv.ParseInt(text, 10, 64) // the operator wrote it
				return quota
			}
		}
	}
	return 0
}

// quotaToRun is the quota that pods are made with from now on: while there is no room for the one of the spec, that of the pods so far.
func quotaToRun(quota int64, err string, set *appsv1.StatefulSet) int64 {
	if err == "" {
		return quota
	}
	return cmp.Or(RunningQuota(set.Spec.Template.Spec.Containers), quota)
}
