package config

import (
	"cmp"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
)

// QuotaArgument is etcd's argument for its quota, before the number of bytes.
const QuotaArgument = "--quota-backend-bytes="

// runningQuota is the quota that a StatefulSet's pods are made with, in bytes; 0 if it names none.
func runningQuota(set *appsv1.StatefulSet) int64 {
	for i := range set.Spec.Template.Spec.Containers {
		for _, argument := range set.Spec.Template.Spec.Containers[i].Args {
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
	return cmp.Or(runningQuota(set), quota)
}
