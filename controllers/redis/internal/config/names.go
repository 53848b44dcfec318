package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// AppName is the value of app.kubernetes.io/name on all children.
const AppName = "redis"

// maxSize is the largest size that the API allows.
const maxSize = 9

// HeadlessName is the Service that names the nodes.
func (s Spec) HeadlessName() string { return s.Name + "-headless" }

// ReplicasName is the Service that leads to the replicas.
func (s Spec) ReplicasName() string { return s.Name + "-replicas" }

// FilesName is the Secret with the files that a server starts with.
func (s Spec) FilesName() string { return s.Name + "-files" }

// SystemName is the Secret with the passwords that only the operator and the servers use.
func (s Spec) SystemName() string { return s.Name + "-system" }

// BindingName is the Secret with what an application needs.
func (s Spec) BindingName() string { return s.Name + "-auth" }

// CertificatesName is the Secret with the certificates that the servers use.
func (s Spec) CertificatesName() string { return backup.CertificatesName(s.Name) }

// RestoreName is the pod that loads a backup.
func (s Spec) RestoreName() string { return s.Name + "-restore" }

// ServiceHost is the name by which applications reach the master.
func (s Spec) ServiceHost() string { return fmt.Sprintf("%s.%s.svc", s.Name, s.Namespace) }

// ReplicasHost is the name by which applications reach the replicas.
func (s Spec) ReplicasHost() string { return fmt.Sprintf("%s.%s.svc", s.ReplicasName(), s.Namespace) }

// NodeNames are the names of the pods that the size asks for, by ordinal.
func (s Spec) NodeNames() []string {
	list := make([]string, 0, s.Size)
	for n := range s.Size {
		list = append(list, s.nodeName(n))
	}
	return slices.Clip(list)
}

func (s Spec) nodeName(ordinal int32) string { return fmt.Sprintf("%s-%d", s.Name, ordinal) }

// IsNode reports whether that is the name of a pod of the StatefulSet.
func (s Spec) IsNode(pod string) bool {
	return Ordinal(pod) < maxSize && pod == s.nodeName(Ordinal(pod))
}

// Ordinal is the number at the end of a pod's name.
func Ordinal(pod string) int32 {
	n, _ := strconv.ParseInt(pod[strings.LastIndexByte(pod, '-')+1:], 10, 32)
	return int32(n)
}
