package redis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxSize is the largest size that the API allows.
const maxSize = 9

func (s spec) headlessName() string     { return s.Name + "-headless" }
func (s spec) replicasName() string     { return s.Name + "-replicas" }
func (s spec) filesName() string        { return s.Name + "-files" }
func (s spec) systemName() string       { return s.Name + "-system" }
func (s spec) bindingName() string      { return s.Name + "-auth" }
func (s spec) certificatesName() string { return s.Name + "-certificates" }

// serviceHost is the name by which applications reach the master, and replicasHost the one by which they reach the
// replicas.
func (s spec) serviceHost() string  { return fmt.Sprintf("%s.%s.svc", s.Name, s.Namespace) }
func (s spec) replicasHost() string { return fmt.Sprintf("%s.%s.svc", s.replicasName(), s.Namespace) }

// nodeNames are the names of the pods that the size asks for, by ordinal.
func (s spec) nodeNames() []string {
	list := make([]string, 0, s.Size)
	for n := range s.Size {
		list = append(list, s.nodeName(n))
	}
	return slices.Clip(list)
}

func (s spec) nodeName(ordinal int32) string { return fmt.Sprintf("%s-%d", s.Name, ordinal) }

// isNode reports whether that is the name of a pod of the StatefulSet.
func (s spec) isNode(pod string) bool {
	return ordinal(pod) < maxSize && pod == s.nodeName(ordinal(pod))
}

// ordinal is the number at the end of a pod's name.
func ordinal(pod string) int32 {
	n, _ := strconv.ParseInt(pod[strings.LastIndexByte(pod, '-')+1:], 10, 32)
	return int32(n)
}
