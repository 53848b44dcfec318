package main

import "testing"

const upstreamModule = `module k8s.io/kubernetes

go 1.22.0

require (
	github.com/distribution/reference v0.5.0
	k8s.io/api v0.0.0
	k8s.io/kube-proxy v0.0.0
)

replace (
	k8s.io/api => ./staging/src/k8s.io/api
	k8s.io/kube-proxy => ./staging/src/k8s.io/kube-proxy
)
`

const derivedModule = `module github.com/mainstay-operator/mainstay-operator/hack/tools/kubernetes

go 1.22.0

require (
	github.com/distribution/reference v0.5.0
	k8s.io/api v0.0.0
	k8s.io/kube-proxy v0.0.0
)

replace (
	k8s.io/api => k8s.io/api v0.31.14
	k8s.io/kube-proxy => k8s.io/kube-proxy v0.31.11
)

require k8s.io/kubernetes v1.31.14
`

func TestTheModuleOfAnotherVersion(t *testing.T) {
	r := release{version: "v1.31.14", earlier: map[string]string{"k8s.io/kube-proxy": "v0.31.11"}}
	if derived := r.module(upstreamModule); derived != derivedModule {
		t.Errorf("it is\n%s", derived)
	}
}
